"""Evidence that adds up: values that are each within the noise, and together are not.

A CUSUM (Page 1954) over the values of the newest nights. What each value counts is the normal score of its rank among
the values of before (van der Waerden 1952), so that the rate of false alarms does not depend on their distribution.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from reports.history.findings import Finding, Kind
from reports.history.robust_statistics import Array, robust_z

#: Nights whose values are held against those of before.
NIGHTS = 7
#: Seconds after its first value in which what is measured is of the same night.
NIGHT_S = 12 * 3600.0
#: Fewer earlier values know no level.
LEAST_EARLIER = 20
#: What a value has to exceed to count, in standard deviations: half of the shift that is found soonest.
ALLOWANCE = 0.75
#: Of the false alarms that a judgement is allowed, as it stays a while.
SHARE = 1 / 3
# Siegmund (1985): a sum that is looked at once per value overshoots its limit by this.
_OVERSHOOT = 1.166
# Values of one night that are more alike than chance makes them with this probability are not independent.
_ALIKE = 0.05
_LEAST_NIGHTS = 8


def nights_of(times: Array) -> NDArray[np.int_]:
    """The number of the night of each value; a night ends half a day after its first value."""
    numbers = np.zeros(len(times), int)
    first = times[0] if len(times) else 0.0
    for index in range(1, len(times)):
        numbers[index] = numbers[index - 1]
        if times[index] - first > NIGHT_S:
            numbers[index] += 1
            first = times[index]
    return numbers


def find_adding_up(values: Array, nights: NDArray[np.int_], sign: int, false_alarms: float) -> list[Finding]:
    """A finding when the values of the newest nights are worse than those of before, by two of them at least.

    ``sign`` as ``worse_sign`` gives it; ``false_alarms`` is the probability of a new alarm in a night.
    """
    newest = int(np.searchsorted(nights, nights[-1] - NIGHTS + 1)) if len(values) else 0
    earlier = values[:newest]
    if len(earlier) < LEAST_EARLIER:
        return []
    repeats = (len(values) - newest) / len(np.unique(nights[newest:]))
    limit = sum_limit(newest, false_alarms / repeats / (1 if sign else 2))
    independent = scores(values[newest:], earlier) / likeness(earlier, nights[:newest])
    for side in (sign,) if sign else (-1, 1):
        start = _start(side * independent, limit)
        if start is not None:
            before, after = float(np.median(earlier)), float(np.median(values[newest + start :]))
            found = Finding(Kind.STEP, before, after, robust_z(float(values[-1]), earlier), newest + start)
            return [found] if found.matters else []
    return []


def _start(worse: Array, limit: float) -> int | None:
    """From which value on they add up to more than ``limit``."""
    total, start = 0.0, 0
    for index, score in enumerate(worse):
        if total <= 0:
            total, start = 0.0, index
        total += score - ALLOWANCE
    return start if total > limit and len(worse) - start > 1 else None


def scores(values: Array, earlier: Array) -> Array:
    """The normal score of each value's rank among ``earlier``."""
    ordered = np.sort(earlier)
    rank = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    found: Array = special.ndtri((rank + 0.5) / (len(earlier) + 1))
    return found


def likeness(earlier: Array, nights: NDArray[np.int_]) -> float:
    """By how much the mean of a night wanders more than that of as many independent values; 1 when no more."""
    own = scores(earlier, earlier)
    _, night, count = np.unique(nights, return_inverse=True, return_counts=True)
    several = count > 1
    freedom = int(several.sum())
    if freedom < _LEAST_NIGHTS:
        return 1.0
    means = (np.bincount(night, own) / np.sqrt(count))[several]
    excess = float((means**2).mean() / own.var())
    return math.sqrt(excess) if excess > stats.chi2.ppf(1 - _ALIKE, freedom) / freedom else 1.0


@functools.lru_cache(4096)
def sum_limit(earlier: int, false_alarms: float) -> float:
    """The sum that is exceeded anew with probability ``false_alarms`` at a value.

    Siegmund's approximation, averaged over the errors of the level that so many ``earlier`` values know.
    """
    errors = np.linspace(-6, 6, 241)
    weights = stats.norm.pdf(errors)
    weights /= weights.sum()
    allowance = ALLOWANCE - errors / math.sqrt(earlier)

    def excess(limit: float) -> float:
        return math.log(weights @ _rate(allowance, limit) / false_alarms)

    return float(optimize.brentq(excess, -1.0, 1e4, xtol=1e-3))


def _rate(allowance: Array, limit: float) -> Array:
    """How often a sum of values of mean 0 exceeds ``limit``: one over the average run length."""
    twice = 2 * np.where(np.abs(allowance) < 1e-4, 1e-4, allowance)
    reach = np.clip(twice * (limit + _OVERSHOOT), -500, 500)
    rate: Array = np.minimum(twice**2 / 2 / (np.expm1(reach) - reach), 1.0)
    return rate
