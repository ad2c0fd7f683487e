"""Draw strips of per-node values: nodes sorted by value, their middle half, the bounds, and outliers by name.

A strip is plain SVG with text beside it: it takes a tenth of the time of a plot with a script, and is sharp on paper.
Positions are in per mille of the strip's width and height, so that the text keeps its size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kappa.core.ground.figures import counted, figure
from kappa.core.ground.node_lists import folded
from kappa.core.ground.spread import robust_deviation
from reports.show.html_page import round_steps
from reports.show.plot import labels, suitable_unit, with_unit
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict

# A node stands out at this distance from the median: in robust deviations, and as a share of the median.
OUTLYING, LEAST_SHARE = 5.0, 0.02
# Cases of single nodes are compared if there are at least so many nodes.
FROM_CASES = 4
_CLOSE = 1e-9
SIZE = 1000
# The height of a line of text.
_LINE = 75
# A strip of fewer nodes shows no more than their values.
LEAST_NODES = 3
# Up to so many nodes in all, each is named; up to so many, with its value.
NAMES_LIMIT, FIGURES_LIMIT = 48, 8
# The most outliers named in a partition.
OUTLIERS_NAMED = 6
# The table of a strip with more nodes has the outliers and both ends.
ROWS_LIMIT, ENDS = 60, 10
# A bound further away than this, in heights of the drawn range, is not drawn: it would flatten the strip.
_FAR = 1.5
_GAP = 80


class NodeFigure(NamedTuple):
    node: str
    value: float
    suspect: bool


@dataclass(frozen=True)
class Equals:
    """Hold nodes that are compared with each other, sorted by value.

    ``bounds`` are the bounds of their values, as far as a metric of the case gives them.
    """

    label: str
    figures: tuple[NodeFigure, ...]
    bounds: tuple[float, ...]

    @property
    def values(self) -> list[float]:
        return [one.value for one in self.figures]

    def quartiles(self) -> tuple[float, float, float]:
        low, middle, high = np.percentile(self.values, (25, 50, 75))
        return float(low), float(middle), float(high)

    @cached_property
    def standing_out(self) -> list[NodeFigure]:
        """Return the suspects, then the nodes that are far from the median, the farthest first."""
        middle = float(np.median(self.values))
        spread = robust_deviation(np.array(self.values))
        far = max(OUTLYING * spread, LEAST_SHARE * abs(middle))
        found = [one for one in self.figures if one.suspect or abs(one.value - middle) > far]
        return sorted(found, key=lambda one: (not one.suspect, -abs(one.value - middle)))

    def divided(self, divisor: float) -> "Equals":
        figures = tuple(NodeFigure(node, value / divisor, suspect) for node, value, suspect in self.figures)
        return Equals(self.label, figures, tuple(bound / divisor for bound in self.bounds))


@dataclass(frozen=True)
class NodeFigures:
    check: str
    metric: str
    unit: str
    equals: list[Equals]

    @property
    def count(self) -> int:
        return sum(len(one.figures) for one in self.equals)

    def in_suitable_unit(self) -> tuple[list[Equals], str]:
        divisor, unit = suitable_unit(max(abs(value) for one in self.equals for value in one.values), self.unit)
        return [one.divided(divisor) for one in self.equals], unit

    @property
    def is_worth_a_strip(self) -> bool:
        """Whether it shows more than a line of text says."""
        values = {figure(value) for one in self.equals for value in one.values}
        return self.count >= LEAST_NODES and (len(values) > 1 or any(one.standing_out for one in self.equals))


def _of_many_nodes(cases: Sequence[CaseVerdict]) -> list[NodeFigures]:
    groups: dict[tuple[str, str, str], list[tuple[CaseVerdict, Equals]]] = {}
    for verdict in cases:
        for metric, per_node in verdict.case.per_node.items():
            figures = [_figure(node, value, verdict) for node, value in per_node.values.items() if math.isfinite(value)]
            if figures:
                key = (verdict.case.check_class or "", metric, per_node.unit)
                bounds = _bounds(verdict.metrics, per_node.unit, [one.value for one in figures])
                groups.setdefault(key, []).append((verdict, _sorted(figures, bounds)))
    found = []
    for key, members in groups.items():
        names = labels([verdict.case for verdict, _ in members])
        equals = [replace(one, label=name) for (_, one), name in zip(members, names, strict=True)]
        found.append(NodeFigures(*key, equals))
    return found


def _of_single_nodes(cases: Sequence[CaseVerdict]) -> list[NodeFigures]:
    groups: dict[tuple[str, str, str], dict[tuple[str, str, str], list[tuple[NodeFigure, MetricVerdict]]]] = {}
    for verdict in cases:
        case = verdict.case
        for metric in verdict.metrics if len(case.nodes) == 1 else ():
            value = metric.metric.value
            if value is not None and math.isfinite(value):
                group = groups.setdefault((case.check_class or "", metric.metric.name, metric.metric.unit), {})
                place = (case.partition, case.variant, case.environ)
                group.setdefault(place, []).append((_figure(case.nodes[0], value, verdict), metric))
    found = []
    for key, places in groups.items():
        equals = []
        for (partition, variant, _), members in places.items():
            # Repeated measurements of one node compare nothing.
            if len({one.node for one, _ in members}) >= FROM_CASES:
                metric = members[0][1]
                bounds = tuple(bound for bound in metric.metric.bounds if math.isfinite(bound))
                compared = _sorted([one for one, _ in members], bounds)
                equals.append(replace(compared, label=f"{partition} {variant}".rstrip()))
        if equals:
            found.append(NodeFigures(*key, equals))
    return found


def _figure(node: str, value: float, verdict: CaseVerdict) -> NodeFigure:
    return NodeFigure(node, value, verdict.suspicion is not None and node in verdict.suspicion.nodes)


def _sorted(figures: Sequence[NodeFigure], bounds: tuple[float, ...]) -> Equals:
    return Equals("", tuple(sorted(figures, key=lambda one: (one.value, one.node))), bounds)


def _bounds(metrics: Sequence[MetricVerdict], unit: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return the bounds of the metrics that are derived from ``values``.

    Such a metric equals the smallest value, the largest value, or the smallest as a share of the median.
    """
    found: dict[float, None] = {}
    median = float(np.median(values))
    for metric in metrics:
        value, (lower, upper) = metric.metric.value, metric.metric.bounds
        if value is None:
            continue
        if metric.metric.unit == unit and math.isclose(value, min(values), rel_tol=_CLOSE):
            found[lower] = None
        if metric.metric.unit == unit and math.isclose(value, max(values), rel_tol=_CLOSE):
            found[upper] = None
        if not metric.metric.unit and median > 0 and math.isclose(value, min(values) / median, rel_tol=_CLOSE):
            found[lower * median] = None
    return tuple(bound for bound in found if math.isfinite(bound))


class Mark(NamedTuple):
    """Mark a node; ``kind`` is ``usual``, ``odd`` or ``suspect``."""

    x: float
    y: float
    kind: str
    name: str
    figure: str


@dataclass(frozen=True)
class Label:
    """Place a text beside the mark at ``x``, at height ``y``; with ``on_left`` the text ends there."""

    x: float
    y: float
    text: str
    on_left: bool


@dataclass(frozen=True)
class Stretch:
    """Hold the nodes of one partition from ``start`` to ``end``; ``low`` and ``high`` limit the middle half."""

    label: str
    start: float
    end: float
    low: float
    middle: float
    high: float
    bounds: list[float]
    marks: list[Mark]
    outliers: list[Label]

    @property
    def dots(self) -> str:
        """Return the usual nodes as one path of dots."""
        return "".join(f"M{mark.x:g} {mark.y:g}h0" for mark in self.marks if mark.kind == "usual")


@dataclass(frozen=True)
class Strip:
    """Hold a strip. ``named``: each node's name is below it; ``with_figures``: its value is above it."""

    title: str
    caption: str
    y_title: str
    unit: str
    ticks: list[tuple[float, str]]
    stretches: list[Stretch]
    named: bool
    with_figures: bool
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    @property
    def summary(self) -> str:
        """Return a description for readers who cannot see the strip."""
        return f"{self.title}; {self.caption}"

    @property
    def hover(self) -> list[tuple[float, str, str]]:
        """Return position, name and value of every node, from left to right."""
        return [(mark.x, mark.name, mark.figure) for stretch in self.stretches for mark in stretch.marks]

    @property
    def longest_name(self) -> int:
        return max(len(mark.name) for stretch in self.stretches for mark in stretch.marks)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    @classmethod
    def of(cls, equals: Sequence[Equals]) -> "_Scale":
        """Return a scale for all values, and for the bounds near them."""
        values = [value for one in equals for value in one.values]
        low, high = min(values), max(values)
        span = max(high - low, 0.1 * max(abs(low), abs(high))) or 1.0
        near = [bound for one in equals for bound in one.bounds if low - _FAR * span <= bound <= high + _FAR * span]
        low, high = min([low, *near]), max([high, *near])
        margin = 0.12 * max(high - low, span)
        return cls(low - margin, high + 3 * margin)  # the partitions' names are above

    def y(self, value: float) -> float:
        """Return the distance of ``value`` from the top."""
        return round(SIZE * (self.high - value) / (self.high - self.low), 1)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def node_strips(cases: Sequence[CaseVerdict]) -> list[Strip]:
    """Return one strip for each check and metric with differing finite values on three nodes or more."""
    return [_strip(found) for found in _of_nodes(cases) if found.is_worth_a_strip]


def without_strip(cases: Sequence[CaseVerdict]) -> list[tuple[str, ...]]:
    """Return (metric, case, values) of the metrics of nodes without a strip."""
    rows: list[tuple[str, ...]] = []
    for found in _of_nodes(cases):
        if not found.is_worth_a_strip:
            equals, unit = found.in_suitable_unit()
            title = with_unit(f"{found.check}: {found.metric} per node", unit)
            figures = [each for one in equals for each in one.figures]
            rows.append((title, ", ".join(one.label for one in equals), _in_words(figures)))
    return rows


def _in_words(figures: Sequence[NodeFigure]) -> str:
    """Return each value with its nodes."""
    nodes: dict[str, list[str]] = {}
    for one in figures:
        nodes.setdefault(f"{figure(one.value)}{' (suspect)' if one.suspect else ''}", []).append(one.node)
    return "; ".join(f"{value} on {folded(names)}" for value, names in nodes.items())


def _of_nodes(cases: Sequence[CaseVerdict]) -> list[NodeFigures]:
    return [*_of_many_nodes(cases), *_of_single_nodes(cases)]


def _strip(found: NodeFigures) -> Strip:
    equals, unit = found.in_suitable_unit()
    scale = _Scale.of(equals)
    title = with_unit(found.metric, unit)
    return Strip(
        title=f"{found.check}: {found.metric} per node",
        caption=_caption(equals, scale, unit),
        y_title=title,
        unit=unit,
        ticks=[(scale.y(tick), figure(tick)) for tick in round_steps(scale.low, scale.high)],
        stretches=_stretches(equals, scale, named=found.count <= NAMES_LIMIT),
        named=found.count <= NAMES_LIMIT,
        with_figures=found.count <= FIGURES_LIMIT,
        header=("Partition", "Node", title, "Note"),
        rows=[row for one in equals for row in _rows(one)],
    )


def _caption(equals: Sequence[Equals], scale: _Scale, unit: str) -> str:
    suspects = sum(one.suspect for group in equals for one in group.figures)
    odd = sum(len(group.standing_out) for group in equals) - suspects
    bounds = dict.fromkeys(bound for group in equals for bound in group.bounds)
    far = [f"{figure(bound)} {unit}".rstrip() for bound in bounds if not scale.holds(bound)]
    other = "other " if suspects else ""
    parts = (
        "Dashed line: bound." if len(far) < len(bounds) else "",
        f"Bound outside the drawn range: {', '.join(far)}." if far else "",
        f"▲ {counted(suspects, 'suspect node')}." if suspects else "",
        f"◆ {counted(odd, f'{other}node stands', f'{other}nodes stand')} out." if odd else "",
    )
    return " ".join(filter(None, parts))


def _rows(equals: Equals) -> list[tuple[str, ...]]:
    """Return a row for each node; for many nodes the distribution, the outliers and both ends."""
    odd = equals.standing_out
    said = {one.node: "suspect" if one.suspect else "stands out" for one in odd}
    shown: list[NodeFigure] = list(equals.figures)
    first: list[tuple[str, ...]] = []
    if len(shown) > ROWS_LIMIT:
        low, middle, high = map(figure, equals.quartiles())
        first = [(equals.label, f"all {len(shown)}: median", middle, f"middle half {low} … {high}")]
        shown = list(dict.fromkeys([*odd[:ENDS], *shown[:ENDS], *shown[-ENDS:]]))
    return [*first, *((equals.label, one.node, figure(one.value), said.get(one.node, "")) for one in shown)]


def _stretches(equals: Sequence[Equals], scale: _Scale, named: bool) -> list[Stretch]:
    """Return the stretches side by side: with named nodes their widths follow the node counts, else they are equal."""
    weights = [len(one.figures) if named else 1 for one in equals]
    gap = min(_GAP, SIZE / 4 / len(equals))
    room = (SIZE - gap * (len(equals) - 1)) / sum(weights)
    stretches, start = [], 0.0
    for one, weight in zip(equals, weights, strict=True):
        label = one.label if named else f"{one.label} ({len(one.figures)})"
        stretches.append(_stretch(one, scale, label, start, start + weight * room))
        start += weight * room + gap
    return stretches


def _stretch(equals: Equals, scale: _Scale, label: str, start: float, end: float) -> Stretch:
    odd = {one.node for one in equals.standing_out}
    step = (end - start) / len(equals.figures)
    marks = [
        Mark(
            x=round(start + (number + 0.5) * step, 1),
            y=scale.y(one.value),
            kind="suspect" if one.suspect else "odd" if one.node in odd else "usual",
            name=one.node,
            figure=figure(one.value),
        )
        for number, one in enumerate(equals.figures)
    ]
    low, middle, high = map(scale.y, equals.quartiles())
    bounds = [scale.y(bound) for bound in equals.bounds if scale.holds(bound)]
    named = {one.node for one in equals.standing_out[:OUTLIERS_NAMED]}
    outliers = _apart([mark for mark in marks if mark.name in named], (start + end) / 2)
    return Stretch(label, round(start, 1), round(end, 1), low, middle, high, bounds, marks, outliers)


def _apart(marks: Sequence[Mark], middle: float) -> list[Label]:
    """Place names beside their marks, towards the middle of the stretch, without overlap and inside the strip."""
    labels = []
    for on_left in (False, True):
        side = sorted((mark for mark in marks if (mark.x > middle) is on_left), key=lambda mark: mark.y)
        heights: list[float] = []
        for mark in side:
            heights.append(max([mark.y, *(height + _LINE for height in heights[-1:])]))
        excess = max([height - SIZE + _LINE / 2 for height in heights[-1:]] + [0.0])
        placed = zip(side, heights, strict=True)
        labels += [Label(mark.x, height - excess, mark.name, on_left) for mark, height in placed]
    return labels
