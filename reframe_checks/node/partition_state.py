"""Slurm's own view of a partition, and the census of the suite.

The check runs on the login node, so it names at once the nodes that no job can reach. It uses no node. It records the
census; without a census, the verdict is INCOMPLETE. So it has a case in each environment, for any selection by `-p`.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.ground.folders import suite_revision
from kappa.core.record.evidence import written
from kappa.core.vocabulary.node_states import SINFO_FORMAT
from kappa.core.vocabulary.slurm_refusals import is_down
from reframe_checks.base.census import take_census
from reframe_checks.base.check import SystemCheck
from reframe_checks.parsers import slurm


@rfm.simple_test
class PartitionState(SystemCheck):
    descr = "Asks Slurm for the state of every node of the partition; finds nodes that are missing or cannot take jobs"
    family = "node/partition-state"
    measured_s = 3
    tags = {"smoke"}
    local = True
    informational = ["nodes_usable"]
    hint = "check the reason with `scontrol show node NODE`, and `systemctl status slurmd` on the node"
    failure_means = (
        "Slurm does not list all nodes of the partition, or some cannot take jobs; or the suite itself is not "
        "complete. Bring the nodes back, or correct the number of nodes in the site's settings."
    )
    census = rfmb.variable(dict, type(None), value=None, loggable=True)

    @rfmb.run_after("setup")
    def ask_slurm(self):
        partition = self.current_partition.extras.get("slurm_partition", self.current_partition.name)
        nodes = self.current_partition.extras.get("slurm_nodes")
        self.executable = "sinfo"
        self.executable_opts = [
            "--Node", "--noheader", f"--partition={shlex.quote(partition)}",
            f"--format={shlex.quote(SINFO_FORMAT)}",
            *([f"--nodes={shlex.quote(nodes)}"] if nodes else []),
        ]  # fmt: skip
        self.census = written(take_census(suite_revision()))

    @rfmb.run_before("sanity")
    def leave_it_without_slurm(self):
        said = "" if self.is_dry_run() else self.output_text(str(self.stderr)).strip()
        if is_down(said):
            # ReFrame records no reason for a skip.
            self.hint = f"Slurm does not answer: {said.splitlines()[0]}"
            self.skip(self.hint)

    @rfmb.sanity_function
    def nodes_are_there(self):
        self.nodes = self.parsed(slurm.node_states, self.output_text())
        self.suspects = sorted(node.name for node in self.nodes if not node.usable)
        if out := [node for node in self.nodes if not node.usable]:
            shown = ", ".join(f"{node.name} ({node.state}{node.flags}) {node.condition.meaning}" for node in out[:8])
            self.hint = f"{shown}{', …' if len(out) > 8 else ''}; {self.hint}"
        self.record_per_node("usable", "", {node.name: int(node.usable) for node in self.nodes})
        if len(self.nodes) != self.partition_nodes:
            raise SanityError(
                f"Slurm lists {len(self.nodes)} nodes in partition {self.current_partition.name}, "
                f"the site's settings state {self.partition_nodes}"
            )
        unloaded = self.census["not_loaded"]
        if unloaded:
            raise SanityError(
                "the suite is not complete: "
                + ", ".join(f"{entry['file']} ({entry['problem']})" for entry in unloaded)
                + "; load all of reframe_checks with -R and check ReFrame's warnings"
            )
        return True

    metrics = {
        "nodes_usable": ("nodes", lambda self: sum(node.usable for node in self.nodes)),
        "fraction_usable": ("", lambda self: sum(node.usable for node in self.nodes) / self.partition_nodes),
    }
