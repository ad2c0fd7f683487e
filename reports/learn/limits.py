"""Centre and bounds that a sample of healthy runs warrants, or why it warrants none, as when it has two levels."""

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
MIN_SAMPLES = 20
# A sample that wanders is found with this probability of a false refusal.
_FALSE_REFUSALS = 0.001
# A healthy sample has an outlier with this probability.
_FALSE_OUTLIERS = 0.01
# More of them are no accidents.
MAX_OUTLIERS = 0.05
# Up to this share of the values, a level of their own is looked for among outliers.
_LEVEL = 0.2
# Outliers closer together than this share of their distance from the other values are a level of their own.
_TOGETHER = 0.25
_MEAN_DEVIATION_TO_SIGMA = 1.2533
_TWO_LEVELS = "it has two levels, {:.4g} and {:.4g}: something that the reference does not tell apart"


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
    normal = -len(scores) / 2 * (math.log(2 * math.pi * float(scores.var())) + 1)
    one = min(2 * penalty - 2 * normal, 3 * penalty - 2 * _skewed(scores))
    return (centre + found.low * scale, centre + found.high * scale) if one - two > _EVIDENCE else None


def _skewed(scores: Array) -> float:
    """The log-likelihood of one that is normal after a power transformation."""
    without_constant = float(stats.yeojohnson_llf(stats.yeojohnson_normmax(scores), scores))
    return without_constant - len(scores) / 2 * (math.log(2 * math.pi) + 1)


def _log_density(scores: Array, mean: float, width: float) -> Array:
    """The normal distribution's; SciPy's own takes ten times as long for so few values."""
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


@dataclass(frozen=True)
class Limits:
    """Absolute, in the metric's unit; infinite on a side that is never too good."""

    centre: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Healthy:
    """A sample without outliers, oldest first, and without its ``pattern``, whose effects are those on these values."""

    values: Array
    pattern: PeriodicPattern | None = None

    @property
    def as_measured(self) -> Array:
        return self.values + self.pattern.effects if self.pattern else self.values


class RefusedError(ValueError):
    """A sample that no reference may be learned from; says why."""


class ChangedError(RefusedError):
    """A sample with a step or a drift."""

    def __init__(self, finding: SeriesFinding) -> None:
        step, drift = "the level changed: {:.4g}, then {:.4g}", "it drifts from {:.4g} to {:.4g}"
        super().__init__((step if finding.kind is FindingKind.STEP else drift).format(finding.before, finding.after))
        self.finding = finding


def learn_limits(sample: Healthy, sign: int, false_alarms: float) -> Limits:
    """Median, and what a healthy value crosses with probability ``false_alarms``, at least as far as any did.

    ``sign`` as ``worse_sign`` gives it.

    :raises RefusedError: more noise than level.
    """
    limits = spread(sample, sign, false_alarms)
    if limits.centre > 0 >= limits.lower > -math.inf:
        raise RefusedError(f"the noise is as large as the level: {limits.lower:.4g} would be allowed")
    return limits


def healthy(values: Array, times: Array | None = None) -> Healthy:
    """The values, oldest first, without outliers; with ``times`` (s since 1970) without what recurs by weekday or hour.

    :raises ChangedError: a step or a drift.
    :raises RefusedError: fewer than 20 values, no noise, two levels, or more than 5 % outliers.
    """
    if len(values) < MIN_SAMPLES:
        raise RefusedError(f"{len(values)} values, and it takes {MIN_SAMPLES}")
    if pattern := find_pattern(values, times) if times is not None else None:
        values = values - pattern.effects
    if finding := unsteady(values, _FALSE_REFUSALS):
        if finding.kind is FindingKind.BIMODAL:
            raise RefusedError(_TWO_LEVELS.format(finding.before, finding.after))
        raise ChangedError(finding)
    if 2 * np.count_nonzero(values) <= len(values):
        raise RefusedError("half of the values are 0, or more: there is no noise to learn bounds from")
    kept = _no_outliers(values)
    if levels := two_levels(values[kept]):
        raise RefusedError(_TWO_LEVELS.format(*levels))
    return Healthy(values[kept], pattern and replace(pattern, effects=pattern.effects[kept]))


def _no_outliers(values: Array) -> Array:
    """Which values are no outliers."""
    centre, scale = _centre_and_scale(values)
    most = int(MAX_OUTLIERS * len(values))
    kept = np.full(len(values), True)
    for side in (-1, 1):
        distances = (values - centre) * side
        # More than may be, to see whether there are too many.
        count = accidents(side_of(distances), scale, _FALSE_OUTLIERS / 2, int(_LEVEL * len(values)))
        far = distances >= np.sort(distances)[len(values) - count] if count else np.full(len(values), False)
        if count > 1 and np.ptp(values[far]) < _TOGETHER * (distances[far].min() - distances[~far].max()):
            raise RefusedError(_TWO_LEVELS.format(*sorted((centre, float(np.median(values[far]))))))
        kept &= ~far
    outliers = int(np.count_nonzero(~kept))
    if outliers > most:
        raise RefusedError(f"{outliers} of {len(values)} values are outliers, and {MAX_OUTLIERS:.0%} may be")
    return kept


def _centre_and_scale(values: Array) -> tuple[float, float]:
    """With the mean absolute deviation where the MAD is 0, as of few digits (Iglewicz & Hoaglin 1993)."""
    centre, scale = centre_and_scale(values)
    if 2 * np.count_nonzero(values == centre) > len(values):
        scale = max(scale, _MEAN_DEVIATION_TO_SIGMA * float(np.mean(np.abs(values - centre))))
    return centre, scale


def spread(sample: Healthy, sign: int, false_alarms: float) -> Limits:
    """The limits of a sample, whatever its shape; on its best and worst weekday or hour, where they differ."""
    values, n = sample.values, len(sample.values)
    centre, scale = _centre_and_scale(values)
    # One-sided limits are crossed on that side only, where half of the values are.
    share = false_alarms if sign == 0 else 2 * false_alarms
    phases = sample.pattern.phases if sample.pattern else 1
    # The medians, one for each weekday or hour, are known from so many values, which they follow a little.
    wider = math.sqrt((1 + math.pi * phases / (2 * n)) * n / (n - phases + 1))
    below, above = (wider * reach_of(side_of(part), scale, share) for part in (centre - values, values - centre))
    effects = sample.pattern.effects if sample.pattern else np.zeros(1)
    lower, upper = centre - below + effects.min(), centre + above + effects.max()
    return Limits(centre, -math.inf if sign > 0 else lower, math.inf if sign < 0 else upper)
