"""Compare one metric with its reference. Kappa judges the value itself; ReFrame's result is only a second opinion."""

import math
from dataclasses import dataclass, replace

from kappa.core.ground.figures import counted
from kappa.core.record.evidence import ReferenceSource
from kappa.core.record.model import Case, Metric
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

    ``lower`` and ``upper`` are absolute, in the metric's unit; infinite where unbounded. ``reason`` says why the state
    is INCOMPLETE, ``detail`` gives the value found instead. ``relative``: the bound compares nodes with the median of
    their equals, so a PASS proves no absolute speed.
    """

    metric: Metric
    state: State
    lower: float = -math.inf
    upper: float = math.inf
    source: ReferenceSource | None = None
    reason: str = ""
    detail: str = ""
    relative: bool = False

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def deviation_percent(self) -> float | None:
        """Return the deviation in per cent of the reference; ``None`` without a reference or if it is 0."""
        metric = self.metric
        if not self.bounded or metric.reference == 0 or metric.value is None or not math.isfinite(metric.value):
            return None
        return (metric.value - metric.reference) / abs(metric.reference) * 100

    @property
    def excess(self) -> float:
        """Return the distance from the violated bound as a share of that bound; larger is worse."""
        value = self.metric.value
        if value is None or not math.isfinite(value):
            return math.inf
        bound = self.lower if value < self.lower else self.upper
        return abs(value - bound) / abs(bound) if bound else math.inf


def absolute_bounds(
    reference: float, lower_fraction: float | None, upper_fraction: float | None
) -> tuple[float, float]:
    """Return the lower and upper bound in the metric's unit, infinite where unbounded.

    The rule is the one of ReFrame's ``assert_reference``: reference × (1 + fraction); for a negative reference
    × (1 - fraction); for a reference of 0 the fraction itself.

    :raises ValueError: a fraction is not a number, has the wrong sign, or moves the bound past 0.
    """
    lowest = -1.0 if reference > 0 else -math.inf
    highest = math.inf if reference >= 0 else 1.0
    if lower_fraction is not None and not lowest <= lower_fraction <= 0:
        raise ValueError(f"invalid low threshold value: {lower_fraction}")
    if upper_fraction is not None and not 0 <= upper_fraction <= highest:
        raise ValueError(f"invalid high threshold value: {upper_fraction}")
    lower = -math.inf if lower_fraction is None else _bound(reference, lower_fraction)
    upper = math.inf if upper_fraction is None else _bound(reference, upper_fraction)
    return lower, upper


def _bound(reference: float, fraction: float) -> float:
    if reference == 0:
        return float(fraction)
    return float(reference * (1 + math.copysign(1, reference) * fraction))


def judge_metric(case: Case, metric: Metric) -> MetricVerdict:
    """Judge ``metric`` of ``case`` by its recorded value, reference and bounds."""
    source = case.reference_sources.get(metric.name)
    try:
        lower, upper = absolute_bounds(metric.reference, metric.lower_fraction, metric.upper_fraction)
        problem = "" if math.isfinite(metric.reference) else f"the reference is {metric.reference}"
    except ValueError as err:
        problem = str(err)
    if problem:
        return MetricVerdict(metric, State.INCOMPLETE, source=source, reason=INVALID_BOUNDS, detail=problem)
    verdict = MetricVerdict(metric, State.PASS, lower, upper, source, relative=metric.name in case.relative)
    informational = metric.name in case.informational or case.check_class is None
    # A re-measured case, or one with a node's neighbours only, uses the bounds of the whole partition.
    few = verdict.relative and not case.purpose and len(case.nodes) < LEAST_EQUALS
    state, reason, detail = _conclude(verdict, metric, informational or few)
    if few and verdict.bounded and state in (State.PASS, State.FAIL):
        detail = f"{counted(len(case.nodes), 'node')}, at least {LEAST_EQUALS} needed"
        state, reason = State.INCOMPLETE, TOO_FEW_EQUALS
    return replace(verdict, state=state, reason=reason, detail=detail)


def _conclude(verdict: MetricVerdict, metric: Metric, informational: bool) -> tuple[State, str, str]:
    """Return state, reason and detail of a metric with valid bounds."""
    value = metric.value
    if value is None:
        return State.INCOMPLETE, NO_VALUE, "" if metric.raw == "None" else f"found {metric.raw!r}"
    if not math.isfinite(value):
        return State.FAIL, "", ""
    if not verdict.bounded:
        unbounded = f"the reference {metric.reference:g} has no bound" if metric.reference else ""
        return (State.INFO, "", "") if informational else (State.INCOMPLETE, NO_REFERENCE, unbounded)
    if not verdict.lower <= value <= verdict.upper:
        return (State.KNOWN if metric.result == "xfail" else State.FAIL), "", ""
    if metric.result in ("xfail", "xpass"):
        return State.INCOMPLETE, UNEXPECTED_PASS, ""
    return State.PASS, "", ""


def worse_sign(lower: float, upper: float, unit: str) -> int:
    """Return +1 if higher is worse, -1 if lower is worse, 0 if both are: by the bounds, or else by the unit."""
    if math.isfinite(lower) != math.isfinite(upper):
        return 1 if math.isfinite(upper) else -1
    if math.isfinite(lower):
        return 0
    return worse_by_unit(unit)
