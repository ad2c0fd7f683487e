"""Series over layouts in one job: a plug-in for applications.

One job measures all layouts, so that they are of the same nodes; its rounds are taken in turn, so that what changes
with time changes all layouts alike.
"""

import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.backends import getlauncher
from reframe.core.exceptions import ReframeError

from kappa.core.ground.busy_cores import BusyCores
from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.layouts import every_layout, on_cores, stated_layouts

ROUNDS_FILE = "rounds.sh"


class LayoutSeries(rfm.RegressionTestPlugin):
    """Leaves set ``laid_out`` after ``setup``, and before ``run`` have their steps taken in turn."""

    #: As ``1x8 4x2``; by default doublings up to all nodes and all cores of each.
    layouts = rfmb.variable(str, value="")
    rounds = rfmb.variable(int, value=5)
    series_tunable = {
        "layouts": Tunable("text", "", "nodes and ranks on each, as `1x8 4x2`, instead of all doublings"),
        "most_nodes": Tunable("whole number", "", "that the series goes up to; 0: all"),
        "rounds": Tunable("whole number", "", "of all layouts; the median is gated"),
    }
    laid_out = ()

    @property
    def nodes_of_series(self):
        return min(self.partition_nodes, self.most_nodes or self.partition_nodes)

    def partition_layouts(self):
        """Those that the site states, or all doublings, without those that have more ranks than cores: ranks that take
        turns measure how they wait for each other.

        :raises ReframeError: the partition has not what is stated.
        """
        nodes, cores = self.nodes_of_series, self.cores_per_node
        where = f"partition {self.current_partition.fullname}: {self.check_class}"
        try:
            stated = stated_layouts(self.layouts, nodes, cores)
        except ValueError as err:
            raise ReframeError(f"{where}.layouts: {err}") from None
        machine = BusyCores().cores if "shared_host" in self.current_partition.extras else nodes * cores
        return on_cores(stated or every_layout(nodes, cores), machine)

    def ask_for_all_ranks(self):
        """As many nodes as the layout with the most of them, and ranks on each as that with the most there."""
        if not self.laid_out:
            where = f"partition {self.current_partition.fullname}"
            raise ReframeError(f"{where}: {self.check_class} has no layout that fits it")
        self.num_tasks_per_node = max(layout.per_node for layout in self.laid_out)
        self.num_tasks = self.num_tasks_per_node * max(layout.nodes for layout in self.laid_out)

    def take_in_turn(self, steps):
        """Make these command lines, each with its launcher, the job's."""
        *before, last = steps
        # Hundreds of lines on a large partition, which would hide the rest of the job script.
        write_atomically(pathlib.Path(self.stagedir, ROUNDS_FILE), "".join(f"{step}\n" for step in before))
        self.prerun_cmds = [*self.prerun_cmds, f". ./{ROUNDS_FILE}"]
        # ReFrame would start it on all ranks of the job.
        self.job.launcher = getlauncher("local")()
        self.executable, *self.executable_opts = last.split(" ")
