"""Strong and weak scaling of any MPI application, in one job: time per step, speed-up, efficiency, Karp-Flatt.

The layouts are one node with more and more ranks, then more and more nodes. Gated are the medians over the rounds on
the largest; all are recorded. A run whose physics is wrong fails the check, however fast it was.
"""

import shlex
import statistics

import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import written
from reframe_checks.application.layout_series import LayoutSeries
from reframe_checks.application.layouts import on_full_nodes, within_and_over
from reframe_checks.application.scaling_laws import STRONG, WEAK, Base
from reframe_checks.base.check import KappaCheck

RANKS, STEP_TIME, EFFICIENCY = ("Ranks", ""), ("Time per step", "ms"), ("Parallel efficiency", "")


class ScaledApplication(LayoutSeries, KappaCheck):
    """A leaf is an application: it says ``needs_environ``, ``programs``, and

    - ``command_of(layout, name)``, the words of the program that solves ``series``'s problem on a layout and writes the
      file ``name``, or several that begin so;
    - ``measured(layout, name)``, what it reads there after it has held the physics against what is right: an object
      with ``step_s``, the time of a step in s. Errors are a ``SanityError``.
    """

    needs_partition = ["applications"]
    #: Whether the problem is the same on all layouts, or grows with the ranks.
    series = rfmb.parameter([STRONG, WEAK], loggable=True)
    time_limit = "2h"
    modes = ("acceptance",)
    rounds = 3
    informational = ["speedup"]
    scaling = rfmb.variable(list, value=[], loggable=True)
    env_vars = {"OMP_NUM_THREADS": 1}

    @rfmb.run_after("setup")
    def lay_out_series(self):
        found = self.partition_layouts()
        self.laid_out = sorted(found if self.layouts else on_full_nodes(found), key=lambda layout: layout.ranks)
        self.executable = shlex.quote(self.programs[0])
        self.ask_for_all_ranks()

    @rfmb.run_before("run")
    def take_rounds(self):
        self.take_in_turn(self.runs_in_turn())

    def runs_in_turn(self):
        return [self.run_line(*one) for number in range(self.rounds) for one in self.round_of(number)]

    def run_line(self, layout, name):
        return " ".join([self.launch_on(layout.ranks, layout.per_node), *self.command_of(layout, name)])

    def round_of(self, number):
        """Layouts and names of its runs, in turn."""
        return [(layout, self.name_of(layout, number)) for layout in self.laid_out]

    @staticmethod
    def name_of(layout, number):
        return f"{layout.ranks}-ranks-{layout}-{number + 1}"

    @rfmb.sanity_function
    def read_results(self):
        self.read_series()
        return True

    def read_series(self):
        # By text: ReFrame writes what a check keeps into its report.
        self.results = {
            str(layout): [self.measured(layout, self.name_of(layout, number)) for number in range(self.rounds)]
            for layout in self.laid_out
        }
        first = self.laid_out[0]
        base = Base(first.ranks, statistics.median(self.steps_s(first)))
        for title, layouts in within_and_over(self.laid_out).items():
            name = f"{self.series}, {title}"
            points = [base.point(self.series, name, layout.ranks, self.steps_s(layout)) for layout in layouts]
            self.scaling = [*self.scaling, *map(written, points)]
            gated = {self.largest.ranks: "step_time"} if self.largest in layouts else {}
            times = {layout.ranks: self.step_ms(layout) for layout in layouts}
            self.record_curve(f"time per step, {title}", RANKS, STEP_TIME, times, gated)
            gated = {ranks: "efficiency" for ranks in gated}
            efficiencies = {point.ranks: point.efficiency for point in points}
            self.record_curve(f"efficiency, {title}", RANKS, EFFICIENCY, efficiencies, gated)
        self.point = base.point(self.series, self.series, self.largest.ranks, self.steps_s(self.largest))

    @property
    def largest(self):
        return self.laid_out[-1]

    def steps_s(self, layout):
        return [result.step_s for result in self.results[str(layout)]]

    def step_ms(self, layout):
        return 1e3 * statistics.median(self.steps_s(layout))

    def require_ran(self, name, ran, asked, what):
        """The program solved what it was asked to."""
        if ran != asked:
            raise SanityError(f"{name}: it ran with ({what}) = {ran}, asked for {asked}")

    @rfmb.performance_function("ms")
    def step_time(self):
        return self.step_ms(self.largest)

    @rfmb.performance_function("")
    def efficiency(self):
        return self.point.efficiency

    @rfmb.performance_function("")
    def speedup(self):
        return self.point.speedup
