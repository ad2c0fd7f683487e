"""Robust statistics of a series: a value against earlier ones, change points, one mode or two."""

import math
from dataclasses import dataclass

import numpy as np
import ruptures
from numpy.typing import NDArray
from scipy import special, stats

Array = NDArray[np.float64]

# MAD of a normal distribution is 0.6745 sigma (Rousseeuw & Croux 1993).
_MAD_TO_SIGMA = 1.4826
# A series of equal values has no noise of its own; below this share of its median nothing counts as a change.
_SCALE_FLOOR = 0.005
# Fewer values than this on a side of a change point are no level.
MIN_SEGMENT = 3


def centre_and_scale(values: Array) -> tuple[float, float]:
    """Median, and the standard deviation estimated from the MAD, at least 0.5 % of the median."""
    median = float(np.median(values))
    deviation = float(np.median(np.abs(values - median))) * _MAD_TO_SIGMA
    return median, max(deviation, _SCALE_FLOOR * abs(median))


def robust_z(value: float, earlier: Array) -> float:
    """Distance of ``value`` from the median of ``earlier`` in robust standard deviations; infinite without any."""
    median, scale = centre_and_scale(earlier)
    if not scale:
        return math.copysign(math.inf, value - median) if value != median else 0.0
    return (value - median) / scale


def commonest(values: Array) -> int:
    """How many of the values are one and the same."""
    return int(np.unique(values, return_counts=True)[1].max())


def rank_scan_p(values: Array) -> tuple[float, int]:
    """Whether the ranks before some point differ from those after it: p-value and the likeliest point.

    Mann-Whitney's statistic at every point, by Bonferroni over the points. Ranks only, so that neither outliers nor
    two modes in random order matter.
    """
    n = len(values)
    ranks = stats.rankdata(values)
    left = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    if not len(left) or ranks.std() == 0:
        return 1.0, 0
    excess = np.abs(np.cumsum(ranks)[left - 1] - left * (n + 1) / 2)
    # Ties reduce the variance of ranks, n (n + 1) / 12 without. A side where hardly any but the commonest value is
    # expected is far from normal: there the larger variance keeps two rare values in a row from being a level.
    few = np.minimum(left, n - left) * (n - commonest(values)) < 5 * n
    z = excess / np.sqrt(left * (n - left) * np.where(few, n * (n + 1) / 12, ranks.var(ddof=1)) / n)
    p = 2 * stats.norm.sf(z)
    # With few values on one side the normal distribution says nothing; full separation has an exact p-value.
    highest, lowest = np.maximum.accumulate(values), np.minimum.accumulate(values)
    highest_after, lowest_after = np.maximum.accumulate(values[::-1])[::-1], np.minimum.accumulate(values[::-1])[::-1]
    apart = (highest[left - 1] < lowest_after[left]) | (lowest[left - 1] > highest_after[left])
    p = np.where(apart, np.minimum(p, 2 / special.comb(n, left)), p)
    best = int(np.argmin(p))
    return min(1.0, float(p[best]) * len(left)), int(left[best])


def trend_p(values: Array) -> float:
    """Kendall's tau against time (Mann 1945): finds a steady drift in few values, where no level lasts."""
    p = float(stats.kendalltau(np.arange(len(values)), values).pvalue)
    return 1.0 if math.isnan(p) else p  # all values are equal


def two_sample_p(one: Array, other: Array) -> float:
    """Mann-Whitney: the probability that two samples of one distribution differ as much."""
    return float(stats.mannwhitneyu(one, other).pvalue)


def change_points(values: Array) -> list[int]:
    """Indices at which a new level begins (PELT, Killick et al. 2012), on normal scores: outliers have little pull."""
    n = len(values)
    scores = stats.norm.ppf((stats.rankdata(values) - 0.5) / n)
    # Scores have variance 1 whatever the levels; within levels it is what is left of it.
    noise = min(1.0, float(np.median(np.abs(np.diff(scores)))) / 0.6745 / math.sqrt(2))
    search = ruptures.KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(scores.reshape(-1, 1))
    return [int(point) for point in search.predict(pen=4 * max(noise, 0.05) ** 2 * math.log(n))[:-1]]


@dataclass(frozen=True)
class Modes:
    """Two clusters of values; ``separation`` is Ashman's D (Ashman et al. 1994), above 2 for a clean split."""

    low: float
    high: float
    separation: float


# A single normal distribution cut in two has D = 2.7, a uniform one 3.5.
_CLEAR_SEPARATION = 5.0


def two_modes(values: Array) -> Modes | None:
    """The two modes of a bimodal sample, each with at least a tenth of the values and three, or ``None``."""
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
    """Whether two modes alternate less often than in random order (runs test, Wald & Wolfowitz 1940); 1 without."""
    modes = two_modes(values)
    if modes is None:
        return 1.0
    high = values > (modes.low + modes.high) / 2
    n, pairs = len(values), 2.0 * int(high.sum()) * int((~high).sum())
    runs = 1 + int(np.count_nonzero(high[1:] != high[:-1]))
    deviation = math.sqrt(pairs * (pairs - n) / (n * n * (n - 1)))
    return float(stats.norm.cdf((runs - 1 - pairs / n) / deviation))
