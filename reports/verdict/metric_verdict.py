"""Compare one metric with its reference. Kappa judges the value itself; ReFrame's result is only a second opinion."""

import math
from dataclasses import dataclass

from kappa.core.ground.figures import counted
from kappa.core.record.metric import Metric
from kappa.core.record.model import Case
from kappa.core.vocabulary.checks import worse_by_unit
from reports.verdict.state import State

NO_VALUE = "no value was measured"
NO_REFERENCE = "no reference"
INVALID_BOUNDS = "the bounds are not valid"
TOO_FEW_EQUALS = "too few equals for a relative bound"
UNEXPECTED_PASS = "passed although marked as a known failure"
LEAST_EQUALS = 3
"""The median of two nodes lies between them, so each node would be compared only with the other."""


@dataclass(frozen=True)
class MetricVerdict:
    """Hold the verdict on one metric.

    ``reason`` says why the state is INCOMPLETE, ``detail`` gives the value found instead. If the metric is
    ``relative``, a PASS proves no absolute speed.
    """

    metric: Metric
    state: State
    reason: str = ""
    detail: str = ""

    @property
    def deviation_percent(self) -> float | None:
        """Return the deviation in per cent of the reference; ``None`` without a reference or if it is 0."""
        metric = self.metric
        if not metric.bounded or metric.reference == 0 or metric.value is None or not math.isfinite(metric.value):
            return None
        return (metric.value - metric.reference) / abs(metric.reference) * 100

    @property
    def excess(self) -> float:
        """Return the distance from the violated bound as a share of that bound; larger is worse."""
        value = self.metric.value
        if value is None or not math.isfinite(value):
            return math.inf
        lower, upper = self.metric.bounds
        bound = lower if value < lower else upper
        return abs(value - bound) / abs(bound) if bound else math.inf


def judge_metric(case: Case, metric: Metric) -> MetricVerdict:
    """Judge ``metric`` of ``case`` by its recorded value, reference and bounds."""
    if metric.problem:
        return MetricVerdict(metric, State.INCOMPLETE, INVALID_BOUNDS, metric.problem)
    # A re-measured case, or one with a node's neighbours only, uses the bounds of the whole partition.
    few = metric.relative and not case.purpose and len(case.nodes) < LEAST_EQUALS
    verdict = _conclude(metric, metric.informational or few)
    if few and metric.bounded and verdict.state in (State.PASS, State.FAIL):
        detail = f"{counted(len(case.nodes), 'node')}, at least {LEAST_EQUALS} needed"
        return MetricVerdict(metric, State.INCOMPLETE, TOO_FEW_EQUALS, detail)
    return verdict


def _conclude(metric: Metric, informational: bool) -> MetricVerdict:
    """Judge a metric with valid bounds."""
    value = metric.value
    if value is None:
        return MetricVerdict(metric, State.INCOMPLETE, NO_VALUE, f"found {metric.raw!r}" if metric.raw else "")
    if not math.isfinite(value):
        return MetricVerdict(metric, State.FAIL)
    if not metric.bounded:
        unbounded = f"the reference {metric.reference:g} has no bound" if metric.reference else ""
        return (
            MetricVerdict(metric, State.INFO)
            if informational
            else MetricVerdict(metric, State.INCOMPLETE, NO_REFERENCE, unbounded)
        )
    lower, upper = metric.bounds
    if not lower <= value <= upper:
        return MetricVerdict(metric, State.KNOWN if metric.result == "xfail" else State.FAIL)
    if metric.result in ("xfail", "xpass"):
        return MetricVerdict(metric, State.INCOMPLETE, UNEXPECTED_PASS)
    return MetricVerdict(metric, State.PASS)


def worse_sign(lower: float, upper: float, unit: str) -> int:
    """Return +1 if higher is worse, -1 if lower is worse, 0 if both are: by the bounds, or else by the unit."""
    if math.isfinite(lower) != math.isfinite(upper):
        return 1 if math.isfinite(upper) else -1
    if math.isfinite(lower):
        return 0
    return worse_by_unit(unit)
