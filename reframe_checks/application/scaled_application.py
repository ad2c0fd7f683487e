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
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.compute.hpl import doublings

_STATED = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


@dataclass(frozen=True)
class Layout:
    """Nodes are filled one after the other; the last may have fewer than ``per_node`` ranks."""

    ranks: int
    per_node: int

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.per_node)

    def __str__(self) -> str:
        return f"{self.nodes}x{self.per_node}"


def every_layout(nodes: int, cores: int) -> list[Layout]:
    """1, 2, 4, … and all ``nodes``, each with 1, 2, 4, … and all ``cores`` of a node, and with so many that together
    they are the ranks of one full node."""
    found = []
    for some in doublings(nodes):
        spread = [] if cores % some else [cores // some]
        found += [Layout(some * ranks, ranks) for ranks in sorted({*doublings(cores), *spread})]
    return found


def over_nodes(layouts: Iterable[Layout]) -> dict[int, dict[int, Layout]]:
    """Ranks -> number of nodes -> the layout, of ranks that several numbers of nodes have: full ones and such on which
    cores rest."""
    found: dict[int, dict[int, Layout]] = {}
    for layout in layouts:
        found.setdefault(layout.ranks, {})[layout.nodes] = layout
    return {ranks: dict(sorted(of_nodes.items())) for ranks, of_nodes in sorted(found.items()) if len(of_nodes) > 1}


def stated_layouts(text: str, nodes: int, cores: int) -> list[Layout]:
    """Parse layouts from a text as ``1x8 4x2``: nodes, and ranks on each.

    :raises ValueError: not of this form, or more than there is.
    """
    found = []
    for word in text.split():
        match = _STATED.fullmatch(word)
        if not match:
            raise ValueError(f"expected layouts as `1x8 4x2`, nodes and ranks on each, found {word!r}")
        some, ranks = map(int, match.groups())
        if some > nodes or ranks > cores:
            raise ValueError(f"layout {word} needs more than {nodes} nodes of {cores} cores")
        found.append(Layout(some * ranks, ranks))
    return found


def filled(ranks: Iterable[int], nodes: int, cores: int) -> list[Layout]:
    """Each of these numbers of ranks that the nodes hold, one node full after the other."""
    return [Layout(one, min(one, cores)) for one in sorted(set(ranks)) if 0 < one <= nodes * cores]


def on_cores(layouts: Iterable[Layout], cores: int) -> list[Layout]:
    """Return the layouts with a core for each rank: ranks that take turns measure how they wait for each other."""
    return [layout for layout in layouts if layout.ranks <= cores]


def on_full_nodes(layouts: Iterable[Layout]) -> list[Layout]:
    """Those of one node, and of each larger number of nodes the one with the most ranks on each: the usual series of an
    application."""
    layouts = list(layouts)
    most = {layout.nodes: max(one.per_node for one in layouts if one.nodes == layout.nodes) for layout in layouts}
    return [layout for layout in layouts if layout.nodes == 1 or layout.per_node == most[layout.nodes]]


def within_and_over(layouts: Iterable[Layout]) -> dict[str, list[Layout]]:
    """Title -> the layouts of one node; and those of several, after the one that has as many ranks on one."""
    layouts = list(layouts)
    within = [layout for layout in layouts if layout.nodes == 1]
    over = [layout for layout in layouts if layout.nodes > 1]
    start = [layout for layout in within if over and layout.per_node == over[0].per_node]
    found = {"within a node": within, "over nodes": [*start, *over] if over else []}
    return {title: of_title for title, of_title in found.items() if of_title}


def process_box(ranks: int) -> tuple[int, int, int]:
    """X >= Y >= Z as cubic as possible, with a product of ``ranks``."""
    boxes = [
        (ranks // (y * z), y, z)
        for z in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % z == 0
        for y in range(z, math.isqrt(ranks // z) + 1)
        if ranks // z % y == 0
    ]
    return min(boxes, key=sum)


# Strong scaling keeps the problem (Amdahl), weak scaling lets it grow with the ranks (Gustafson). Ranks count in
# multiples of the fewest, which are taken to be used perfectly.
STRONG, WEAK = "strong", "weak"


@dataclass(frozen=True)
class Base:
    """The fewest ranks of a series, and their time per step."""

    ranks: int
    step_s: float

    def point(self, law: str, series: str, ranks: int, steps_s: Sequence[float]) -> Scaling:
        """Return the point of a series on ``ranks``, from the times per step of each round.

        The speed-up is T0/T of the same problem, and for a problem that grew p-fold p T0/T, which Gustafson calls
        scaled; Karp-Flatt's experimentally determined serial fraction is that of the law: (1/s - 1/p) / (1 - 1/p)
        (Karp and Flatt 1990, (3)), and (p - s) / (p - 1), solved from s = p - e (p - 1) (Gustafson 1988). kappa' is
        what a step takes longer than it would with perfect efficiency.
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


#: For checks of the plug-in that go up to fewer nodes than all where a site says so.
MOST_NODES = {"most_nodes": Tunable("whole number", "", "largest number of nodes in the series; 0: all")}


class LayoutSeries(rfm.RegressionTestPlugin):
    """Leaves set ``laid_out`` after ``setup``, and have a command line for each layout in each round.

    One job measures all layouts, so that they are of the same nodes; its rounds are taken in turn, so that what changes
    with time changes all layouts alike.
    """

    #: As ``1x8 4x2``; by default doublings up to all nodes and all cores of each.
    layouts = SiteVariable("", "text", "", "nodes and ranks per node, as `1x8 4x2`, instead of all doublings")
    rounds = SiteVariable(5, "whole number", "", "rounds over all layouts; the median has the bound")
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


RANKS, STEP_TIME, EFFICIENCY = ("Ranks", ""), ("Time per step", "ms"), ("Parallel efficiency", "")


class ScaledApplication(LayoutSeries, KappaCheck):
    """Time per step, speed-up, efficiency and Karp-Flatt of an application.

    The layouts are one node with more and more ranks, then more and more nodes. Gated are the medians over the rounds
    on the largest; all are recorded. A run whose physics is wrong fails the check, however fast it was. A leaf is an
    application: it says ``needs_environ``, ``programs``, and

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

    metrics = {
        "step_time": ("ms", lambda self: self.step_ms(self.largest)),
        "efficiency": ("", lambda self: self.point.efficiency),
        "speedup": ("", lambda self: self.point.speedup),
    }
