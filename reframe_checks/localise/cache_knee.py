"""Where a curve of time over memory leaves its floor: the cache that holds the problem no longer."""

import math
from collections.abc import Mapping

#: Times as long beyond the knee as within; less may be noise, or memory that is as fast as the caches.
LEAST_RISE = 1.2


def knee_bytes(times: Mapping[int, float], *, least_rise: float = LEAST_RISE) -> float | None:
    """
    The bytes at which the time has risen half of the way, in logarithms, from its floor to its top.

    In logarithms between two sizes, so that caches of which one has twice the size of the other have knees that are
    apart by this. The floor is the least of all times; a later fall back to it moves the knee behind it.

    :param times: memory that is touched, bytes -> time for each unit of work, above 0.
    :return: ``None`` where the time rises by less than ``least_rise``.
    """
    sizes = sorted(times)
    levels = [math.log(times[size]) for size in sizes]
    floor = min(levels)
    half = (floor + levels[-1]) / 2
    if levels[-1] - floor < math.log(least_rise):
        return None
    last = max(index for index, level in enumerate(levels) if level <= half)
    part = (half - levels[last]) / (levels[last + 1] - levels[last])
    first, next_one = math.log(sizes[last]), math.log(sizes[last + 1])
    return math.exp(first + part * (next_one - first))
