"""Centre and bounds that a sample of healthy runs warrants, or why it warrants none."""

import math
from dataclasses import dataclass, replace

import numpy as np

from reports.history.findings import Finding, Kind
from reports.history.judgement import unsteady
from reports.history.robust_statistics import Array, centre_and_scale, z_limit
from reports.learn.modes import two_levels

MIN_SAMPLES = 20
# A sample that wanders is found with this probability of a false refusal.
_FALSE_REFUSALS = 0.001
# A sample of normal noise has an outlier with this probability.
_FALSE_OUTLIERS = 0.01
# More of them are no accidents.
MAX_OUTLIERS = 0.05
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
    outliers: int = 0
    """How many values of the sample were left out."""


class RefusedError(ValueError):
    """A sample that no reference may be learned from; says why."""


class ChangedError(RefusedError):
    """A sample with a step or a drift."""

    def __init__(self, finding: Finding) -> None:
        step, drift = "the level changed: {:.4g}, then {:.4g}", "it drifts from {:.4g} to {:.4g}"
        super().__init__((step if finding.kind is Kind.STEP else drift).format(finding.before, finding.after))
        self.finding = finding


def learn_limits(values: Array, sign: int, false_alarms: float) -> Limits:
    """Median, and what a healthy value crosses with probability ``false_alarms``, at least as far as any did.

    ``sign`` as ``worse_sign`` gives it. ``values`` oldest first, of which outliers count for neither.

    :raises RefusedError: as ``healthy``, or more noise than level.
    """
    kept = healthy(values)
    limits = replace(spread(kept, sign, false_alarms), outliers=len(values) - len(kept))
    if limits.centre > 0 >= limits.lower > -math.inf:
        raise RefusedError(f"the noise is as large as the level: {limits.lower:.4g} would be allowed")
    return limits


def healthy(values: Array) -> Array:
    """The values, oldest first, without outliers.

    An outlier is further from the median, in standard deviations by the MAD, than any value of normal noise is in 99 %
    of samples of that size.

    :raises ChangedError: a step or a drift.
    :raises RefusedError: fewer than 20 values, no noise, two levels, or more than 5 % outliers.
    """
    if len(values) < MIN_SAMPLES:
        raise RefusedError(f"{len(values)} values, and it takes {MIN_SAMPLES}")
    if finding := unsteady(values, _FALSE_REFUSALS):
        if finding.kind is Kind.BIMODAL:
            raise RefusedError(_TWO_LEVELS.format(finding.before, finding.after))
        raise ChangedError(finding)
    if 2 * np.count_nonzero(values) <= len(values):
        raise RefusedError("half of the values are 0, or more: there is no noise to learn bounds from")
    kept = _without_outliers(values)
    if levels := two_levels(kept):
        raise RefusedError(_TWO_LEVELS.format(*levels))
    return kept


def _without_outliers(values: Array) -> Array:
    centre, scale = _centre_and_scale(values)
    limit = z_limit(len(values), _FALSE_OUTLIERS / len(values)) * scale
    kept = values[np.abs(values - centre) <= limit]
    for side, edge in ((values[values < centre - limit], kept.min()), (values[values > centre + limit], kept.max())):
        if len(side) > 1 and np.ptp(side) < _TOGETHER * np.abs(side - edge).min():
            raise RefusedError(_TWO_LEVELS.format(*sorted((centre, float(np.median(side))))))
    outliers = len(values) - len(kept)
    if outliers > MAX_OUTLIERS * len(values):
        raise RefusedError(f"{outliers} of {len(values)} values are outliers, and {MAX_OUTLIERS:.0%} may be")
    return kept


def _centre_and_scale(values: Array) -> tuple[float, float]:
    """With the mean absolute deviation where the MAD is 0, as of few digits (Iglewicz & Hoaglin 1993)."""
    centre, scale = centre_and_scale(values)
    if 2 * np.count_nonzero(values == centre) > len(values):
        scale = max(scale, _MEAN_DEVIATION_TO_SIGMA * float(np.mean(np.abs(values - centre))))
    return centre, scale


def spread(values: Array, sign: int, false_alarms: float) -> Limits:
    """The limits of a sample, whatever its shape."""
    centre, scale = _centre_and_scale(values)
    # One-sided limits are crossed on that side only.
    reach = z_limit(len(values), false_alarms if sign == 0 else 2 * false_alarms) * scale
    lower, upper = min(centre - reach, float(np.min(values))), max(centre + reach, float(np.max(values)))
    return Limits(centre, -math.inf if sign > 0 else lower, math.inf if sign < 0 else upper)
