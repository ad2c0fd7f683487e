"""EMT application: strong and weak scaling, as series over layouts in one job."""

import shlex
import statistics

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Scaling, written
from reframe_checks.application.emt import EmtCheck
from reframe_checks.application.scaled_application import (
    MOST_NODES,
    WEAK,
    Base,
    Layout,
    LayoutSeries,
    filled,
    on_full_nodes,
    over_nodes,
    within_and_over,
)
from reframe_checks.base.case import SiteVariable
from reframe_checks.parsers import emt

RANKS, KAPPA = ("Ranks", ""), ("Parallelisation cost κ′", "us")


class EmtOverLayouts(LayoutSeries, EmtCheck):
    """The base of the series of the EMT application over layouts: the step on a layout, and its result."""

    time_limit = "1h"
    modes = ("acceptance",)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    #: Use `message` to compare MPI libraries: within a node, `auto` does not use MPI.
    transport = SiteVariable("auto", "auto or message", "", "`message`: ranks of a node also exchange by MPI")
    tunable = MOST_NODES
    scaling = rfmb.variable(list, value=[], loggable=True)

    def step(self, layout, network, result, *, steps, options="", injected=()):
        """Return the command line of a run of ``network`` on a layout; ``options`` are more options of the launcher."""
        words = [
            self.launch_on(layout.ranks, layout.per_node), options, shlex.quote(self.program), "run", network,
            f"--steps={steps}", f"--warm-up={steps // 10}", f"--exchange={self.exchange}",
            f"--transport={shlex.quote(self.transport)}", *injected, f"--result={result}",
        ]  # fmt: skip
        return " ".join(filter(None, words))

    def result(self, name, layout, steps):
        result = self.parsed(emt.EmtResult.read, self.output_text(name))
        found = (result.ranks, result.exchange, result.steps, result.simulated)
        if found != (layout.ranks, self.exchange, steps, self.simulated):
            raise SanityError(
                f"{name}: {result.steps} steps on {result.ranks} ranks in mode {result.exchange}, "
                f"expected {steps} on {layout.ranks} in mode {self.exchange}"
            )
        return result


def middle(results):
    """Return the result with the median step time; of an even number, the slower of the middle two."""
    return sorted(results, key=lambda result: result.step_block_p50_us)[len(results) // 2]


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
    """Measure the parallelisation cost kappa' of the EMT application over layouts: nodes, and ranks on each.

    One job measures all layouts, with bound and unbound ranks if the partition can bind ranks. Bounds apply to the
    median over the rounds for the largest layout, and to the cost of the node boundary. This cost is the kappa' of some
    ranks on two half-used nodes, minus the kappa' of the same number of ranks on one node.

    On a simulated fabric, a time ``phi_us`` per step replaces the computation, and nodes are filled one after the
    other. Nothing varies there, so one round is enough.
    """

    descr = (
        "Measures the EMT application's parallelisation cost over nodes, ranks per node and binding; finds slow "
        "messages within and between nodes"
    )
    family = "application/emt-series"
    measured_s = 40
    on_fabrics = True
    informational = ["step_time", "phi", "imbalance", "speedup", "efficiency"]
    hint = "compare kappa' with the OSU latency of the same nodes, and the layouts with each other"
    failure_means = (
        "The parallelisation cost kappa' on the largest layout, or its rise from one node to two, is above the bound. "
        "Cost within a node comes from its cores and memory; cost of the second node comes from the network."
    )
    #: For a simulated fabric only.
    ranks = SiteVariable(
        [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 150],
        "whole numbers", "", "numbers of ranks on a simulated fabric, whose nodes are filled one after the other",
    )
    phi_us = SiteVariable(100, "number", "us", "work of a step of all tasks, injected on a simulated fabric")
    simulated_steps = SiteVariable(60, "whole number", "", "steps of the simulation on a simulated fabric")

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
        self.ask_for_all_ranks()
        #: The layouts with the most equal ranks on one node and on two.
        at_boundary = [(found[1], found[2]) for found in over_nodes(self.laid_out).values() if {1, 2} <= {*found}]
        self.boundary = at_boundary[-1] if at_boundary else None
        if not self.boundary:
            del self.perf_variables["node_boundary_cost"]

    def command_lines(self):
        return [
            self.step_of(layout, binding, number)
            for number in range(self.rounds)
            for binding in self.bindings
            for layout in self.laid_out
        ]

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
            raise SanityError("layouts or rounds gave different solutions: run EmtCorrectness")
        for binding in self.bindings:
            self.record_series(binding)
        self.largest = self.results[self.bindings[0], self.laid_out[-1]]
        return True

    def record_series(self, binding):
        """Record the paper's figures of merit for each layout, and curves of kappa'.

        The curves over ranks are for each number of nodes, and for nodes that are filled one after the other, as on
        simulated fabrics. The curves over nodes are for equal numbers of ranks.
        """
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

    def node_boundary_cost(self):
        within, over = (self.median_kappa(self.bindings[0], layout) for layout in self.boundary)
        return over - within

    metrics = {
        "kappa": ("us", lambda self: self.median_kappa(self.bindings[0], self.laid_out[-1])),
        "node_boundary_cost": ("us", node_boundary_cost),
        "step_time": ("us", lambda self: middle(self.largest).step_block_p50_us),
        "phi": ("us", lambda self: middle(self.largest).phi_us),
        "imbalance": ("us", lambda self: middle(self.largest).imbalance_us),
        "speedup": ("", lambda self: middle(self.largest).speedup),
        "efficiency": ("", lambda self: middle(self.largest).efficiency),
    }


def kappas_of(results):
    return [result.kappa_block_p50_us for result in results]


EFFICIENCY = ("Parallel efficiency", "")
# Few steps: one rank computes a whole network that was made for many ranks.
CHECKED_STEPS = 100
ONE_RANK = Layout(1, 1)


@rfm.simple_test
class EmtWeakScaling(EmtOverLayouts):
    """Measure the weak scaling of the EMT application: each rank adds its own copies of the reference network.

    One job measures one node with more and more ranks, then more and more nodes, in several rounds. The work and the
    memory of a rank stay the same, so a step should take the same time on all ranks as on one. The efficiency is
    T(1)/T(p), from the medians of each run's median block. Karp-Flatt's serial fraction follows Gustafson's law.
    kappa' is the figure that the run prints: T - sigma - phi/p.

    Physics: each number of ranks has another network. So one rank also computes the first steps of each network, and
    must get the same bits.
    """

    descr = (
        "Measures the EMT application's step time for a network that grows with the ranks; finds saturated memory, "
        "caches and network"
    )
    family = "application/emt-weak-scaling"
    measured_s = 30
    informational = ["speedup", "phi"]
    hint = (
        "compare with EmtSeries: a time that grows within a node points at memory bandwidth and shared caches, a time "
        "that grows over nodes at the network"
    )
    failure_means = (
        "A step on all ranks takes longer than the bound allows, although each rank has the same work, or ranks "
        "computed wrong bits. Look in the curves for the number of ranks at which the efficiency drops."
    )
    #: As in the paper; EmtSeries shows how much time `slack` saves.
    exchange = rfmb.parameter(["step"], loggable=True)
    rounds = 3
    steps = 4000
    #: Every rank reads the whole network, 0.2 MB of JSON and 3 MB of memory for each copy.
    most_ranks = SiteVariable(
        128, "whole number", "", "largest number of ranks in the series; each reads the whole network"
    )

    def layouts_here(self):
        found = self.partition_layouts()
        chosen = found if self.layouts else on_full_nodes(found)
        return sorted((one for one in chosen if one.ranks <= self.most_ranks), key=lambda layout: layout.ranks)

    def networks(self):
        return {network_of(layout): layout.ranks * self.network_scale for layout in self.layouts_here()}

    @rfmb.run_after("setup")
    def lay_out_series(self):
        self.laid_out = self.layouts_here()
        self.ask_for_all_ranks()

    def command_lines(self):
        checked = [
            self.step(layout, network_of(asked), name, steps=CHECKED_STEPS)
            for asked in self.laid_out
            for layout, name in self.checked(asked).items()
        ]
        timed = [
            self.step(layout, network_of(layout), name_of(layout, number), steps=self.steps)
            for number in range(self.rounds)
            for layout in self.laid_out
        ]
        return [*checked, *timed]

    @staticmethod
    def checked(layout):
        """Return the runs whose bits are compared: layout -> file of the result."""
        return {one: f"checked-{layout.ranks}-ranks-{layout}-on-{one}.json" for one in (ONE_RANK, layout)}

    @rfmb.sanity_function
    def read_results(self):
        self.require_same_bits()
        # Text as keys: ReFrame writes the check's variables into its report.
        self.results = {
            str(layout): [self.result(name_of(layout, number), layout, self.steps) for number in range(self.rounds)]
            for layout in self.laid_out
        }
        for ranks in {layout.ranks for layout in self.laid_out}:
            same = [result for one in self.laid_out if one.ranks == ranks for result in self.results[str(one)]]
            if len({(result.case_hash, result.checksum) for result in same}) != 1:
                raise SanityError(f"layouts or rounds of {ranks} ranks gave different solutions: run EmtCorrectness")
        self.record_series()
        return True

    def require_same_bits(self):
        for layout in self.laid_out:
            results = [self.result(name, one, CHECKED_STEPS) for one, name in self.checked(layout).items()]
            if len({(result.case_hash, result.checksum) for result in results}) != 1:
                raise SanityError(
                    f"{layout.ranks} ranks as {layout} and one rank gave different solutions: run EmtCorrectness"
                )

    def record_series(self):
        largest = self.laid_out[-1]
        for title, layouts in within_and_over(self.laid_out).items():
            points = [self.point(layout, title) for layout in layouts]
            self.scaling = [*self.scaling, *map(written, points)]
            gated = [largest.ranks] if largest in layouts else []
            kappas = {point.ranks: point.kappa_us for point in points}
            self.record_curve(f"kappa, {title}", RANKS, KAPPA, kappas, dict.fromkeys(gated, "kappa"))
            efficiencies = {point.ranks: point.efficiency for point in points}
            gates = dict.fromkeys(gated, "efficiency")
            self.record_curve(f"efficiency, {title}", RANKS, EFFICIENCY, efficiencies, gates)
        self.at_largest = self.point(largest, "")

    def point(self, layout, title):
        first = self.laid_out[0]
        base = Base(first.ranks, statistics.median(steps_s(self.results[str(first)])))
        results = self.results[str(layout)]
        kappas = tuple(result.kappa_block_p50_us for result in results)
        return msgspec.structs.replace(
            base.point(WEAK, f"{self.exchange}, {WEAK}, {title}", layout.ranks, steps_s(results)),
            kappa_us=statistics.median(kappas), kappa_repeats_us=kappas, phi_us=middle(results).phi_us,
        )  # fmt: skip

    metrics = {
        "step_time": ("us", lambda self: 1e6 * statistics.median(steps_s(self.results[str(self.laid_out[-1])]))),
        "kappa": ("us", lambda self: self.at_largest.kappa_us),
        "efficiency": ("", lambda self: self.at_largest.efficiency),
        "speedup": ("", lambda self: self.at_largest.speedup),
        "phi": ("us", lambda self: self.at_largest.phi_us),
    }


def network_of(layout):
    return f"network-{layout.ranks}-ranks.json"


def name_of(layout, number):
    return f"result-{layout.ranks}-ranks-{layout}-{number + 1}.json"


def steps_s(results):
    return [1e-6 * result.step_block_p50_us for result in results]
