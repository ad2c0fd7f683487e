"""Parallelisation cost kappa' of the EMT application over layouts: few nodes full, and many nodes with few ranks.

One job measures all layouts, bound and unbound where the partition binds ranks, so that they are of the same nodes;
its rounds are taken in turn, so that what changes with time changes all layouts alike. Gated is the median over the
rounds on all ranks of the largest layout. On a simulated fabric computation is not measured but injected, ``phi_us``
per step, and nodes are filled one after the other; nothing varies there, so one round is enough.

With more ranks than idle cores ranks wait for cores and not for messages: such layouts are left out.
"""

import pathlib
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.exceptions import ReframeError, SanityError

from kappa.ground.busy_cores import BusyCores
from kappa.ground.whole_files import write_atomically
from kappa.record.evidence import Scaling, written
from kappa.vocabulary.tunables import Tunable
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.application.layouts import every_layout, filled, on_cores, stated_layouts
from reframe_checks.parsers import emt

RANKS, KAPPA = ("Ranks", ""), ("Parallelisation cost κ′", "us")
BOUND, UNBOUND = "bound", "unbound"
ROUNDS_FILE = "rounds.sh"
# Launcher -> its options for each binding of ranks.
BINDING = {
    "srun": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "srunalloc": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "mpirun-openmpi": {BOUND: "--bind-to core", UNBOUND: "--bind-to none"},
}


@rfm.simple_test
class EmtSeries(EmtCheck):
    descr = "EMT application: parallelisation cost over nodes and ranks on each, bound and unbound"
    family = "application/emt-series"
    measured_s = 40
    time_limit = "1h"
    modes = ("acceptance",)
    on_fabrics = True
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    informational = ["step_time", "phi", "imbalance", "speedup", "efficiency"]
    hint = "compare kappa' with the OSU latency of the same nodes, and the layouts with each other"
    #: As ``1x8 4x2``; by default doublings up to all nodes and all cores of each.
    layouts = rfmb.variable(str, value="")
    rounds = rfmb.variable(int, value=5)
    #: `message` for MPI libraries to be compared: within a node `auto` does without them.
    transport = rfmb.variable(str, value="auto")
    #: Of a simulated fabric.
    ranks = rfmb.variable(typ.List[int], value=[1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 150])
    phi_us = rfmb.variable(float, int, value=100)
    simulated_steps = rfmb.variable(int, value=60)
    tunable = {
        **EmtCheck.tunable,
        "layouts": Tunable("text", "", "nodes and ranks on each, as `1x8 4x2`, instead of all doublings"),
        "transport": Tunable("text", "", "`auto`, or `message` for ranks of a node to exchange by MPI, too"),
        "most_nodes": Tunable("whole number", "", "that the series goes up to; 0: all"),
        "rounds": Tunable("whole number", "", "of all layouts; the median is gated"),
        "ranks": Tunable("whole numbers", "", "of a simulated fabric, whose nodes are filled one after the other"),
        "phi_us": Tunable("number", "us", "work of a step of all tasks, injected on a simulated fabric"),
        "simulated_steps": Tunable("whole number", "", "of the simulation on a simulated fabric"),
    }
    scaling = rfmb.variable(list, value=[], loggable=True)

    @rfmb.run_after("setup")
    def lay_out_series(self):
        nodes, cores = min(self.partition_nodes, self.most_nodes or self.partition_nodes), self.cores_per_node
        if self.simulated:
            self.steps, self.rounds = self.simulated_steps, 1
            self.laid_out, self.bindings = filled(self.ranks, nodes, cores), [""]
        else:
            try:
                stated = stated_layouts(self.layouts, nodes, cores)
            except ValueError as err:
                raise ReframeError(f"partition {self.current_partition.fullname}: EmtSeries.layouts: {err}") from None
            machine = BusyCores().cores if "shared_host" in self.current_partition.extras else nodes * cores
            self.laid_out = on_cores(stated or every_layout(nodes, cores), machine)
            options = BINDING.get(self.job.launcher.registered_name, {})
            can_bind = BOUND in options and "binding" in self.current_partition.features
            self.bindings = [BOUND, UNBOUND] if can_bind else [UNBOUND]
        if not self.laid_out:
            raise ReframeError(f"partition {self.current_partition.fullname}: EmtSeries has no layout that fits it")
        self.executable = self.program
        self.num_tasks_per_node = max(layout.per_node for layout in self.laid_out)
        self.num_tasks = self.num_tasks_per_node * max(layout.nodes for layout in self.laid_out)

    @rfmb.run_before("run")
    def take_rounds(self):
        *steps, last = [
            self.step(layout, binding, number)
            for number in range(self.rounds)
            for binding in self.bindings
            for layout in self.laid_out
        ]
        # Hundreds of lines on a large partition, which would hide the rest of the job script.
        write_atomically(pathlib.Path(self.stagedir, ROUNDS_FILE), "".join(f"{step}\n" for step in steps))
        self.prerun_cmds = [*self.prerun_cmds, f". ./{ROUNDS_FILE}"]
        # ReFrame would start it on all ranks of the job.
        self.job.launcher = getlauncher("local")()
        self.executable, *self.executable_opts = last.split(" ")

    def step(self, layout, binding, number):
        options = BINDING.get(self.job.launcher.registered_name, {}).get(binding, "")
        injected = [f"--inject-phi-us={self.phi_us:g}"] if self.simulated else []
        words = [
            self.launch_on(layout.ranks, layout.per_node), options, shlex.quote(self.program), "run", "network.json",
            f"--steps={self.steps}", f"--warm-up={self.steps // 10}", f"--exchange={self.exchange}",
            f"--transport={shlex.quote(self.transport)}", *injected,
            f"--result={self.result_file(layout, binding, number)}",
        ]  # fmt: skip
        return " ".join(filter(None, words))

    def result_file(self, layout, binding, number):
        return "-".join(filter(None, ["result", f"{layout.ranks}-ranks", str(layout), binding, f"{number + 1}.json"]))

    @rfmb.sanity_function
    def read_results(self):
        self.results = {
            (binding, layout): [self.result(layout, binding, number) for number in range(self.rounds)]
            for binding in self.bindings
            for layout in self.laid_out
        }
        if len({result.checksum for results in self.results.values() for result in results}) != 1:
            raise SanityError("layouts or rounds gave different solutions: see EmtCorrectness")
        for binding in self.bindings:
            self.record_series(binding)
        self.largest = self.results[self.bindings[0], self.laid_out[-1]]
        return True

    def result(self, layout, binding, number):
        name = self.result_file(layout, binding, number)
        result = self.parsed(emt.parse, self.output_text(name))
        found = (result.ranks, result.exchange, result.steps, result.simulated)
        if found != (layout.ranks, self.exchange, self.steps, self.simulated):
            raise SanityError(
                f"{name}: {result.steps} steps on {result.ranks} ranks in mode {result.exchange}, "
                f"asked for {self.steps} on {layout.ranks} in mode {self.exchange}"
            )
        return result

    def record_series(self, binding):
        """The paper's figures of merit at each layout, and curves of kappa' over ranks: of each number of nodes, and of
        nodes that are filled one after the other, which is what fabrics predict."""
        added = f", {binding}" if binding != self.bindings[0] else ""
        curves = {}
        for layout in self.laid_out:
            results = self.results[binding, layout]
            kappas = [result.kappa_block_p50_us for result in results]
            of_nodes = f"{layout.nodes} node{'s' * (layout.nodes > 1)}"
            names = [] if self.simulated else [of_nodes]
            if layout.nodes == 1 or layout.per_node == self.num_tasks_per_node:
                names.append("nodes filled")
            for name in names:
                curves.setdefault(f"kappa, {name}{added}", {})[layout.ranks] = statistics.median(kappas)
            series = ", ".join(filter(None, [self.exchange, "nodes filled" if self.simulated else of_nodes, binding]))
            self.scaling = [*self.scaling, written(self.point(series, layout, results, kappas))]
        largest = self.laid_out[-1].ranks
        for name, points in curves.items():
            gated = {largest: "kappa"} if not added and largest in points else {}
            self.record_curve(name, RANKS, KAPPA, points, gated)

    @staticmethod
    def point(series, layout, results, kappas):
        median = middle(results)
        figures = (median.speedup, median.efficiency, median.karp_flatt, statistics.median(kappas))
        return Scaling(series, layout.ranks, *figures, kappas, median.phi_us, median.heaviest_task_us)

    @rfmb.performance_function("us")
    def kappa(self):
        return statistics.median(result.kappa_block_p50_us for result in self.largest)

    @rfmb.performance_function("us")
    def step_time(self):
        return middle(self.largest).step_block_p50_us

    @rfmb.performance_function("us")
    def phi(self):
        return middle(self.largest).phi_us

    @rfmb.performance_function("us")
    def imbalance(self):
        return middle(self.largest).imbalance_us

    @rfmb.performance_function("")
    def speedup(self):
        return middle(self.largest).speedup

    @rfmb.performance_function("")
    def efficiency(self):
        return middle(self.largest).efficiency


def middle(results):
    """The one with the median step time; of an even number, the slower of two."""
    return sorted(results, key=lambda result: result.step_block_p50_us)[len(results) // 2]
