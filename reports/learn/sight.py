"""What a bound can see: the slow-down that it finds with 95 %, in one run and over a week of nights."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from reports.history.adding_up import ALLOWANCE, LEAST_EARLIER, NIGHTS, SHARE, scores, sum_limit
from reports.history.robust_statistics import Array
from reports.learn.limits import Healthy, Limits

FOUND = 0.95
_QUANTILE_OF_FOUND = 1.645
# Nothing is measured that is slower than this by a fault that leaves it running.
_MOST = 1e3


@dataclass(frozen=True)
class Sight:
    """Slow-downs as shares of the healthy value: a rate of 0.9 or a time of 1.1 times the healthy one is 0.1."""

    in_a_run: float
    in_a_week: float


def sight(sample: Healthy, limits: Limits, false_alarms: float, a_series: float, a_night: float) -> Sight | None:
    """What ``limits``, learned from ``sample``, find, of two sides the less; ``None`` of a level that is not above 0.

    ``a_series`` and ``a_night`` are how many values there are of one set of nodes, in all and in a night. Over a week
    what adds up is found, too (``adding_up``), at ``false_alarms``, the rate at which a night judges a series.
    """
    sides = [side for side, bound in ((-1, limits.lower), (1, limits.upper)) if math.isfinite(bound)]
    if not sides or limits.centre <= 0 or sample.as_measured.min() <= 0:
        return None
    runs = [_in_a_run(sample.as_measured, side, limits) for side in sides]
    weeks = [_in_a_week(sample.values, side, false_alarms / len(sides), int(a_series), a_night) for side in sides]
    return Sight(max(runs), max(map(min, runs, weeks)))


def _in_a_run(values: Array, side: int, limits: Limits) -> float:
    """By how much a value has to be worse for 95 % of healthy ones to be out of bounds.

    A new value is beyond the k-th of n with probability k / (n + 1), whatever the distribution (Wilks 1941).
    """
    ordered = np.sort(values)[::side]
    best = float(ordered[max(math.floor((1 - FOUND) * (len(values) + 1)) - 1, 0)])
    return limits.upper / best - 1 if side > 0 else 1 - limits.lower / best


def _in_a_week(values: Array, side: int, false_alarms: float, earlier: int, repeats: float) -> float:
    """The slow-down that adds up in a week of nights, from the scores that the sample's own values would have."""
    if earlier < LEAST_EARLIER:
        return math.inf
    limit = sum_limit(earlier, false_alarms * SHARE / repeats)
    number = NIGHTS * repeats

    def margin(slow_down: float) -> float:
        worse = scores(values * (1 + side * slow_down), values) * side - ALLOWANCE
        # The level before is known from as many values, which wander, too.
        wandering = math.sqrt(number * float(worse.var()) + number**2 / earlier)
        return number * float(worse.mean()) - limit - _QUANTILE_OF_FOUND * wandering

    return _root(margin, 1.0 if side < 0 else _MOST)


def _root(margin: Callable[[float], float], most: float) -> float:
    return float(optimize.brentq(margin, 0.0, most, xtol=1e-5)) if margin(most) > 0 else math.inf
