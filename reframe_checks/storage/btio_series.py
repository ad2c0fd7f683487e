"""BT-IO over the number of nodes, with one rank on each: time, time of output, and the rates of both.

BT needs a square number of ranks: 1, 4, 9, 16, … nodes, all in one job and in turn. Speed-up and efficiency are of the
time of a step, its output included. The median round, by its rate of output, counts. What the validation of the IBiSCo
cluster draws ("Communication and data storage: macro-benchmark II", class E).
"""

import math
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError

from kappa.core.record.evidence import written
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.layout_series import LayoutSeries
from reframe_checks.application.layouts import Layout
from reframe_checks.application.scaling_laws import STRONG, Base
from reframe_checks.parsers import btio
from reframe_checks.storage.btio_base import BESIDES_S, CLASSES, BtIoCheck

NODES = ("Nodes", "")
# Curve -> (title, unit) of its figure, how it follows from a run, and the metric of its last point.
DRAWN = {
    "time": (("Total time", "s"), lambda run: run.total_s, "total_time"),
    "I/O time": (("Time of I/O", "s"), lambda run: run.io_s, "io_time"),
    "I/O share": (("Share of I/O", "%"), lambda run: run.io_percent, "io_share"),
    "computing": (("Rate of computing", "Mop/s"), lambda run: run.mop_s, "mop_s"),
    "I/O": (("Rate of I/O", "MB/s"), lambda run: run.mb_s, "io_rate"),
}


@rfm.simple_test
class BtIoSeries(LayoutSeries, BtIoCheck):
    descr = "BT-IO over nodes, one rank on each: time and time of output, speed-up"
    family = "storage/btio-series"
    estimated_s = 600
    scale = rfmb.parameter(["each_node"], loggable=True)
    modes = ("acceptance",)
    time_limit = "8h"
    informational = ["io_time", "speedup"]
    rounds = 3
    hint = "where the time of output grows with the nodes, compare subtype full with simple, and with IOR on as many"

    #: Square numbers; by default all that the partition has.
    nodes = rfmb.variable(typ.List[int], value=[])
    tunable = {
        **BtIoCheck.problem_tunable,
        "nodes": Tunable("whole numbers", "", "of the series, each a square; by default 1, 4, 9, … up to all"),
        "most_nodes": Tunable("whole number", "", "that the series goes up to; 0: all"),
        "rounds": Tunable("whole number", "", "over all numbers of nodes; the median counts"),
    }
    scaling = rfmb.variable(list, value=[], loggable=True)

    @rfmb.run_after("setup")
    def lay_out_series(self):
        squares = [root * root for root in range(1, math.isqrt(self.nodes_of_series) + 1)]
        if unfit := set(self.nodes) - set(squares):
            where = f"partition {self.current_partition.fullname}: {self.check_class}.nodes"
            raise ReframeError(f"{where}: expected some of {squares}, found {sorted(unfit)}")
        self.laid_out = [Layout(ranks, 1) for ranks in sorted(set(self.nodes or squares))]
        self.ask_for_all_ranks()
        self.choose_class()
        self.executable, *self.executable_opts = self.command()

    def classes_written(self):
        return self.rounds * len(self.laid_out)

    def expected_s(self):
        return BESIDES_S + self.rounds * sum(self.run_s(layout.ranks) for layout in self.laid_out)

    @rfmb.run_before("run")
    def take_rounds(self):
        self.take_in_turn(
            " ".join([self.launch_on(layout.ranks, 1), *self.command(), ">", self.file_of(layout, number)])
            for number in range(self.rounds)
            for layout in self.laid_out
        )

    @staticmethod
    def file_of(layout, number):
        return f"{layout.nodes}-nodes-{number + 1}.txt"

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        runs = {layout: [self.run_of(layout, number) for number in range(self.rounds)] for layout in self.laid_out}
        middle = {
            layout.nodes: sorted(of_layout, key=lambda run: run.mb_s)[self.rounds // 2]
            for layout, of_layout in runs.items()
        }
        steps_s = {layout: [run.total_s / self.steps for run in of_layout] for layout, of_layout in runs.items()}
        first, last = self.laid_out[0], self.laid_out[-1]
        base = Base(first.ranks, statistics.median(steps_s[first]))
        points = [base.point(STRONG, "over nodes", layout.ranks, steps_s[layout]) for layout in self.laid_out]
        self.scaling = [written(point) for point in points]
        for name, (title, figure, metric) in DRAWN.items():
            figures = {nodes: figure(run) for nodes, run in middle.items()}
            self.record_curve(name, NODES, title, figures, {last.nodes: metric})
        speedups = {point.ranks: point.speedup for point in points}
        self.record_curve("speed-up", NODES, ("Speed-up", ""), speedups, {last.nodes: "speedup"})
        self.result, self.point = middle[last.nodes], points[-1]
        return True

    @property
    def steps(self):
        return CLASSES[self.problem_class].steps

    def run_of(self, layout, number):
        run = self.parsed(btio.parse, self.output_text(self.file_of(layout, number)))
        self.require_asked(run, layout.ranks)
        return run

    @rfmb.performance_function("s")
    def total_time(self):
        return self.result.total_s

    @rfmb.performance_function("s")
    def io_time(self):
        return self.result.io_s

    @rfmb.performance_function("%")
    def io_share(self):
        return self.result.io_percent

    @rfmb.performance_function("MB/s")
    def io_rate(self):
        return self.result.mb_s

    @rfmb.performance_function("Mop/s")
    def mop_s(self):
        return self.result.mop_s

    @rfmb.performance_function("")
    def efficiency(self):
        return self.point.efficiency

    @rfmb.performance_function("")
    def speedup(self):
        return self.point.speedup
