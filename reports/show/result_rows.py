"""The rows of the page's results: a row for each metric, or for a case that measured none.

What passed alike, the same metric of the same check on one node after the other, is one row with its range: a partition
of 512 nodes has 512 rows of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kappa.core.ground.figures import NOTHING, allowed, counted, figure
from kappa.core.ground.node_lists import folded
from kappa.core.record.evidence import ReferenceSource
from reports.compare.change import Change
from reports.compare.earlier import Past
from reports.compare.figures import Place, Sample
from reports.compare.listing import in_words, value_of
from reports.show.headroom_bar import Bar, bar_of
from reports.verdict.advice import measured
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.headroom import headroom
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.sight import found
from reports.verdict.state import State

# From so many on, rows that passed alike are one.
ALIKE = 5

Measured = tuple[CaseVerdict, MetricVerdict | None]


@dataclass(frozen=True)
class Row:
    """Cells as they are shown; ``*_key`` sorts, ``''`` comes last. ``alike`` is how many rows it stands for."""

    state: State
    case: str
    partition: str
    environ: str
    metric: str
    value: str
    value_key: str
    unit: str
    reference: str
    reference_key: str
    allowed: str
    headroom: Bar
    source: str
    method: str
    nodes: str
    alike: int
    last: str
    change: str
    change_key: str


def rows(cases: Sequence[CaseVerdict], past: Past) -> list[Row]:
    """Every row, worst first, else in the order of ``cases``."""
    alike: dict[object, list[Measured]] = {}
    for number, measurement in enumerate(each for case in cases for each in _measured(case)):
        alike.setdefault(_kind(*measurement) or number, []).append(measurement)
    made = [
        row
        for members in alike.values()
        for row in ([_range(members, past)] if len(members) >= ALIKE else [_row([member], past) for member in members])
    ]
    return sorted(made, key=lambda row: -row.state.severity)


def _measured(case: CaseVerdict) -> list[Measured]:
    metrics: list[Measured] = [(case, metric) for metric in case.shown_metrics]
    # A case that is worse than each of its metrics (a failed sanity, a missing metric) has to show itself.
    if case.state not in {metric.state for metric in case.shown_metrics}:
        metrics.insert(0, (case, None))
    return metrics


def _kind(verdict: CaseVerdict, metric: MetricVerdict | None) -> object:
    """What rows that can be one share; ``None`` for one that has to be seen by itself."""
    if metric is None or metric.state is not State.PASS or verdict.unstable:
        return None
    case = verdict.case
    return case.name, case.partition, case.environ, metric.metric.name, metric.metric.unit, metric.lower, metric.upper


def _range(members: Sequence[Measured], past: Past) -> Row:
    """One row for all: the least and the largest value, the worst headroom, all nodes."""
    known = [metric for _, metric in members if metric]
    worst = min(known, key=lambda metric: _or_infinite(headroom(metric)))
    values = [metric.metric.value for metric in known if metric.metric.value is not None]
    ends = dict.fromkeys((figure(min(values)), figure(max(values))))
    return replace(_row(members, past), value=" … ".join(ends), headroom=bar_of(worst))


def _or_infinite(ratio: float | None) -> float:
    return math.inf if ratio is None else ratio


def _row(members: Sequence[Measured], past: Past) -> Row:
    """The row of the first of ``members``, with the nodes of all."""
    verdict, metric = members[0]
    reference = metric.metric.reference if metric and metric.bounded else None
    source = metric.source if metric else None
    last, step = _last(members, past)
    return Row(
        state=metric.state if metric else verdict.state,
        case=verdict.case.variant or NOTHING,
        partition=verdict.case.partition,
        environ=verdict.case.environ,
        metric=metric.metric.name if metric else "",
        value=(measured(metric) if metric else "") or NOTHING,
        value_key=_key(metric.metric.value if metric else None),
        unit=metric.metric.unit if metric else "",
        reference=NOTHING if reference is None else figure(reference),
        reference_key=_key(reference),
        allowed=allowed(metric.lower, metric.upper) if metric else NOTHING,
        headroom=bar_of(metric),
        source=source.source if source else "",
        method=_method(source) if source else "",
        nodes=folded(node for verdict, _ in members for node in verdict.case.nodes),
        alike=len(members),
        last=value_of(last),
        change=in_words(step),
        change_key=_key(step.share if step else None),
    )


def _last(members: Sequence[Measured], past: Past) -> tuple[list[Sample], Change | None]:
    """What the last run measured instead, and the change from it."""
    verdict, metric = members[0]
    if metric is None:
        return [], None
    case = verdict.case
    place = Place(case.name, case.partition, case.environ, metric.metric.name, metric.metric.unit)
    now = [
        Sample(verdict.case.nodes, metric.metric.value)
        for verdict, metric in members
        if metric and metric.metric.value is not None
    ]
    return past.before(place, now) if now else ([], None)


def _method(source: ReferenceSource) -> str:
    said = f"{source.method} ({source.date}, {counted(source.samples, 'sample')})"
    if source.finds_in_a_run is None or source.finds_in_a_week is None:
        return said
    return f"{said}; finds {found(source.finds_in_a_run, source.finds_in_a_week)}"


def _key(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""
