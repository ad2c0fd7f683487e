"""Strong and weak scaling of any MPI application: layouts, figures of merit, series in one job."""

import math
import re
import shlex
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.ground.processes import BusyCores
from kappa.core.record.evidence import Scaling, written
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.compute.hpl import doublings

_STATED = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


@dataclass(frozen=True)
class Layout:
    """A number of ranks on nodes that are filled one after the other; the last may have fewer than ``per_node``."""

    ranks: int
    per_node: int

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.per_node)

    def __str__(self) -> str:
        return f"{self.nodes}x{self.per_node}"


def every_layout(nodes: int, cores: int) -> list[Layout]:
    """Return all doublings of layouts.

    They have 1, 2, 4, … and all ``nodes``, each with 1, 2, 4, … and all ``cores`` of a node. In addition, each number
    of nodes has a layout with as many ranks in total as one full node.
    """
    found = []
    for some in doublings(nodes):
        spread = [] if cores % some else [cores // some]
        found += [Layout(some * ranks, ranks) for ranks in sorted({*doublings(cores), *spread})]
    return found


def over_nodes(layouts: Iterable[Layout]) -> dict[int, dict[int, Layout]]:
    """Return layouts of equal ranks on different numbers of nodes: ranks -> number of nodes -> layout.

    Only numbers of ranks that exist on several numbers of nodes are returned.
    """
    found: dict[int, dict[int, Layout]] = {}
    for layout in layouts:
        found.setdefault(layout.ranks, {})[layout.nodes] = layout
    return {ranks: dict(sorted(of_nodes.items())) for ranks, of_nodes in sorted(found.items()) if len(of_nodes) > 1}


def stated_layouts(text: str, nodes: int, cores: int) -> list[Layout]:
    """Parse layouts from a text like ``1x8 4x2``: nodes x ranks on each.

    :raises ValueError: the form is wrong, or a layout has too many nodes or ranks.
    """
    found = []
    for word in text.split():
        match = _STATED.fullmatch(word)
        if not match:
            raise ValueError(f"expected layouts like `1x8 4x2` (nodes x ranks on each), found {word!r}")
        some, ranks = map(int, match.groups())
        if some > nodes or ranks > cores:
            raise ValueError(f"layout {word} needs more than the {nodes} nodes of {cores} cores")
        found.append(Layout(some * ranks, ranks))
    return found


def filled(ranks: Iterable[int], nodes: int, cores: int) -> list[Layout]:
    """Return a layout for each of these numbers of ranks that fits, with nodes filled one after the other."""
    return [Layout(one, min(one, cores)) for one in sorted(set(ranks)) if 0 < one <= nodes * cores]


def on_cores(layouts: Iterable[Layout], cores: int) -> list[Layout]:
    """Return the layouts with a core for each rank: ranks that share a core would measure waiting."""
    return [layout for layout in layouts if layout.ranks <= cores]


def on_full_nodes(layouts: Iterable[Layout]) -> list[Layout]:
    """Return an application's usual series.

    It has all layouts of one node, and for each larger number of nodes the layout with the most ranks on each.
    """
    layouts = list(layouts)
    most = {layout.nodes: max(one.per_node for one in layouts if one.nodes == layout.nodes) for layout in layouts}
    return [layout for layout in layouts if layout.nodes == 1 or layout.per_node == most[layout.nodes]]


def within_and_over(layouts: Iterable[Layout]) -> dict[str, list[Layout]]:
    """Return the layouts as two series: title -> layouts.

    The first has the layouts of one node. The second has those of several nodes, after the layout with as many ranks on
    one node.
    """
    layouts = list(layouts)
    within = [layout for layout in layouts if layout.nodes == 1]
    over = [layout for layout in layouts if layout.nodes > 1]
    start = [layout for layout in within if over and layout.per_node == over[0].per_node]
    found = {"within a node": within, "over nodes": [*start, *over] if over else []}
    return {title: of_title for title, of_title in found.items() if of_title}


def process_box(ranks: int) -> tuple[int, int, int]:
    """Return X >= Y >= Z with a product of ``ranks``, as cubic as possible."""
    boxes = [
        (ranks // (y * z), y, z)
        for z in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % z == 0
        for y in range(z, math.isqrt(ranks // z) + 1)
        if ranks // z % y == 0
    ]
    return min(boxes, key=sum)


# Strong scaling keeps the problem (Amdahl); weak scaling lets it grow with the ranks (Gustafson). Ranks count in
# multiples of the fewest ranks of the series, whose efficiency is taken as 1.
STRONG, WEAK = "strong", "weak"


@dataclass(frozen=True)
class Base:
    """The fewest ranks of a series, and their time per step."""

    ranks: int
    step_s: float

    def point(self, law: str, series: str, ranks: int, steps_s: Sequence[float]) -> Scaling:
        """Return the point of a series on ``ranks``, from the times per step of each round.

        - Speed-up s: T0/T for the same problem; p T0/T for a problem that grew p-fold (Gustafson's scaled speed-up).
        - Karp-Flatt's experimentally determined serial fraction: (1/s - 1/p) / (1 - 1/p) for strong scaling (Karp and
          Flatt 1990, (3)); (p - s) / (p - 1) for weak scaling, solved from s = p - e (p - 1) (Gustafson 1988).
        - kappa': the step's time minus its time at perfect efficiency.
        """
        times = ranks / self.ranks
        ideal_s = self.step_s / times if law == STRONG else self.step_s
        step_s = median(steps_s)
        efficiency = ideal_s / step_s
        kappas_us = [1e6 * (one - ideal_s) for one in steps_s]
        serial = None if times == 1 else self._serial(law, times, times * efficiency)
        return Scaling(series, ranks, ranks * efficiency, efficiency, serial, median(kappas_us), tuple(kappas_us))

    @staticmethod
    def _serial(law: str, times: float, speedup: float) -> float:
        if law == STRONG:
            return (1 / speedup - 1 / times) / (1 - 1 / times)
        return (times - speedup) / (times - 1)


#: For checks of the plug-in whose series a site may end at fewer nodes.
MOST_NODES = {"most_nodes": Tunable("whole number", "", "largest number of nodes in the series; 0: all")}


class LayoutSeries(rfm.RegressionTestPlugin):
    """Measure a series of layouts in one job.

    Leaves set ``laid_out`` after ``setup``, and have a command line for each layout in each round. All layouts use the
    same allocation. Each round has all layouts, so changes over time affect all layouts alike.
    """

    #: A text like ``1x8 4x2``; by default doublings up to all nodes and all cores of each.
    layouts = SiteVariable("", "text", "", "nodes and ranks per node, as `1x8 4x2`, instead of all doublings")
    rounds = SiteVariable(5, "whole number", "", "rounds over all layouts; the median has the bound")
    laid_out = ()

    @property
    def nodes_of_series(self):
        return min(self.partition_nodes, self.most_nodes or self.partition_nodes)

    def partition_layouts(self):
        """Return the layouts that the site states, or all doublings, without layouts with more ranks than cores.

        :raises ReframeError: a stated layout is wrong or does not fit the partition.
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
        """Ask for the most nodes of all layouts, and the most ranks per node of all layouts.

        :raises ReframeError: there is no layout.
        """
        if not self.laid_out:
            where = f"partition {self.current_partition.fullname}"
            raise ReframeError(f"{where}: no layout of {self.check_class} fits; check its tunables and the cores")
        self.num_tasks_per_node = max(layout.per_node for layout in self.laid_out)
        self.num_tasks = self.num_tasks_per_node * max(layout.nodes for layout in self.laid_out)


RANKS, STEP_TIME, EFFICIENCY = ("Ranks", ""), ("Time per step", "ms"), ("Parallel efficiency", "")


class ScaledApplication(LayoutSeries, KappaCheck):
    """Measure time per step, speed-up, efficiency and Karp-Flatt's figure of an application.

    The layouts are one node with more and more ranks, then more and more nodes. Bounds apply to the medians over the
    rounds for the largest layout; all layouts are recorded. A run with wrong physics fails the check at any speed. A
    leaf is an application: it defines ``needs_environ``, ``programs``, and

    - ``command_of(layout, name)``: the words of the command that solves the problem of ``series`` on a layout and
      writes the file ``name``, or several files whose names begin so;
    - ``measured(layout, name)``: read these files and check the physics. It returns an object with ``step_s``, the time
      of a step in s, or raises ``SanityError``.
    """

    needs_partition = ["applications"]
    #: ``strong``: the problem is the same on all layouts; ``weak``: it grows with the ranks.
    series = rfmb.parameter([STRONG, WEAK], loggable=True)
    time_limit = "2h"
    modes = ("acceptance",)
    rounds = 3
    informational = ["speedup"]
    tunable = MOST_NODES
    scaling = rfmb.variable(list, value=[], loggable=True)
    env_vars = {"OMP_NUM_THREADS": 1}

    @rfmb.run_after("setup")
    def lay_out_series(self):
        found = self.partition_layouts()
        self.laid_out = sorted(found if self.layouts else on_full_nodes(found), key=lambda layout: layout.ranks)
        self.executable = shlex.quote(self.programs[0])
        self.ask_for_all_ranks()

    def command_lines(self):
        return [self.run_line(*one) for number in range(self.rounds) for one in self.round_of(number)]

    def run_line(self, layout, name):
        return " ".join([self.launch_on(layout.ranks, layout.per_node), *self.command_of(layout, name)])

    def round_of(self, number):
        """Return the layouts and names of the runs of a round, in turn."""
        return [(layout, self.name_of(layout, number)) for layout in self.laid_out]

    @staticmethod
    def name_of(layout, number):
        return f"{layout.ranks}-ranks-{layout}-{number + 1}"

    @rfmb.sanity_function
    def read_results(self):
        self.read_series()
        return True

    def read_series(self):
        # Text as keys: ReFrame writes the check's variables into its report.
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
        """Require that the program ran with the given sizes.

        :raises SanityError: it ran with others.
        """
        if ran != asked:
            raise SanityError(f"{name}: it ran with ({what}) = {ran}, expected {asked}")

    metrics = {
        "step_time": ("ms", lambda self: self.step_ms(self.largest)),
        "efficiency": ("", lambda self: self.point.efficiency),
        "speedup": ("", lambda self: self.point.speedup),
    }
