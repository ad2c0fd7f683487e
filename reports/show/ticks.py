"""Round steps along an axis."""

import math


def round_steps(start: float, end: float) -> list[float]:
    """Some four multiples of 1, 2 or 5 times a power of ten between ``start`` and ``end``, which is larger."""
    rough = (end - start) / 4
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(decade * factor for factor in (1, 2, 5, 10) if decade * factor >= rough)
    return [number * step for number in range(math.ceil(start / step), math.floor(end / step) + 1)]
