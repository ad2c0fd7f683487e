"""Step or drift: whether a straight line explains the newest part of a series better than levels do."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from reports.history.robust_statistics import MIN_SEGMENT, Array


@dataclass(frozen=True)
class Line:
    """A straight line from the value ``start`` to the newest one, and its heights there."""

    start: int
    first: float
    last: float
    slope: float

    def levelled(self, values: Array) -> Array:
        """The values from ``start`` on as they would be without the slope, at the height of the newest."""
        return values[self.start :] + self.slope * np.arange(len(values) - self.start)[::-1]

    def onset(self, level: float, earliest: int) -> int:
        """Where the line leaves ``level``: the first change point comes when a drift is well under way."""
        return max(self.start + round((level - self.first) / self.slope), earliest)


def find_line(values: Array, points: list[int]) -> Line | None:
    """The line (Theil-Sen) after levels that explains the series better than levels alone.

    By BIC on absolute residuals.
    ``points`` are the change points; the line begins at the first value or at one of them.
    """
    n = len(values)
    edges = [0, *points, n]
    medians = [float(np.median(values[a:b])) for a, b in itertools.pairwise(edges)]
    residuals = values - np.repeat(medians, np.diff(edges))
    best, least = None, _cost(residuals, len(points))
    for number in _starts(medians):
        start = edges[number]
        if n - start < 2 * MIN_SEGMENT:
            continue
        slope, intercept, *_ = stats.theilslopes(values[start:])
        fitted = intercept + slope * np.arange(n - start)
        cost = _cost(np.concatenate([residuals[:start], values[start:] - fitted]), number + 1)
        if cost < least:
            best, least = Line(start, float(fitted[0]), float(fitted[-1]), float(slope)), cost
    return best


def _starts(medians: list[float]) -> list[int]:
    """The first level, and those from which on all steps go the same way: as such a staircase levels see a drift."""
    ups = [after > before for before, after in itertools.pairwise(medians)]
    number = len(medians) - 1
    starts = [number]
    while number and all(up == ups[-1] for up in ups[number - 1 :]):
        number -= 1
        starts.append(number)
    return starts if starts[-1] == 0 else [*starts, 0]


def _cost(residuals: Array, changes: int) -> float:
    n = len(residuals)
    tiny = float(np.finfo(float).tiny)
    return math.log(float(np.abs(residuals).mean()) + tiny) + 2 * changes * math.log(n) / n
