"""Compute centre and bounds from a sample of healthy runs, or refuse the sample with a reason."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from reports.history.findings import FindingKind, SeriesFinding
from reports.history.judgement import unsteady
from reports.history.robust_statistics import (
    Array,
    PeriodicPattern,
    accidents,
    centre_and_scale,
    find_pattern,
    reach_of,
    side_of,
)

# The least advantage of two normal distributions by BIC: positive evidence (Kass & Raftery 1995). With 0, one in ten
# skewed samples of 20 values would have two levels.
_EVIDENCE = 4.0
# A smaller gap between levels, as a share of the level, does not matter.
_MIN_GAP = 0.02
# Up to this distance, in standard deviations, two equal normal distributions have one common peak.
_MIN_SEPARATION = 2.0
# A level with a smaller share of the values counts as outliers.
_MIN_WEIGHT = 0.1
# In robust standard deviations: the values of a level may all be equal.
_LEAST_WIDTH = 0.05
_ITERATIONS = 200
_CONVERGED = 1e-6
MIN_SAMPLES = 20
# The probability that a steady sample is refused as unsteady.
_FALSE_REFUSALS = 0.001
# The probability of an outlier in a healthy sample.
_FALSE_OUTLIERS = 0.01
# The largest share of outliers in an accepted sample.
MAX_OUTLIERS = 0.05
# Up to this share of the values, outliers are tested for a level of their own.
_LEVEL = 0.2
# Outliers closer together than this share of their distance from the other values form a level of their own.
_TOGETHER = 0.25
_MEAN_DEVIATION_TO_SIGMA = 1.2533
_TWO_LEVELS = "the sample has two levels, {:.4g} and {:.4g}; the reference does not distinguish their cause"


@dataclass(frozen=True)
class _Mixture:
    """Hold two normal distributions of the same width; ``weight`` belongs to the lower one."""

    low: float
    high: float
    width: float
    weight: float
    log_likelihood: float


def two_levels(values: Array) -> tuple[float, float] | None:
    """Return the two levels of a sample without outliers, or ``None`` if it has one level.

    The Bayesian information criterion (Schwarz 1978) compares two normal distributions of the same width with one. The
    single distribution may be skewed (Yeo & Johnson 2000), as times and rates are.
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
    # Parameters: two means, width and weight; for one distribution mean and width, and its skewness.
    two = 4 * penalty - 2 * found.log_likelihood
    normal = -len(scores) / 2 * (math.log(2 * math.pi * float(scores.var())) + 1)
    one = min(2 * penalty - 2 * normal, 3 * penalty - 2 * _skewed(scores))
    return (centre + found.low * scale, centre + found.high * scale) if one - two > _EVIDENCE else None


def _skewed(scores: Array) -> float:
    """Return the log-likelihood of one distribution that is normal after a power transformation."""
    without_constant = float(stats.yeojohnson_llf(stats.yeojohnson_normmax(scores), scores))
    return without_constant - len(scores) / 2 * (math.log(2 * math.pi) + 1)


def _log_density(scores: Array, mean: float, width: float) -> Array:
    """Return the log-density of the normal distribution; SciPy's takes ten times as long for so few values."""
    return -0.5 * ((scores - mean) / width) ** 2 - math.log(width * math.sqrt(2 * math.pi))


def _two(scores: Array) -> _Mixture:
    """Fit the mixture by expectation-maximisation (Dempster et al. 1977), from the cut with the least variance."""
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


@dataclass(frozen=True)
class Limits:
    """Hold centre and bounds in the metric's unit; a bound is infinite on the good side."""

    centre: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Healthy:
    """Hold a sample, oldest first, without outliers and without the effects of its ``pattern`` on these values."""

    values: Array
    pattern: PeriodicPattern | None = None

    @property
    def as_measured(self) -> Array:
        return self.values + self.pattern.effects if self.pattern else self.values


class RefusedError(ValueError):
    """Refuse a sample for a reference; the message has the reason."""


class ChangedError(RefusedError):
    """Refuse a sample with a step or a drift."""

    def __init__(self, finding: SeriesFinding) -> None:
        step, drift = "the level changed from {:.4g} to {:.4g}", "the level drifts from {:.4g} to {:.4g}"
        super().__init__((step if finding.kind is FindingKind.STEP else drift).format(finding.before, finding.after))
        self.finding = finding


def learn_limits(sample: Healthy, sign: int, false_alarms: float) -> Limits:
    """Return the median, and bounds that a healthy value crosses with probability ``false_alarms``.

    The bounds are at least as far out as any value of the sample.

    :param sign: see ``worse_sign``.
    :raises RefusedError: the noise is larger than the level.
    """
    limits = spread(sample, sign, false_alarms)
    if limits.centre > 0 >= limits.lower > -math.inf:
        raise RefusedError(f"the noise is as large as the level: the lower bound would be {limits.lower:.4g}")
    return limits


def healthy(values: Array, times: Array | None = None) -> Healthy:
    """Return the values, oldest first, without outliers and, given ``times``, without a pattern by weekday or hour.

    :param times: in seconds since 1970.
    :raises ChangedError: a step or a drift.
    :raises RefusedError: fewer than 20 values, no noise, two levels, or more than 5 % outliers.
    """
    if len(values) < MIN_SAMPLES:
        raise RefusedError(f"{len(values)} values, at least {MIN_SAMPLES} needed")
    if pattern := find_pattern(values, times) if times is not None else None:
        values = values - pattern.effects
    if finding := unsteady(values, _FALSE_REFUSALS):
        if finding.kind is FindingKind.BIMODAL:
            raise RefusedError(_TWO_LEVELS.format(finding.before, finding.after))
        raise ChangedError(finding)
    if 2 * np.count_nonzero(values) <= len(values):
        raise RefusedError("at least half of the values are 0, so there is no noise to learn bounds from")
    kept = _no_outliers(values)
    if levels := two_levels(values[kept]):
        raise RefusedError(_TWO_LEVELS.format(*levels))
    return Healthy(values[kept], pattern and replace(pattern, effects=pattern.effects[kept]))


def _no_outliers(values: Array) -> Array:
    """Return a mask of the values that are no outliers.

    :raises RefusedError: the outliers form a level of their own, or there are too many.
    """
    centre, scale = _centre_and_scale(values)
    most = int(MAX_OUTLIERS * len(values))
    kept = np.full(len(values), True)
    for side in (-1, 1):
        distances = (values - centre) * side
        # Search for more outliers than allowed, to see whether there are too many.
        count = accidents(side_of(distances), scale, _FALSE_OUTLIERS / 2, int(_LEVEL * len(values)))
        far = distances >= np.sort(distances)[len(values) - count] if count else np.full(len(values), False)
        if count > 1 and np.ptp(values[far]) < _TOGETHER * (distances[far].min() - distances[~far].max()):
            raise RefusedError(_TWO_LEVELS.format(*sorted((centre, float(np.median(values[far]))))))
        kept &= ~far
    outliers = int(np.count_nonzero(~kept))
    if outliers > most:
        raise RefusedError(f"{outliers} of {len(values)} values are outliers, at most {MAX_OUTLIERS:.0%} are allowed")
    return kept


def _centre_and_scale(values: Array) -> tuple[float, float]:
    """Return centre and scale; use the mean absolute deviation if the MAD is 0 (Iglewicz & Hoaglin 1993)."""
    centre, scale = centre_and_scale(values)
    if 2 * np.count_nonzero(values == centre) > len(values):
        scale = max(scale, _MEAN_DEVIATION_TO_SIGMA * float(np.mean(np.abs(values - centre))))
    return centre, scale


def spread(sample: Healthy, sign: int, false_alarms: float) -> Limits:
    """Return the limits of a sample of any shape; with a pattern, for its best and worst weekday or hour."""
    values, n = sample.values, len(sample.values)
    centre, scale = _centre_and_scale(values)
    # A one-sided limit is crossed only on its side, which has half of the values.
    share = false_alarms if sign == 0 else 2 * false_alarms
    phases = sample.pattern.phases if sample.pattern else 1
    # The medians, one per weekday or hour, come from the same values, so the limits have to be wider.
    wider = math.sqrt((1 + math.pi * phases / (2 * n)) * n / (n - phases + 1))
    below, above = (wider * reach_of(side_of(part), scale, share) for part in (centre - values, values - centre))
    effects = sample.pattern.effects if sample.pattern else np.zeros(1)
    lower, upper = centre - below + effects.min(), centre + above + effects.max()
    return Limits(centre, -math.inf if sign > 0 else lower, math.inf if sign < 0 else upper)
