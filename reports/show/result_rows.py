"""The rows of the page's results table: a row for each metric, or for a case that measured none."""

import math
from dataclasses import dataclass

from kappa.ground.figures import NOTHING, allowed, figure, percent
from kappa.ground.node_lists import folded
from kappa.record.evidence import ReferenceSource
from reports.verdict.advice import measured
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.sight import found
from reports.verdict.state import State


@dataclass(frozen=True)
class Row:
    """Cells as they are shown; ``*_key`` sorts, ``''`` comes last."""

    state: State
    check: str
    variant: str
    partition: str
    environ: str
    metric: str
    value: str
    value_key: str
    unit: str
    reference: str
    reference_key: str
    allowed: str
    deviation: str
    deviation_key: str
    source: str
    method: str
    nodes: str


def rows(verdict: Verdict) -> list[Row]:
    """Every row, worst first, else in the report's order."""
    found = [row for case in verdict.cases for row in _rows_of(case)]
    return sorted(found, key=lambda row: -row.state.severity)


def _rows_of(case: CaseVerdict) -> list[Row]:
    metrics = case.shown_metrics
    found = [_row(case, metric) for metric in metrics]
    # A case that is worse than each of its metrics (a failed sanity, a missing metric) has to show itself.
    if case.state not in {metric.state for metric in metrics}:
        found.insert(0, _row(case, None))
    return found


def _row(case: CaseVerdict, metric: MetricVerdict | None) -> Row:
    name, _, variant = case.case.name.partition(" ")
    value = reference = deviation = None
    if metric:
        value, deviation = metric.metric.value, metric.deviation_percent
        reference = metric.metric.reference if metric.bounded else None
    source = metric.source if metric else None
    return Row(
        state=metric.state if metric else case.state,
        check=name,
        variant=variant.replace("%", ""),
        partition=case.case.partition,
        environ=case.case.environ,
        metric=metric.metric.name if metric else "",
        value=(measured(metric) if metric else "") or NOTHING,
        value_key=_key(value),
        unit=metric.metric.unit if metric else "",
        reference=NOTHING if reference is None else figure(reference),
        reference_key=_key(reference),
        allowed=allowed(metric.lower, metric.upper) if metric else NOTHING,
        deviation=percent(deviation),
        deviation_key=_key(deviation),
        source=source.source if source else "",
        method=_method(source) if source else "",
        nodes=folded(case.case.nodes),
    )


def _method(source: ReferenceSource) -> str:
    said = f"{source.method} ({source.date}, {source.samples} samples)"
    if source.finds_in_a_run is None or source.finds_in_a_week is None:
        return said
    return f"{said}; finds {found(source.finds_in_a_run, source.finds_in_a_week)}"


def _key(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else ""
