"""Centre and bounds that a sample of healthy runs warrants, or why it warrants none."""

import math
from dataclasses import dataclass, replace

import numpy as np

from reports.history.findings import Finding, Kind
from reports.history.judgement import unsteady
from reports.history.pattern import Pattern, find_pattern
from reports.history.robust_statistics import Array, centre_and_scale
from reports.history.tails import accidents, reach_of, side_of
from reports.learn.modes import two_levels

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
class Limits:
    """Absolute, in the metric's unit; infinite on a side that is never too good."""

    centre: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Healthy:
    """A sample without outliers, oldest first, and without its ``pattern``, whose effects are those on these values."""

    values: Array
    pattern: Pattern | None = None

    @property
    def as_measured(self) -> Array:
        return self.values + self.pattern.effects if self.pattern else self.values


class RefusedError(ValueError):
    """A sample that no reference may be learned from; says why."""


class ChangedError(RefusedError):
    """A sample with a step or a drift."""

    def __init__(self, finding: Finding) -> None:
        step, drift = "the level changed: {:.4g}, then {:.4g}", "it drifts from {:.4g} to {:.4g}"
        super().__init__((step if finding.kind is Kind.STEP else drift).format(finding.before, finding.after))
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
        if finding.kind is Kind.BIMODAL:
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
