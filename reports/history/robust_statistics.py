"""Compute robust statistics of a series: levels, change points, modes, tails, and patterns by weekday or hour."""

import math
import time
from dataclasses import dataclass

import numpy as np
import ruptures
from numpy.typing import NDArray
from scipy import ndimage, optimize, special, stats

from kappa.core.ground.spread import MAD_TO_SIGMA, robust_deviation

Array = NDArray[np.float64]

# The least standard deviation as a share of the median, because a series of equal values has no noise.
_SCALE_FLOOR = 0.005
# The least number of values on a side of a change point.
MIN_SEGMENT = 3
# A single normal distribution cut in two has D = 2.7, a uniform one 3.5.
_CLEAR_SEPARATION = 5.0
# Degrees of freedom, the last practically normal, and their prior probabilities.
_FREEDOM = np.array([1.5, 2.0, 3.0, 5.0, 10.0, 1000.0])[:, None]
_PRIOR = np.array([0.02, 0.03, 0.05, 0.1, 0.2, 0.6])[:, None]
# Widths, as multiples of the width that the median distance gives for normal noise.
_WIDTHS = np.geomspace(0.25, 4.0, 61)
_LOG_CONSTANT = stats.t.logpdf(0.0, _FREEDOM)
# The probability of a pattern in a series without one.
_FALSE_PATTERNS = 0.001
# The least number of values of a weekday or an hour, and of periods, for a pattern.
_LEAST = 3
_DAY_S = 86400.0


def centre_and_scale(values: Array) -> tuple[float, float]:
    """Return the median, and the standard deviation estimated from the MAD, at least 0.5 % of the median."""
    median = float(np.median(values))
    return median, max(robust_deviation(values), _SCALE_FLOOR * abs(median))


def robust_z(value: float, earlier: Array) -> float:
    """Return the distance of ``value`` from the median of ``earlier`` in robust standard deviations.

    The distance is infinite if ``earlier`` has no deviation.
    """
    median, scale = centre_and_scale(earlier)
    if not scale:
        return math.copysign(math.inf, value - median) if value != median else 0.0
    return (value - median) / scale


def commonest(values: Array) -> int:
    """Return how often the most frequent value occurs."""
    return int(np.unique(values, return_counts=True)[1].max())


def rank_scan_p(values: Array) -> tuple[float, int]:
    """Test whether the ranks before some point differ from those after it; return p-value and likeliest point.

    The test uses Mann-Whitney's statistic at every point, with Bonferroni over the points. It uses only ranks, so
    neither outliers nor two modes in random order matter.
    """
    n = len(values)
    ranks = stats.rankdata(values)
    left = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    if not len(left) or ranks.std() == 0:
        return 1.0, 0
    excess = np.abs(np.cumsum(ranks)[left - 1] - left * (n + 1) / 2)
    # Ties reduce the variance of ranks below n (n + 1) / 12. A side with almost only the most frequent value is far
    # from normal. There the larger variance prevents that two rare values in a row count as a level.
    few = np.minimum(left, n - left) * (n - commonest(values)) < 5 * n
    z = excess / np.sqrt(left * (n - left) * np.where(few, n * (n + 1) / 12, ranks.var(ddof=1)) / n)
    p = 2 * stats.norm.sf(z)
    # With few values on one side the normal approximation fails; full separation has an exact p-value.
    highest, lowest = np.maximum.accumulate(values), np.minimum.accumulate(values)
    highest_after, lowest_after = np.maximum.accumulate(values[::-1])[::-1], np.minimum.accumulate(values[::-1])[::-1]
    apart = (highest[left - 1] < lowest_after[left]) | (lowest[left - 1] > highest_after[left])
    p = np.where(apart, np.minimum(p, 2 / special.comb(n, left)), p)
    best = int(np.argmin(p))
    return min(1.0, float(p[best]) * len(left)), int(left[best])


def trend_p(values: Array) -> float:
    """Return the p-value of Kendall's tau against time (Mann 1945); it finds a steady drift in few values."""
    p = float(stats.kendalltau(np.arange(len(values)), values).pvalue)
    return 1.0 if math.isnan(p) else p  # all values are equal


def two_sample_p(one: Array, other: Array) -> float:
    """Return Mann-Whitney's p-value: the probability that two samples of one distribution differ as much."""
    return float(stats.mannwhitneyu(one, other).pvalue)


def change_points(values: Array) -> list[int]:
    """Return the indices at which a new level begins (PELT, Killick et al. 2012).

    The search uses normal scores, so outliers have little effect.
    """
    n = len(values)
    scores = stats.norm.ppf((stats.rankdata(values) - 0.5) / n)
    # Scores have variance 1 in all; the variance within the levels is smaller.
    noise = min(1.0, float(np.median(np.abs(np.diff(scores)))) / 0.6745 / math.sqrt(2))
    search = ruptures.KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(scores.reshape(-1, 1))
    return [int(point) for point in search.predict(pen=4 * max(noise, 0.05) ** 2 * math.log(n))[:-1]]


@dataclass(frozen=True)
class Modes:
    """Hold two clusters of values; ``separation`` is Ashman's D (Ashman et al. 1994), above 2 for a clean split."""

    low: float
    high: float
    separation: float


def two_modes(values: Array) -> Modes | None:
    """Return the two modes of a bimodal sample, each with at least three values and a tenth of all, or ``None``."""
    ordered = np.sort(values)
    n = len(ordered)
    least = max(3, math.ceil(n / 10))
    if n < 2 * least:
        return None
    left = np.arange(least, n - least + 1)
    sums, squares = np.cumsum(ordered - ordered.mean()), np.cumsum((ordered - ordered.mean()) ** 2)
    below, above = sums[left - 1], sums[-1] - sums[left - 1]
    within = squares[-1] - below**2 / left - above**2 / (n - left)
    cut = int(left[int(np.argmin(within))])
    low, high = ordered[:cut], ordered[cut:]
    spread = math.sqrt((low.var(ddof=1) + high.var(ddof=1)) / 2)
    gap = float(high.mean() - low.mean())
    floor = _SCALE_FLOOR * abs(float(np.median(values)))
    separation = gap / max(spread, floor, np.finfo(float).tiny)
    return Modes(float(np.median(low)), float(np.median(high)), separation) if separation > _CLEAR_SEPARATION else None


def alternation_p(values: Array) -> float:
    """Return the p-value that two modes alternate less often than in random order; 1 without two modes.

    The test is the runs test (Wald & Wolfowitz 1940).
    """
    modes = two_modes(values)
    if modes is None:
        return 1.0
    high = values > (modes.low + modes.high) / 2
    n, pairs = len(values), 2.0 * int(high.sum()) * int((~high).sum())
    runs = 1 + int(np.count_nonzero(high[1:] != high[:-1]))
    deviation = math.sqrt(pairs * (pairs - n) / (n * n * (n - 1)))
    return float(stats.norm.cdf((runs - 1 - pairs / n) / deviation))


@dataclass(frozen=True)
class HalfTMixture:
    """Hold a mixture of half-t distributions: ``weights`` by degrees of freedom and width."""

    widths: Array
    weights: Array

    def beyond(self, distance: float) -> float:
        """Return the probability that a value of this side is further out than ``distance``."""
        return float((self.weights * 2 * special.stdtr(_FREEDOM, -distance / self.widths)).sum())

    def reach(self, probability: float) -> float:
        """Return the distance that a value of this side exceeds with ``probability``."""
        low, high = self.widths[0] * 1e-3, self.widths[-1] * 1e6
        return float(optimize.brentq(lambda distance: self.beyond(distance) - probability, low, high, rtol=1e-6))


def tail(distances: Array, least_width: float) -> HalfTMixture:
    """Return the tail of the values with these ``distances`` from the median; ``least_width`` is greater than 0.

    The distances follow half of Student's t with unknown degrees of freedom and width. Each pair of a grid counts by
    its likelihood (Bayes). So a small sample has a longer reach than a large one, and heavy tails than normal noise.
    """
    width = max(MAD_TO_SIGMA * float(np.median(distances)), least_width) if len(distances) else least_width
    widths = width * _WIDTHS
    squares = (distances[:, None, None] / widths) ** 2
    log = -(_FREEDOM + 1) / 2 * np.log1p(squares / _FREEDOM).sum(0) + len(distances) * (_LOG_CONSTANT - np.log(widths))
    weights = _PRIOR * np.exp(log - log.max())
    return HalfTMixture(widths, weights / weights.sum())


def side_of(distances: Array) -> Array:
    """Return the distances of the positive side: half of the values, also if many equal the median.

    Equal distances, for instance of few digits, are spread over the rounding interval; otherwise they have no noise.
    """
    upper = np.sort(distances)[len(distances) // 2 :].clip(0)
    distinct, count = np.unique(upper, return_counts=True)
    step = np.diff(distinct).min() if len(distinct) > 1 else 0.0
    place = np.concatenate([(np.arange(number) + 0.5) / number - 0.5 for number in count])
    return np.abs(upper + step * place)


def accidents(distances: Array, least_width: float, false_alarms: float, most: int) -> int:
    """Return how many of the furthest ``distances`` do not belong to the tail of the others, at most ``most``.

    Among as many healthy values, one is as far out as the nearest of them with probability below ``false_alarms``.
    """
    ordered = np.sort(distances)
    for count in range(min(most, len(ordered) - 1), 0, -1):
        rest = tail(ordered[:-count], least_width)
        if rest.beyond(float(ordered[-count])) * len(ordered) < false_alarms:
            return count
    return 0


def reach_of(distances: Array, least_width: float, false_alarms: float) -> float:
    """Return the distance that a healthy value of this side exceeds with probability ``false_alarms``.

    The distance is at least the largest of ``distances``.
    """
    furthest = float(distances.max()) if len(distances) else 0.0
    return max(tail(distances, least_width).reach(false_alarms), furthest)


@dataclass(frozen=True)
class PeriodicPattern:
    """Hold a pattern. ``effects``: the part of each value due to its weekday or hour, in the metric's unit."""

    period: str
    effects: Array
    phases: int


def find_pattern(values: Array, times: Array) -> PeriodicPattern | None:
    """Return the pattern of ``values`` by weekday, or else by hour, in local time; ``times`` in s since 1970."""
    days = times[-1] - times[0] if len(times) else 0.0
    if len(values) < 2 * _LEAST or days < _LEAST * _DAY_S:
        return None
    moments = [time.localtime(moment) for moment in times]
    for period, seconds, phases in (
        ("weekday", 7 * _DAY_S, np.array([moment.tm_wday for moment in moments])),
        ("hour", _DAY_S, np.array([moment.tm_hour for moment in moments])),
    ):
        if days >= _LEAST * seconds and (found := _recurring(values, period, phases, len(values) * seconds / days)):
            return found
    return None


def _recurring(values: Array, period: str, phases: NDArray[np.int_], a_period: float) -> PeriodicPattern | None:
    """Return the pattern, or ``None``, by Kruskal and Wallis (1952).

    The test uses the distance of each value from the median of ``a_period`` values around it.
    """
    _, phase, count = np.unique(phases, return_inverse=True, return_counts=True)
    if len(count) < 2 or count.min() < _LEAST:
        return None
    level = ndimage.median_filter(values, size=max(_LEAST, round(a_period)) | 1, mode="nearest")
    n, distances = len(values), values - level
    ranks = stats.rankdata(distances)
    between = float((np.bincount(phase, ranks - (n + 1) / 2) ** 2 / count).sum()) / max(float(ranks.var(ddof=1)), 1.0)
    if stats.chi2.sf(between, len(count) - 1) >= _FALSE_PATTERNS:
        return None
    medians = np.array([np.median(distances[phase == number]) for number in range(len(count))])
    effects = medians[phase] - np.median(medians[phase])
    return PeriodicPattern(period, effects, len(count))
