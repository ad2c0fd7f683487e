"""How far a metric is from its bound: as a ratio, which is the same scale for a latency and for a bandwidth."""

import math

from reports.verdict.metric_verdict import MetricVerdict


def headroom(verdict: MetricVerdict) -> float | None:
    """How many times better than its nearer bound the value is: 1 at the bound, less beyond it.

    ``None`` where a ratio says nothing: without a bound or a value, at a bound of 0, of an exact one, and where value
    and bound have different signs.
    """
    value = verdict.metric.value
    if value is None or not math.isfinite(value) or verdict.lower == verdict.upper:
        return None
    ratios = [_ratio(value, bound) for bound in (verdict.lower,) if math.isfinite(bound)]
    ratios += [_ratio(bound, value) for bound in (verdict.upper,) if math.isfinite(bound)]
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if known and len(known) == len(ratios) else None


def _ratio(more: float, less: float) -> float | None:
    """``more`` over ``less``; of two negative numbers the other way round."""
    if more > 0 and less > 0:
        return more / less
    return less / more if more < 0 and less < 0 else None
