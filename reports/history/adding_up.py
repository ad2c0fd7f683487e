"""Find evidence that adds up: each value is within the noise, but together they are not.

Three ways: the newest nights of one series, a node compared with its equals, and all checks of one node together.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from reports.history.dataset import MetricSeries
from reports.history.findings import MIN_CHANGE, FindingKind, SeriesFinding
from reports.history.robust_statistics import Array, centre_and_scale, robust_z

#: The number of newest nights that are compared with the earlier ones.
NIGHTS = 7
#: Values within so many seconds after the first value of a night belong to the same night.
NIGHT_S = 12 * 3600.0
#: The least number of earlier values for a level.
LEAST_EARLIER = 20
#: A value counts above this, in standard deviations: half of the shift that is found soonest.
ALLOWANCE = 0.75
#: Share of the allowed false positives for this judgement, whose findings stay a while.
SHARE = 1 / 3
# Siegmund (1985): a sum that is checked once per value exceeds its limit by this on average.
_OVERSHOOT = 1.166
# If the values of a night are so alike that chance makes them so with this probability, they are not independent.
_ALIKE = 0.05
_LEAST_NIGHTS = 8
LEAST_EQUALS = 3
# More equals add nothing.
_MOST_EQUALS = 20
# From so many nodes on, their differences show how equal sound nodes are. For fewer nodes, half of the least change
# that matters is assumed.
_ENOUGH_EQUALS = 8
_TAKEN_TO_DIFFER = MIN_CHANGE / 2
_LEAST_VALUES = 4
LEAST_CHECKS = 2


def nights_of(times: Array) -> NDArray[np.int_]:
    """Return the number of the night of each value (shape as ``times``); a night ends half a day after its first value.

    :param times: ascending, in seconds since 1970.
    """
    numbers = np.zeros(len(times), int)
    first = times[0] if len(times) else 0.0
    for index in range(1, len(times)):
        numbers[index] = numbers[index - 1]
        if times[index] - first > NIGHT_S:
            numbers[index] += 1
            first = times[index]
    return numbers


def find_adding_up(values: Array, nights: NDArray[np.int_], sign: int, false_alarms: float) -> list[SeriesFinding]:
    """Return a finding if at least two values of the newest nights together are worse than the earlier values.

    The method is a CUSUM (Page 1954) over the newest nights. A value counts by the normal score of its rank among
    earlier values (van der Waerden 1952), so the rate of false positives does not depend on their distribution.

    :param nights: the number of the night of each value.
    :param sign: see ``worse_sign``.
    :param false_alarms: the probability of a new false positive in a night.
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
            found = SeriesFinding(FindingKind.STEP, before, after, robust_z(float(values[-1]), earlier), newest + start)
            return [found] if found.matters else []
    return []


def _start(worse: Array, limit: float) -> int | None:
    """Return the index from which on the scores add up to more than ``limit``, or ``None``."""
    total, start = 0.0, 0
    for index, score in enumerate(worse):
        if total <= 0:
            total, start = 0.0, index
        total += score - ALLOWANCE
    return start if total > limit and len(worse) - start > 1 else None


def scores(values: Array, earlier: Array) -> Array:
    """Return the normal score of each value's rank among ``earlier``."""
    ordered = np.sort(earlier)
    rank = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    found: Array = special.ndtri((rank + 0.5) / (len(earlier) + 1))
    return found


def likeness(earlier: Array, nights: NDArray[np.int_]) -> float:
    """Return how much more the mean of a night varies than the mean of as many independent values; at least 1."""
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
    """Return the sum that a value newly exceeds with probability ``false_alarms``.

    This is Siegmund's approximation, averaged over the error of a level known from ``earlier`` values.
    """
    errors = np.linspace(-6, 6, 241)
    weights = stats.norm.pdf(errors)
    weights /= weights.sum()
    allowance = ALLOWANCE - errors / math.sqrt(earlier)

    def excess(limit: float) -> float:
        return math.log(weights @ _rate(allowance, limit) / false_alarms)

    return float(optimize.brentq(excess, -1.0, 1e4, xtol=1e-3))


def _rate(allowance: Array, limit: float) -> Array:
    """Return how often a sum of values with mean 0 exceeds ``limit``: 1 / average run length."""
    twice = 2 * np.where(np.abs(allowance) < 1e-4, 1e-4, allowance)
    reach = np.clip(twice * (limit + _OVERSHOOT), -500, 500)
    rate: Array = np.minimum(twice**2 / 2 / (np.expm1(reach) - reach), 1.0)
    return rate


def with_equals(series: Sequence[MetricSeries]) -> Iterator[tuple[MetricSeries, list[MetricSeries]]]:
    """Yield each series with the series of the same case and metric on other nodes; none for one of several nodes."""
    same: dict[tuple[str, ...], list[MetricSeries]] = defaultdict(list)
    for one in series:
        same[one.key if one.of_one_node else ()].append(one)
    for key, members in same.items():
        # Take the series after this one, then continue with the first.
        around, most = [*members, *members[:_MOST_EQUALS]], min(_MOST_EQUALS, len(members) - 1)
        for at, one in enumerate(members):
            yield one, around[at + 1 : at + 1 + most] if key else []


def find_odd(series: MetricSeries, equals: Sequence[MetricSeries], false_alarms: float) -> SeriesFinding | None:
    """Return a finding if the values of a node's newest nights are worse than the values of its equals since then.

    A change on all nodes is no difference. The test uses the mean of the normal scores. Its variance is the sum of the
    variances of the values, of the level of the equals, and of the differences between sound nodes.
    """
    nights = nights_of(series.times)
    start = int(np.searchsorted(nights, nights[-1] - NIGHTS + 1))
    newest, since = series.values[start:], series.times[start] - NIGHT_S
    if not series.sign or len(newest) < _LEAST_VALUES:
        return None
    others = [other.values[other.times >= since] for other in equals]
    others = [values for values in others if len(values) >= _LEAST_VALUES]
    if len(others) < LEAST_EQUALS:
        return None
    pool = np.concatenate(others)
    if len(pool) < LEAST_EARLIER:
        return None
    alike = likeness(series.values, nights) if len(series.values) >= LEAST_EARLIER else 1.0
    variance = alike**2 / len(newest) + 1 / len(pool) + _differences(others, pool)
    z = series.sign * float(scores(newest, pool).mean()) / math.sqrt(variance)
    if stats.norm.sf(z) >= false_alarms:
        return None
    before, after = float(np.median(pool)), float(np.median(newest))
    found = SeriesFinding(FindingKind.ODD, before, after, z, start)
    return found if found.matters else None


def _differences(others: Sequence[Array], pool: Array) -> float:
    """Return the variance of the levels of sound nodes, in units of the values' variance."""
    centre, scale = centre_and_scale(pool)
    if len(others) < _ENOUGH_EQUALS:
        return (_TAKEN_TO_DIFFER * centre / scale) ** 2 if scale else 0.0
    counts = np.array([len(values) for values in others])
    means = np.add.reduceat(scores(pool, pool), np.cumsum(counts) - counts) / counts
    return max(0.0, float(means.var(ddof=1) - (1 / counts).mean()))


def together(series: Sequence[MetricSeries]) -> Iterator[MetricSeries]:
    """Yield for each node that several checks measured a series of its speed per night, as a share of the usual speed.

    A value is the mean over the checks, each weighted by its precision. Metrics of one check are averaged first,
    because they are not independent. Nights with only one check are left out.
    """
    of_node: dict[tuple[str, str], list[MetricSeries]] = defaultdict(list)
    for one in series:
        fit = one.gates and one.sign and len(one.values) >= LEAST_EARLIER and one.values.min() > 0
        if fit and one.of_one_node:
            of_node[one.partition, one.nodes].append(one)
    for members in of_node.values():
        checks = sorted({one.check_class for one in members})
        if len(checks) >= LEAST_CHECKS:
            yield from _together(members, checks)


def _together(members: Sequence[MetricSeries], checks: Sequence[str]) -> Iterator[MetricSeries]:
    times = np.unique(np.concatenate([one.times for one in members]))
    nights = nights_of(times)
    # The mean speed in each check and night, where it was measured.
    sums, counts = np.zeros((2, len(checks), nights[-1] + 1))
    rows = [""] * (nights[-1] + 1)
    for one in members:
        night = nights[np.searchsorted(times, one.times)]
        check = checks.index(one.check_class)
        sums[check] += np.bincount(night, _relative(one), len(rows))
        counts[check] += np.bincount(night, minlength=len(rows))
        for number, row in zip(night, one.rows, strict=True):
            rows[number] = row
    measured = counts > 0
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=measured)
    precision = [centre_and_scale(mean[there])[1] ** -2 for mean, there in zip(means, measured, strict=True)]
    weights = measured * np.array(precision)[:, None]
    several = measured.sum(0) >= LEAST_CHECKS
    if several.any():
        yield replace(
            members[0], check_class="", case=f"{len(checks)} checks together", metric="relative speed", environ="",
            unit="", lower=0.0, upper=np.inf, family="", informational=False, of_node=False,
            values=((weights * means).sum(0) / weights.sum(0).clip(1e-300))[several],
            times=times[np.searchsorted(nights, np.flatnonzero(several))],
            rows=tuple(rows[number] for number in np.flatnonzero(several)),
        )  # fmt: skip


def _relative(series: MetricSeries) -> Array:
    """Return the values relative to their median: 1 is usual, less is worse."""
    usual = float(np.median(series.values))
    return series.values / usual if series.sign < 0 else usual / series.values
