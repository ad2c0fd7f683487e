"""Which way of a metric is worse: as its bounds say, or else its unit."""

import math

_LOW_IS_GOOD = frozenset({"s", "ms", "us", "ns", "W", "J"})


def worse_sign(lower: float, upper: float, unit: str) -> int:
    """+1 when higher is worse, -1 when lower is worse, 0 when either is."""
    if math.isfinite(lower) != math.isfinite(upper):
        return 1 if math.isfinite(upper) else -1
    if math.isfinite(lower):
        return 0
    if unit in _LOW_IS_GOOD:
        return 1
    return -1 if unit.endswith("/s") or unit == "IOPS" else 0
