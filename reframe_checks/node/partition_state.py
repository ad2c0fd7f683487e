"""Slurm's own view of a partition, and the census of the suite.

The check runs on the login node, so it names at once the nodes that no job can reach. It uses no node. It records the
census; without a census, the verdict is INCOMPLETE. So it has a case in each environment, for any selection by `-p`.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import suite_revision
from kappa.core.record.evidence import written
from kappa.core.vocabulary.node_states import SINFO_FORMAT
from kappa.core.vocabulary.reservations import RESERVATIONS, named_reservation, parse_reservation
from kappa.core.vocabulary.slurm_refusals import is_down
from reframe_checks.base.census import take_census
from reframe_checks.base.check import SystemCheck
from reframe_checks.parsers import slurm

_RESERVATIONS_FILE = "reservations.txt"


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
        self.reservation = named_reservation([*self.current_partition.access, *self.job.cli_options])
        if self.reservation:
            self.postrun_cmds = [f"{RESERVATIONS} > {_RESERVATIONS_FILE}"]
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
        nodes = self.parsed(slurm.node_states, self.output_text())
        self.states = self.seen_by_jobs(nodes)
        out = [node for node in nodes if not self.states[node.name].in_service]
        self.suspects = sorted(node.name for node in out)
        if out:
            shown = ", ".join(
                f"{node.name} ({node.state}{node.flags}) {self.states[node.name].meaning}" for node in out[:8]
            )
            self.hint = f"{shown}{', …' if len(out) > 8 else ''}; {self.hint}"
        self.record_per_node("usable", "", {name: int(state.in_service) for name, state in self.states.items()})
        if len(nodes) != self.partition_nodes:
            raise SanityError(
                f"Slurm lists {len(nodes)} nodes in partition {self.current_partition.name}, "
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

    def seen_by_jobs(self, nodes):
        """Return the state of each node, by name, as jobs see it.

        :raises SanityError: jobs cannot use their reservation.
        """
        if not self.reservation:
            return {node.name: node.condition for node in nodes}
        try:
            reservation = parse_reservation(self.output_text(_RESERVATIONS_FILE), self.reservation)
        except InputError as err:
            raise SanityError(f"{err}; correct `--reservation` in `access` of site.yaml, or -J reservation") from None
        return {node.name: reservation.seen(node.name, node.condition) for node in nodes}

    def usable(self):
        return sum(state.in_service for state in self.states.values())

    metrics = {
        "nodes_usable": ("nodes", lambda self: self.usable()),
        "fraction_usable": ("", lambda self: self.usable() / self.partition_nodes),
    }
