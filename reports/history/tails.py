"""How far healthy values reach on one side, with tails as heavy as the sample shows, or as it cannot rule out.

Distances from the median follow half of Student's t, whose degrees of freedom and width are not known: each pair of a
grid counts by its likelihood (Bayes), so that a small sample is allowed more than a large one, and noise with heavy
tails more than normal noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from reports.history.robust_statistics import Array

# Degrees of freedom, the last as good as normal, and how likely they are before anything is measured.
_FREEDOM = np.array([1.5, 2.0, 3.0, 5.0, 10.0, 1000.0])[:, None]
_PRIOR = np.array([0.02, 0.03, 0.05, 0.1, 0.2, 0.6])[:, None]
# Widths, as multiples of what the median distance says of normal noise.
_WIDTHS = np.geomspace(0.25, 4.0, 61)
_LOG_CONSTANT = stats.t.logpdf(0.0, _FREEDOM)
# The median distance of a normal distribution is 0.6745 sigma.
_MEDIAN_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Tail:
    """A mixture of half-t distributions: ``weights`` by degrees of freedom and width."""

    widths: Array
    weights: Array

    def beyond(self, distance: float) -> float:
        """The probability that a value of this side is further out than ``distance``."""
        return float((self.weights * 2 * special.stdtr(_FREEDOM, -distance / self.widths)).sum())

    def reach(self, probability: float) -> float:
        """The distance that a value of this side exceeds with ``probability``."""
        low, high = self.widths[0] * 1e-3, self.widths[-1] * 1e6
        return float(optimize.brentq(lambda distance: self.beyond(distance) - probability, low, high, rtol=1e-6))


def tail(distances: Array, least_width: float) -> Tail:
    """The tail of the values with these ``distances`` from the median; ``least_width`` is greater than 0."""
    width = max(_MEDIAN_TO_SIGMA * float(np.median(distances)), least_width) if len(distances) else least_width
    widths = width * _WIDTHS
    squares = (distances[:, None, None] / widths) ** 2
    log = -(_FREEDOM + 1) / 2 * np.log1p(squares / _FREEDOM).sum(0) + len(distances) * (_LOG_CONSTANT - np.log(widths))
    weights = _PRIOR * np.exp(log - log.max())
    return Tail(widths, weights / weights.sum())


def side_of(distances: Array) -> Array:
    """The distances of the side where they are positive: half of the values, also where many are the median.

    Equal ones, as of few digits, are spread over what was rounded to them, or they would be no noise.
    """
    upper = np.sort(distances)[len(distances) // 2 :].clip(0)
    distinct, count = np.unique(upper, return_counts=True)
    step = np.diff(distinct).min() if len(distinct) > 1 else 0.0
    place = np.concatenate([(np.arange(number) + 0.5) / number - 0.5 for number in count])
    return np.abs(upper + step * place)


def accidents(distances: Array, least_width: float, false_alarms: float, most: int) -> int:
    """How many of ``distances``, the furthest, are no part of the tail that the others show; ``most`` at most.

    The nearest of them is further out than any of as many values would be with probability ``false_alarms``.
    """
    ordered = np.sort(distances)
    for count in range(min(most, len(ordered) - 1), 0, -1):
        rest = tail(ordered[:-count], least_width)
        if rest.beyond(float(ordered[-count])) * len(ordered) < false_alarms:
            return count
    return 0


def reach_of(distances: Array, least_width: float, false_alarms: float) -> float:
    """How far a healthy value of this side is with probability ``false_alarms``, at least as far as any was."""
    furthest = float(distances.max()) if len(distances) else 0.0
    return max(tail(distances, least_width).reach(false_alarms), furthest)
