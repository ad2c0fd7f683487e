"""Weak scaling of the EMT application: each rank brings its own copies of the reference network.

One job measures one node with more and more ranks, then more and more nodes, in rounds that are taken in turn. Work and
memory of a rank stay the same, so a step should take as long on all ranks as on one: the efficiency is T(1)/T(p), from
medians of each run's median block, and Karp-Flatt's serial fraction that of Gustafson's law. kappa' is what a run says
of itself, T - sigma - phi/p.

Physics: the network of p ranks is another for each p, so one rank computes its first steps, too, and has to come to the
same bits.
"""

import statistics

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import written
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt_over_layouts import KAPPA, RANKS, EmtOverLayouts, middle
from reframe_checks.application.layouts import Layout, on_full_nodes, within_and_over
from reframe_checks.application.scaling_laws import WEAK, Base

EFFICIENCY = ("Parallel efficiency", "")
# One rank computes all of a network that was made for many.
CHECKED_STEPS = 100
ONE_RANK = Layout(1, 1)


@rfm.simple_test
class EmtWeakScaling(EmtOverLayouts):
    descr = "EMT application: step time of a network that grows with the ranks"
    family = "application/emt-weak-scaling"
    measured_s = 30
    informational = ["speedup", "phi"]
    hint = (
        "compare with the strong scaling of EmtSeries: what grows within a node is memory bandwidth and caches that "
        "cores share, what grows over nodes is the network"
    )
    #: As in the paper; what `slack` saves is in EmtSeries.
    exchange = rfmb.parameter(["step"], loggable=True)
    rounds = 3
    steps = 4000
    #: Every rank reads the whole network, 0.2 MB of JSON and 3 MB of memory for each copy.
    most_ranks = rfmb.variable(int, value=128)
    tunable = {
        **EmtOverLayouts.tunable,
        "most_ranks": Tunable("whole number", "", "that the series goes up to: each reads the whole network"),
    }

    def layouts_here(self):
        found = self.partition_layouts()
        chosen = found if self.layouts else on_full_nodes(found)
        return sorted((one for one in chosen if one.ranks <= self.most_ranks), key=lambda layout: layout.ranks)

    def networks(self):
        return {network_of(layout): layout.ranks * self.network_scale for layout in self.layouts_here()}

    @rfmb.run_after("setup")
    def lay_out_series(self):
        self.laid_out = self.layouts_here()
        self.executable = self.program
        self.ask_for_all_ranks()

    @rfmb.run_before("run")
    def take_rounds(self):
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
        self.take_in_turn([*checked, *timed])

    @staticmethod
    def checked(layout):
        """Layout -> file of the result, of those whose bits are compared."""
        return {one: f"checked-{layout.ranks}-ranks-{layout}-on-{one}.json" for one in (ONE_RANK, layout)}

    @rfmb.sanity_function
    def read_results(self):
        self.require_same_bits()
        # By text: ReFrame writes what a check keeps into its report.
        self.results = {
            str(layout): [self.result(name_of(layout, number), layout, self.steps) for number in range(self.rounds)]
            for layout in self.laid_out
        }
        for ranks in {layout.ranks for layout in self.laid_out}:
            same = [result for one in self.laid_out if one.ranks == ranks for result in self.results[str(one)]]
            if len({(result.case_hash, result.checksum) for result in same}) != 1:
                raise SanityError(f"layouts or rounds of {ranks} ranks gave different solutions: see EmtCorrectness")
        self.record_series()
        return True

    def require_same_bits(self):
        for layout in self.laid_out:
            results = [self.result(name, one, CHECKED_STEPS) for one, name in self.checked(layout).items()]
            if len({(result.case_hash, result.checksum) for result in results}) != 1:
                raise SanityError(
                    f"{layout.ranks} ranks as {layout} and one rank gave different solutions: see EmtCorrectness"
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

    @rfmb.performance_function("us")
    def step_time(self):
        return 1e6 * statistics.median(steps_s(self.results[str(self.laid_out[-1])]))

    @rfmb.performance_function("us")
    def kappa(self):
        return self.at_largest.kappa_us

    @rfmb.performance_function("")
    def efficiency(self):
        return self.at_largest.efficiency

    @rfmb.performance_function("")
    def speedup(self):
        return self.at_largest.speedup

    @rfmb.performance_function("us")
    def phi(self):
        return self.at_largest.phi_us


def network_of(layout):
    return f"network-{layout.ranks}-ranks.json"


def name_of(layout, number):
    return f"result-{layout.ranks}-ranks-{layout}-{number + 1}.json"


def steps_s(results):
    return [1e-6 * result.step_block_p50_us for result in results]
