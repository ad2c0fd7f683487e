"""One metric against its reference: Kappa judges the value itself; ReFrame's result is a second opinion only."""

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
"""The median of two is between them: neither is held against anything but the other."""


@dataclass(frozen=True)
class MetricVerdict:
    """``lower`` and ``upper`` are absolute, in the metric's unit; infinite where unbounded.

    ``reason`` says why the state is INCOMPLETE, ``detail`` what was found instead. ``relative``: nodes are held against
    the median of their equals, so that a PASS proves no absolute speed.
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
        """Deviation from the reference in per cent of its magnitude; ``None`` without one, or when it is 0."""
        metric = self.metric
        if not self.bounded or metric.reference == 0 or metric.value is None or not math.isfinite(metric.value):
            return None
        return (metric.value - metric.reference) / abs(metric.reference) * 100

    @property
    def excess(self) -> float:
        """By what share of the broken bound a value is beyond it; the larger, the worse."""
        value = self.metric.value
        if value is None or not math.isfinite(value):
            return math.inf
        bound = self.lower if value < self.lower else self.upper
        return abs(value - bound) / abs(bound) if bound else math.inf


def absolute_bounds(
    reference: float, lower_fraction: float | None, upper_fraction: float | None
) -> tuple[float, float]:
    """Lower and upper bound in the metric's unit, infinite where unbounded, as ReFrame has them (``assert_reference``):
    reference × (1 + fraction), or × (1 - fraction) of a negative one; of 0 the fraction itself.

    :raises ValueError: a bound on the wrong side of the reference, or one that is no number; also one of more than all
        of it towards 0.
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
    # A case that is re-measured, or measured with a node's neighbours only, has the bounds of the whole partition.
    few = verdict.relative and not case.purpose and len(case.nodes) < LEAST_EQUALS
    state, reason, detail = _conclude(verdict, metric, informational or few)
    if few and verdict.bounded and state in (State.PASS, State.FAIL):
        detail = f"{counted(len(case.nodes), 'node')}, at least {LEAST_EQUALS} are needed"
        state, reason = State.INCOMPLETE, TOO_FEW_EQUALS
    return replace(verdict, state=state, reason=reason, detail=detail)


def _conclude(verdict: MetricVerdict, metric: Metric, informational: bool) -> tuple[State, str, str]:
    """State, reason and detail of a metric with valid bounds."""
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
    """+1 when higher is worse, -1 when lower is worse, 0 when either is: by the bounds, or else by the unit."""
    if math.isfinite(lower) != math.isfinite(upper):
        return 1 if math.isfinite(upper) else -1
    if math.isfinite(lower):
        return 0
    return worse_by_unit(unit)
