"""What was measured on each node, by check and figure: of a check on many nodes, or of one on each node by itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reports.show.plot import labels
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict

# How far beyond the middle half of its equals a node stands out: in deviations (1.4826 MAD), and at least this share.
OUTLYING, LEAST_SHARE = 5.0, 0.02
# From so many nodes on, each measured by a case of its own, the cases are compared.
FROM_CASES = 4
_CLOSE = 1e-9


class NodeFigure(NamedTuple):
    node: str
    value: float
    suspect: bool


@dataclass(frozen=True)
class Equals:
    """The nodes that are compared with each other, sorted by value; ``bounds`` are what their values have to keep to,
    as far as a metric of the case says it."""

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
        """Suspects, and what is far from its equals; the farthest first."""
        middle = float(np.median(self.values))
        spread = 1.4826 * float(np.median([abs(value - middle) for value in self.values]))
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


def node_figures(cases: Sequence[CaseVerdict]) -> list[NodeFigures]:
    """One for each check and figure of which some node has a finite value."""
    return [*_of_many_nodes(cases), *_of_single_nodes(cases)]


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
            # Repeats on one node are no comparison.
            if len({one.node for one, _ in members}) >= FROM_CASES:
                metric = members[0][1]
                bounds = tuple(bound for bound in (metric.lower, metric.upper) if math.isfinite(bound))
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
    """Of the metrics that are the least or the largest of ``values``, or the least as a share of the median."""
    found: dict[float, None] = {}
    median = float(np.median(values))
    for metric in metrics:
        value = metric.metric.value
        if value is None:
            continue
        if metric.metric.unit == unit and math.isclose(value, min(values), rel_tol=_CLOSE):
            found[metric.lower] = None
        if metric.metric.unit == unit and math.isclose(value, max(values), rel_tol=_CLOSE):
            found[metric.upper] = None
        if not metric.metric.unit and median > 0 and math.isclose(value, min(values) / median, rel_tol=_CLOSE):
            found[metric.lower * median] = None
    return tuple(bound for bound in found if math.isfinite(bound))
