"""Centre and bounds that a sample of healthy runs warrants, or why it warrants none."""

import math
from dataclasses import dataclass

import numpy as np

from reports.history.findings import Kind
from reports.history.judgement import unsteady
from reports.history.statistics import Array, centre_and_scale, z_limit

MIN_SAMPLES = 20
# A sample that wanders is found with this probability of a false refusal.
_FALSE_REFUSALS = 0.001
_REFUSALS = {
    Kind.STEP: "the level changed: {before:.4g}, then {after:.4g}",
    Kind.DRIFT: "it drifts from {before:.4g} to {after:.4g}",
    Kind.BIMODAL: "it has two levels, {before:.4g} and {after:.4g}: something that the reference does not tell apart",
}


@dataclass(frozen=True)
class Limits:
    """Absolute, in the metric's unit; infinite on a side that is never too good."""

    centre: float
    lower: float
    upper: float


class RefusedError(ValueError):
    """A sample that no reference may be learned from; says why."""


def learn_limits(values: Array, sign: int, false_alarms: float) -> Limits:
    """Median, and what a healthy value crosses with probability ``false_alarms``, at least as far as any did.

    ``sign`` as ``worse_sign`` gives it. ``values`` oldest first.

    :raises RefusedError: fewer than 20 values, a step, a drift, two levels, no noise, or more noise than level.
    """
    if len(values) < MIN_SAMPLES:
        raise RefusedError(f"{len(values)} values, and it takes {MIN_SAMPLES}")
    if finding := unsteady(values, _FALSE_REFUSALS):
        raise RefusedError(_REFUSALS[finding.kind].format(before=finding.before, after=finding.after))
    if not np.any(values):
        raise RefusedError("all values are 0: there is no noise to learn bounds from")
    limits = spread(values, sign, false_alarms)
    if limits.centre > 0 >= limits.lower > -math.inf:
        raise RefusedError(f"the noise is as large as the level: {limits.lower:.4g} would be allowed")
    return limits


def spread(values: Array, sign: int, false_alarms: float) -> Limits:
    """The limits of a sample, whatever its shape."""
    centre, scale = centre_and_scale(values)
    # One-sided limits are crossed on that side only.
    reach = z_limit(len(values), false_alarms if sign == 0 else 2 * false_alarms) * scale
    lower, upper = min(centre - reach, float(np.min(values))), max(centre + reach, float(np.max(values)))
    return Limits(centre, -math.inf if sign > 0 else lower, math.inf if sign < 0 else upper)
