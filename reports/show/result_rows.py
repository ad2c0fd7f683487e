"""Build the page's results: a group for each check, with a row for each metric, or for a case without a metric.

One row with a range stands for all nodes on which the same metric passed, because a partition may have 512 of them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kappa.core.ground.figures import NOTHING, allowed, counted, figure, figure_apart
from kappa.core.ground.node_lists import folded
from kappa.core.record.evidence import ReferenceSource
from kappa.core.vocabulary.checks import catalogue
from reports.compare.compare import in_words
from reports.compare.figures import NO_PAST, MetricKey, NodesValue, Past, RelativeChange, value_of
from reports.show.sparklines import Sparkline, sparkline
from reports.verdict.advice import measured
from reports.verdict.bounds import LOOSE, headroom, slow_downs_in_words
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.state import State
from reports.verdict.suspects import observations

BOUND_AT = 20.0
"""The position of the bound, in per cent of the bar's width."""
_DECADES = 2.0
# So many or more equal rows that passed become one row.
ALIKE = 5
# The order of checks; all other states come after these.
_RANKS = {State.FAIL: 0, State.INCOMPLETE: 2, State.KNOWN: 3}
_OBSERVED = 1
Measured = tuple[CaseVerdict, MetricVerdict | None]


@dataclass(frozen=True)
class HeadroomBar:
    """Describe the headroom bar of a row.

    ``start`` and ``width`` are in per cent of the whole bar; without a ``width`` no bar is drawn. The scale is
    logarithmic: the bound is at a fifth of the bar, and its end is a hundred times the bound.
    """

    text: str
    key: str = ""
    start: float = 0.0
    width: float | None = None
    mark: str = ""
    """``loose`` or ``relative``: the reason why the bound proves little; else empty."""


def bar_of(verdict: MetricVerdict | None) -> HeadroomBar:
    """Return the bar of a metric; without a headroom it is empty."""
    found = headroom(verdict) if verdict else None
    if verdict is None or found is None:
        return HeadroomBar(NOTHING)
    reach = math.log10(found) / _DECADES * (100 - BOUND_AT)
    end = min(max(BOUND_AT + reach, 0.0), 100.0)
    start, width = round(min(end, BOUND_AT), 1), round(abs(end - BOUND_AT), 1)
    mark = "relative" if verdict.metric.relative else "loose" if found > LOOSE else ""
    return HeadroomBar(f"× {_short(found)}", repr(found), start, width, mark)


def _short(ratio: float) -> str:
    """Return the ratio with enough digits to differ from 1."""
    short = figure(ratio, 2)
    return figure_apart(ratio, 1.0) if short == "1" and ratio != 1 else short


@dataclass(frozen=True)
class ResultRow:
    """Hold the cells of a row as text. ``*_key`` sorts, ``""`` last. ``alike`` is the number of rows it stands for."""

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
    headroom: HeadroomBar
    source: str
    method: str
    nodes: str
    alike: int
    last: str
    change: str
    change_key: str
    course: Sparkline | None


def rows(cases: Sequence[CaseVerdict], past: Past) -> list[ResultRow]:
    """Return every row, the worst state first; within a state, the nearest to its bound first."""
    alike: dict[object, list[Measured]] = {}
    for number, measurement in enumerate(each for case in cases for each in _measured(case)):
        alike.setdefault(_kind(*measurement) or number, []).append(measurement)
    made = [
        row
        for members in alike.values()
        for row in ([_range(members, past)] if len(members) >= ALIKE else [_row([member], past) for member in members])
    ]
    return sorted(made, key=lambda row: (-row.state.severity, float(row.headroom.key or math.inf)))


def _measured(case: CaseVerdict) -> list[Measured]:
    metrics: list[Measured] = [(case, metric) for metric in case.shown_metrics]
    # If no metric has the case's state (failed sanity, missing metric), the case gets a row of its own.
    if case.state not in {metric.state for metric in case.shown_metrics}:
        metrics.insert(0, (case, None))
    return metrics


def _kind(verdict: CaseVerdict, metric: MetricVerdict | None) -> object:
    """Return the key of rows that one row can stand for; ``None`` for a row that stays separate."""
    if metric is None or metric.state is not State.PASS or verdict.unstable:
        return None
    case = verdict.case
    return case.name, case.partition, case.environ, metric.metric.name, metric.metric.unit, metric.metric.bounds


def _range(members: Sequence[Measured], past: Past) -> ResultRow:
    """Return one row for all members: smallest and largest value, worst headroom, all nodes."""
    known = [metric for _, metric in members if metric]
    worst = min(known, key=lambda metric: math.inf if (room := headroom(metric)) is None else room)
    values = [metric.metric.value for metric in known if metric.metric.value is not None]
    ends = dict.fromkeys((figure(min(values)), figure(max(values))))
    return replace(_row(members, past), value=" … ".join(ends), headroom=bar_of(worst))


def _row(members: Sequence[Measured], past: Past) -> ResultRow:
    """Return the row of the first member, with the nodes of all members."""
    verdict, metric = members[0]
    reference = metric.metric.reference if metric and metric.metric.bounded else None
    source = metric.metric.source if metric else None
    last, step, course = _last(members, past)
    return ResultRow(
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
        allowed=allowed(*metric.metric.bounds) if metric else NOTHING,
        headroom=bar_of(metric),
        source=source.source if source else "",
        method=_method(source) if source else "",
        nodes=folded(node for verdict, _ in members for node in verdict.case.nodes),
        alike=len(members),
        last=value_of(last),
        change=in_words(step),
        change_key=_key(step.share if step else None),
        course=course,
    )


def _last(
    members: Sequence[Measured], past: Past
) -> tuple[list[NodesValue], RelativeChange | None, Sparkline | None]:
    """Return the values of the last run, the change since then, and the course over all runs."""
    verdict, metric = members[0]
    if metric is None:
        return [], None, None
    case = verdict.case
    place = MetricKey(case.name, case.partition, case.environ, metric.metric.name, metric.metric.unit)
    now = [
        NodesValue(verdict.case.nodes, metric.metric.value)
        for verdict, metric in members
        if metric and metric.metric.value is not None
    ]
    return (*past.before(place, now), sparkline(past.course(place, now))) if now else ([], None, None)


def _method(source: ReferenceSource) -> str:
    said = f"{source.method} ({source.date}, {counted(source.samples, 'sample')})"
    if source.finds_in_a_run is None or source.finds_in_a_week is None:
        return said
    return f"{said}; finds {slow_downs_in_words(source.finds_in_a_run, source.finds_in_a_week)}"


def _key(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""


@dataclass(frozen=True)
class CheckGroup:
    """Hold the rows of a check.

    ``counts`` are (state, number of cases), worst first. ``tightest`` is the bar of the row nearest to its bound.
    """

    check: str
    counts: list[tuple[State, int]]
    tightest: HeadroomBar | None
    nodes: str
    rows: list[ResultRow]
    purpose: str
    """The purpose of the check in a sentence."""

    docs: str
    """The command that shows the check's page; empty for a check outside the suite."""

    observed: bool
    """Whether a node stands out in a case within its bounds."""

    prepares: bool
    """Whether these cases built programs for checks, and all passed."""

    @property
    def opened(self) -> bool:
        """Return whether the page shows the rows unfolded."""
        return self.counts[0][0].severity > State.PASS.severity


def docs_command(check: str | None) -> str:
    """Return the command that shows the page of a check, or nothing for a check that the catalogue does not have.

    A page of results is one file that works alone, so it has no link to other pages.
    """
    return f"kappa docs {check}" if check in catalogue() else ""


def groups(cases: Sequence[CaseVerdict], past: Past = NO_PAST) -> list[CheckGroup]:
    """Return a group for each check.

    Order: failed, with observations, incomplete, known failures, the rest, builds. Within each kind, the check whose
    value is nearest to its bound comes first.
    """
    members: dict[str, list[CaseVerdict]] = {}
    for verdict in cases:
        members.setdefault(verdict.case.check_class or verdict.case.name.partition(" ")[0], []).append(verdict)
    made = [_group(check, found, past) for check, found in members.items()]
    return sorted(made, key=_order)


def _order(group: CheckGroup) -> tuple[bool, int, float]:
    rank = _RANKS.get(group.counts[0][0], len(_RANKS) + 1)
    headroom = float(group.tightest.key) if group.tightest else math.inf
    return group.prepares, min(rank, _OBSERVED) if group.observed else rank, headroom


def _group(check: str, cases: Sequence[CaseVerdict], past: Past) -> CheckGroup:
    states = Counter(verdict.state for verdict in cases)
    found = rows(cases, past)
    bars = [row.headroom for row in found if row.headroom.key]
    return CheckGroup(
        check=check,
        counts=sorted(states.items(), key=lambda item: -item[0].severity),
        tightest=min(bars, key=lambda bar: float(bar.key), default=None),
        nodes=folded(node for verdict in cases for node in verdict.case.nodes),
        rows=found,
        purpose=cases[0].case.descr,
        docs=docs_command(cases[0].case.check_class),
        observed=bool(observations(cases)),
        prepares=all(verdict.case.prepares and verdict.state is State.PASS for verdict in cases),
    )
