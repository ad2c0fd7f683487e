"""Parallelisation cost kappa' of the EMT application over layouts: few nodes full, and many nodes with few ranks.

One job measures all layouts, bound and unbound where the partition binds ranks. Gated is the median over the rounds
on all ranks of the largest layout. On a simulated fabric computation is not measured but injected, ``phi_us`` per
step, and nodes are filled one after the other; nothing varies there, so one round is enough.
"""

import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa.record.evidence import Scaling, written
from kappa.vocabulary.tunables import Tunable
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.application.layout_series import LayoutSeries
from reframe_checks.application.layouts import filled
from reframe_checks.parsers import emt

RANKS, KAPPA = ("Ranks", ""), ("Parallelisation cost κ′", "us")
BOUND, UNBOUND = "bound", "unbound"
# Launcher -> its options for each binding of ranks.
BINDING = {
    "srun": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "srunalloc": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "mpirun-openmpi": {BOUND: "--bind-to core", UNBOUND: "--bind-to none"},
}


@rfm.simple_test
class EmtSeries(LayoutSeries, EmtCheck):
    descr = "EMT application: parallelisation cost over nodes and ranks on each, bound and unbound"
    family = "application/emt-series"
    measured_s = 40
    time_limit = "1h"
    modes = ("acceptance",)
    on_fabrics = True
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    informational = ["step_time", "phi", "imbalance", "speedup", "efficiency"]
    hint = "compare kappa' with the OSU latency of the same nodes, and the layouts with each other"
    #: `message` for MPI libraries to be compared: within a node `auto` does without them.
    transport = rfmb.variable(str, value="auto")
    #: Of a simulated fabric.
    ranks = rfmb.variable(typ.List[int], value=[1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 150])
    phi_us = rfmb.variable(float, int, value=100)
    simulated_steps = rfmb.variable(int, value=60)
    tunable = {
        **EmtCheck.tunable,
        **LayoutSeries.series_tunable,
        "transport": Tunable("auto or message", "", "`message` for ranks of a node to exchange by MPI, too"),
        "ranks": Tunable("whole numbers", "", "of a simulated fabric, whose nodes are filled one after the other"),
        "phi_us": Tunable("number", "us", "work of a step of all tasks, injected on a simulated fabric"),
        "simulated_steps": Tunable("whole number", "", "of the simulation on a simulated fabric"),
    }
    scaling = rfmb.variable(list, value=[], loggable=True)

    @rfmb.run_after("setup")
    def lay_out_series(self):
        if self.simulated:
            self.steps, self.rounds = self.simulated_steps, 1
            self.laid_out, self.bindings = filled(self.ranks, self.nodes_of_series, self.cores_per_node), [""]
        else:
            self.laid_out = self.partition_layouts()
            options = BINDING.get(self.job.launcher.registered_name, {})
            can_bind = BOUND in options and "binding" in self.current_partition.features
            self.bindings = [BOUND, UNBOUND] if can_bind else [UNBOUND]
        self.executable = self.program
        self.ask_for_all_ranks()

    @rfmb.run_before("run")
    def take_rounds(self):
        self.take_in_turn(
            self.step(layout, binding, number)
            for number in range(self.rounds)
            for binding in self.bindings
            for layout in self.laid_out
        )

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
