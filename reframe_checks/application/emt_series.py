"""Parallelisation cost kappa' of the EMT application over layouts: few nodes full, and many nodes with few ranks.

One job measures all layouts, bound and unbound where the partition binds ranks. Gated are the median over the rounds
on all ranks of the largest layout, and what the boundary of a node costs: kappa' of as many ranks on two nodes, whose
cores then rest in part, less that on one. On a simulated fabric computation is not measured but injected, ``phi_us``
per step, and nodes are filled one after the other; nothing varies there, so one round is enough.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Scaling, written
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt_over_layouts import KAPPA, RANKS, EmtOverLayouts, middle
from reframe_checks.application.layouts import filled, over_nodes

NODES = ("Nodes", "")
BOUND, UNBOUND = "bound", "unbound"
# Launcher -> its options for each binding of ranks.
BINDING = {
    "srun": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "srunalloc": {BOUND: "--cpu-bind=cores", UNBOUND: "--cpu-bind=none"},
    "mpirun-openmpi": {BOUND: "--bind-to core", UNBOUND: "--bind-to none"},
}


@rfm.simple_test
class EmtSeries(EmtOverLayouts):
    descr = "EMT application: parallelisation cost over nodes and ranks on each, bound and unbound"
    family = "application/emt-series"
    measured_s = 40
    on_fabrics = True
    informational = ["step_time", "phi", "imbalance", "speedup", "efficiency"]
    hint = "compare kappa' with the OSU latency of the same nodes, and the layouts with each other"
    #: Of a simulated fabric.
    ranks = rfmb.variable(typ.List[int], value=[1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 150])
    phi_us = rfmb.variable(float, int, value=100)
    simulated_steps = rfmb.variable(int, value=60)
    tunable = {
        **EmtOverLayouts.tunable,
        "ranks": Tunable("whole numbers", "", "of a simulated fabric, whose nodes are filled one after the other"),
        "phi_us": Tunable("number", "us", "work of a step of all tasks, injected on a simulated fabric"),
        "simulated_steps": Tunable("whole number", "", "of the simulation on a simulated fabric"),
    }

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
        #: The most ranks that are on one node and on two: those two layouts.
        at_boundary = [(found[1], found[2]) for found in over_nodes(self.laid_out).values() if {1, 2} <= {*found}]
        self.boundary = at_boundary[-1] if at_boundary else None
        if not self.boundary:
            del self.perf_variables["node_boundary_cost"]

    @rfmb.run_before("run")
    def take_rounds(self):
        self.take_in_turn(
            self.step_of(layout, binding, number)
            for number in range(self.rounds)
            for binding in self.bindings
            for layout in self.laid_out
        )

    def step_of(self, layout, binding, number):
        options = BINDING.get(self.job.launcher.registered_name, {}).get(binding, "")
        injected = [f"--inject-phi-us={self.phi_us:g}"] if self.simulated else []
        result = self.result_file(layout, binding, number)
        return self.step(layout, "network.json", result, steps=self.steps, options=options, injected=injected)

    def result_file(self, layout, binding, number):
        return "-".join(filter(None, ["result", f"{layout.ranks}-ranks", str(layout), binding, f"{number + 1}.json"]))

    @rfmb.sanity_function
    def read_results(self):
        self.results = {
            (binding, layout): [
                self.result(self.result_file(layout, binding, number), layout, self.steps)
                for number in range(self.rounds)
            ]
            for binding in self.bindings
            for layout in self.laid_out
        }
        if len({result.checksum for results in self.results.values() for result in results}) != 1:
            raise SanityError("layouts or rounds gave different solutions: see EmtCorrectness")
        for binding in self.bindings:
            self.record_series(binding)
        self.largest = self.results[self.bindings[0], self.laid_out[-1]]
        return True

    def record_series(self, binding):
        """The paper's figures of merit at each layout, and curves of kappa' over ranks: of each number of nodes, and of
        nodes that are filled one after the other, which is what fabrics predict; and over nodes, of equal ranks."""
        added = f", {binding}" if binding != self.bindings[0] else ""
        curves = {}
        for layout in self.laid_out:
            results = self.results[binding, layout]
            kappas = kappas_of(results)
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
        for ranks, layouts in over_nodes(self.laid_out).items():
            points = {nodes: self.median_kappa(binding, layout) for nodes, layout in layouts.items()}
            self.record_curve(f"kappa over nodes, {ranks} ranks{added}", NODES, KAPPA, points, {})

    def median_kappa(self, binding, layout):
        return statistics.median(kappas_of(self.results[binding, layout]))

    @staticmethod
    def point(series, layout, results, kappas):
        median = middle(results)
        figures = (median.speedup, median.efficiency, median.karp_flatt, statistics.median(kappas))
        return Scaling(series, layout.ranks, *figures, kappas, median.phi_us, median.heaviest_task_us)

    @rfmb.performance_function("us")
    def kappa(self):
        return self.median_kappa(self.bindings[0], self.laid_out[-1])

    @rfmb.performance_function("us")
    def node_boundary_cost(self):
        within, over = (self.median_kappa(self.bindings[0], layout) for layout in self.boundary)
        return over - within

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


def kappas_of(results):
    return [result.kappa_block_p50_us for result in results]
