"""Whether a sample has one level or two."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from reports.history.robust_statistics import Array, centre_and_scale

# Two normal distributions have to be this much likelier by BIC: positive evidence (Kass & Raftery 1995). With 0, one
# skewed sample of 20 in ten would have two levels.
_EVIDENCE = 4.0
# Closer levels than this share of the level are of no consequence, however sure.
_MIN_GAP = 0.02
# Two equal normal distributions have one peak together up to this distance, in standard deviations.
_MIN_SEPARATION = 2.0
# A rarer level is a matter of outliers.
_MIN_WEIGHT = 0.1
# In robust standard deviations: the values of a level may all be equal.
_LEAST_WIDTH = 0.05
_ITERATIONS = 200
_CONVERGED = 1e-6


@dataclass(frozen=True)
class _Mixture:
    """Two normal distributions of the same width; ``weight`` is that of the lower."""

    low: float
    high: float
    width: float
    weight: float
    log_likelihood: float


def two_levels(values: Array) -> tuple[float, float] | None:
    """The two levels of a sample without outliers, or ``None`` when it has one.

    Two normal distributions of the same width against one, by the Bayesian information criterion (Schwarz 1978); the
    one may be skewed (Yeo & Johnson 2000), since times and rates are.
    """
    centre, scale = centre_and_scale(values)
    scores = (values - centre) / scale
    if np.ptp(scores) == 0:
        return None
    found = _two(scores)
    apart = found.high - found.low
    if (
        apart <= _MIN_SEPARATION * found.width
        or apart * scale <= _MIN_GAP * abs(centre)
        or not _MIN_WEIGHT <= found.weight <= 1 - _MIN_WEIGHT
    ):
        return None
    penalty = math.log(len(scores))
    # Means, width and weight of two; mean and width of one, and its skewness.
    two = 4 * penalty - 2 * found.log_likelihood
    one = min(2 * penalty - 2 * _normal(scores), 3 * penalty - 2 * _skewed(scores))
    return (centre + found.low * scale, centre + found.high * scale) if one - two > _EVIDENCE else None


def _normal(scores: Array) -> float:
    """The log-likelihood of one normal distribution."""
    return -len(scores) / 2 * (math.log(2 * math.pi * float(scores.var())) + 1)


def _skewed(scores: Array) -> float:
    """The log-likelihood of one that is normal after a power transformation."""
    without_constant = float(stats.yeojohnson_llf(stats.yeojohnson_normmax(scores), scores))
    return without_constant - len(scores) / 2 * (math.log(2 * math.pi) + 1)


def _log_density(scores: Array, mean: float, width: float) -> Array:
    """Of a normal distribution; SciPy's own takes ten times as long for so few values."""
    return -0.5 * ((scores - mean) / width) ** 2 - math.log(width * math.sqrt(2 * math.pi))


def _two(scores: Array) -> _Mixture:
    """By expectation and maximisation (Dempster et al. 1977), from the cut that leaves the least variance."""
    ordered = np.sort(scores)
    n = len(ordered)
    left = np.arange(1, n)
    between = (np.cumsum(ordered)[:-1] - left * ordered.mean()) ** 2 / (left * (n - left))
    upper = np.where(scores > ordered[int(np.argmax(between))], 1.0, 0.0)
    before = -math.inf
    for _ in range(_ITERATIONS):
        weight = float(np.mean(1 - upper))
        low, high = float(np.average(scores, weights=1 - upper)), float(np.average(scores, weights=upper))
        variance = float(np.mean((1 - upper) * (scores - low) ** 2 + upper * (scores - high) ** 2))
        width = max(math.sqrt(variance), _LEAST_WIDTH)
        in_low = math.log(weight) + _log_density(scores, low, width)
        in_high = math.log(1 - weight) + _log_density(scores, high, width)
        either = np.logaddexp(in_low, in_high)
        likelihood = float(either.sum())
        if likelihood - before < _CONVERGED:
            break
        before, upper = likelihood, np.exp(in_high - either)
    return _Mixture(low, high, width, weight, likelihood)
