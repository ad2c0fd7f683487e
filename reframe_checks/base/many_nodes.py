"""A plug-in for checks of one node: one job runs the check on many nodes, on each node alone.

Without it, each node would need a job. Here one step starts a script on every node, in a separate folder. The script
runs all commands of a one-node job, before, between and after its launches. Each launch is a step on that node alone.
Then a copy of the check judges each node as if it were the only one.
"""

import math
import pathlib
from collections import Counter

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.runtime import runtime
from reframe.utility import sanity as sn

from kappa.core.ground.node_lists import expand_nodes
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.metric import figures_of
from kappa.core.vocabulary.features import OF_ONE_NODE
from kappa.core.vocabulary.sbatch_options import option_value
from kappa.core.vocabulary.scales import LAYOUTS, MANY_NODES_TAG, PLACEMENTS
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.job_files import KILLABLE, in_stage
from reframe_checks.base.measure import SLURMS
from reframe_checks.base.reframe_internals import (
    TRAP_ERRORS,
    copy_of_ended,
    judge_by,
    pinned,
    to_be_judged_in,
)

# As in `src/job/on_node.sh`.
SCRIPT, FOLDER, STATUS = "on_node.sh", "nodes", "exit_status"
PART = "part_of_node.sh"
NODES_AT_ONCE = Tunable(
    "whole number", "nodes", "nodes that one job measures, each alone; 1: one node in each job, also in the rotation"
)
# Without bounds, the worst node has the longest time, or the least of any other quantity.
_TIMES = ("s", "ms", "us", "ns")
# Set beside what a leaf reads.
_NOT_READ = ("keep_files", "notes", "sanity_patterns", "written_bytes")


class ManyNodes(rfm.RegressionTestPlugin):
    """Run the check of one node on many nodes. Put this first in the bases; the leaf sees one node."""

    #: 0: one node, or the nodes of ``-J nodelist=…``, as in the rotation of a night.
    nodes_at_once = rfmb.variable(int, value=0)
    #: How many nodes the job measures, each alone.
    nodes_of_job = rfmb.variable(int, value=1, loggable=True)

    @rfmb.run_after("init")
    def offer_many_nodes(self):
        """Tag a case of one node if one job can measure several nodes on every partition of this session."""
        if self.has_cases_of_one_node():
            self.tunable = {**self.tunable, "nodes_at_once": NODES_AT_ONCE}
        scale, needed = self.chosen_scale(), {*self.case_features}
        partitions = [one for one in runtime().system.partitions if needed <= {*one.features}]
        if scale and scale.nodes == 1 and partitions and all(map(self.takes_more, partitions)):
            self.tags |= {MANY_NODES_TAG}

    @classmethod
    def has_cases_of_one_node(cls):
        named = [cls.raw_params[name].values for name in ("scale", "placement") if name in cls.raw_params]
        return not named or any((LAYOUTS | PLACEMENTS)[one].nodes == 1 for values in named for one in values)

    def takes_more(self, partition):
        at_once = self.site_tuning(partition).get("nodes_at_once", self.nodes_at_once)
        return at_once != 1 and not self.on_shared_target() and partition.launcher_type.registered_name in SLURMS

    def on_shared_target(self):
        """Tell whether the case uses shared storage. Then the job has one node: several would share the bandwidth."""
        target = getattr(self, "target", None)
        return target is not None and target not in OF_ONE_NODE

    @rfmb.run_after("setup", always_last=True)
    def take_many_nodes(self):
        """Take the number of nodes that the site or the user asks for.

        :raises ReframeError: the number is negative, or the launcher cannot start a step on a given node.
        """
        if self.nodes_at_once < 0:
            raise ReframeError(f"nodes_at_once: expected 0 or more, found {self.nodes_at_once}")
        # ReFrame's --distribute gives each node a case of its own.
        alone = self.nodes_at_once == 1 or self.num_nodes_used != 1 or pinned(self)
        if alone or self.simulated or self.on_shared_target():
            return
        launcher = self.job.launcher.registered_name
        nodes = min(self.nodes_at_once or 1, self.partition_nodes)
        if launcher in SLURMS:
            asked = option_value(self.job.cli_options, "nodelist", "w")  # -J nodelist=…
            nodes = len(expand_nodes(asked)) if asked else nodes
        elif nodes > 1:
            raise ReframeError(
                f"nodes_at_once: the launcher {launcher} cannot start a step on a given node; use {' or '.join(SLURMS)}"
            )
        if nodes == 1:
            return
        self.nodes_of_job = nodes
        ranks = self.num_tasks
        # First: a command that a check puts before its program must stay last.
        self.job.launcher.options[:0] = [
            "--overlap", "--nodes=1", '--nodelist="$SLURMD_NODENAME"',
            f"--ntasks={ranks}", f"--ntasks-per-node={ranks}",
        ]  # fmt: skip
        # Commands of the node's part; commands of the whole job are added later.
        self._first_on_node, self.prerun_cmds = self.prerun_cmds, []

    @rfmb.run_before("run", always_last=True)
    def take_command_lines(self):
        """Write the part of each node: all commands that the leaf has for one node."""
        if self.nodes_of_job == 1:
            super().take_command_lines()
            return
        on_node = [command for command in self.prerun_cmds if command not in self.commands_of_job]
        part = [TRAP_ERRORS, *self._first_on_node, *on_node, *self.command_lines(), *self.postrun_cmds]
        write_atomically(pathlib.Path(self.stagedir, PART), "".join(f"{line}\n" for line in part))
        # Here, before there is output: the file is not moved aside when the job re-measures.
        self.keep_files = [*self.keep_files, PART]
        self.of_node = {name: getattr(self, name) for name in ("executable", "executable_opts", "num_tasks")}
        self.prerun_cmds, self.postrun_cmds = self.commands_of_job, []
        in_stage(self, KILLABLE)
        self.executable = "bash"
        self.executable_opts = [in_stage(self, SCRIPT), PART, str(self.job.stdout), str(self.job.stderr)]
        nodes = self.nodes_of_job
        # PMIx would end all tasks if one ends without finalizing. A time limit is for the steps of a node only.
        self.job.launcher.options = [
            "--mpi=none", "--kill-on-bad-exit=0", "--no-kill", "--time=0",
            f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1",
        ]  # fmt: skip
        self.num_tasks *= nodes
        self.stated_bytes *= nodes

    @rfmb.run_before("sanity", always_last=True)
    def judge_each_node(self):
        if self.nodes_of_job > 1 and not self.is_dry_run():
            self.executable = self.of_node["executable"]
            self.keep_files = [*self.keep_files, FOLDER]
            judge_by(self, self.every_node_is_sound)

    @rfmb.deferrable
    def every_node_is_sound(self):
        """Judge every node alone.

        :raises SanityError: the problems, by node. Nodes with problems are suspects, unless all nodes have problems.
        """
        judged, problems = {}, {}
        for node in self.provenance["nodelist"]:
            try:
                judged[node] = self.judged_alone(node)
            except (SanityError, PerformanceError) as err:
                problems[node] = str(err)
        self._alone = judged
        for one in judged.values():
            self.note_set_aside(one._set_aside)
        units = {name: function.unit for one in judged.values() for name, function in one.perf_variables.items()}
        for metric, unit in units.items():
            self.record_per_node(metric, unit, {node: one.figures[metric] for node, one in judged.items()})
        if problems:
            self.suspects = sorted(problems) if judged else []
            raise SanityError("; ".join(f"{node}: {problem}" for node, problem in sorted(problems.items())))
        self.take_over(next(iter(judged.values())))
        return True

    def judged_alone(self, node):
        """Return a copy of the check that has measured this node only, with the ``figures`` of its metrics.

        :raises SanityError: the node's part did not end well.
        :raises PerformanceError: a figure is missing.
        """
        one = copy_of_ended(self)
        to_be_judged_in(one, str(pathlib.Path(self.stagedir, FOLDER, node)))
        one.nodes_of_job, one.keep_files, one.provenance = 1, [], {**self.provenance, "nodelist": [node]}
        for name, value in self.of_node.items():
            setattr(one, name, value)
        try:
            status = one.output_text(STATUS).strip()
        except SanityError:
            raise SanityError("the node's part did not reach its end") from None
        if status != "0":
            raise SanityError(one.trapped() or f"the node's part ended with exit status {status}")
        before = dict(vars(one))
        one.sanity()
        # The variables that the leaf's sanity function set.
        one.found = {
            name: value
            for name, value in vars(one).items()
            if name[0] != "_" and name not in _NOT_READ and before.get(name, one) is not value
        }
        one.performance()
        one.figures = {name: figure.value for name, figure in figures_of(one.perfvalues).items()}
        return one

    def take_over(self, one):
        """Take this node's curves, maps, hints and validity as those of the check."""
        for name, value in one.found.items():
            setattr(self, name, value)

    @rfmb.run_after("sanity")
    def add_up_written(self):
        if self.nodes_of_job > 1 and not self.is_dry_run():
            self.written_bytes = sum(one.written_bytes for one in self._alone.values())

    @rfmb.run_before("performance", always_last=True)
    def show_the_worst_node(self):
        """Make the worst node's figure the metric, and make all nodes that are out of bounds suspects."""
        if self.nodes_of_job == 1 or self.is_dry_run():
            return
        # A metric that the check leaves out for the ranks of one node is left out here, too.
        for metric in {*self.perf_variables} - {*self.per_node}:
            del self.perf_variables[metric]
        self.declared_metrics = sorted(self.perf_variables)
        outside, worst = set(), Counter()
        for metric, recorded in self.per_node.items():
            figures = recorded["values"]
            node = self.worst_of(metric, recorded["unit"], figures)
            worst[node] += 1
            outside |= {node for node, figure in figures.items() if self.out_of_bounds(metric, figure)}
            self.perf_variables[metric] = sn.make_performance_function(sn.defer(figures[node]), recorded["unit"])
        self.take_over(self._alone[worst.most_common(1)[0][0]])
        self.suspects = sorted({*self.suspects, *outside})

    def worst_of(self, metric, unit, figures):
        """Return the node with the worst figure: furthest beyond a bound, else nearest to a bound."""
        lower, upper = self.bounds_of(metric)

        def headroom(figure):
            if math.isinf(lower) and math.isinf(upper):
                return -figure if unit in _TIMES else figure
            return min(figure - lower, upper - figure)

        return min(figures, key=lambda node: headroom(figures[node]))
