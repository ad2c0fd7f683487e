"""A known period in a series: values that depend on the weekday or on the hour are no change of level."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, stats

from reports.history.robust_statistics import Array

# A series without a pattern has one with this probability.
_FALSE_PATTERNS = 0.001
# Fewer values of a weekday or an hour, or fewer periods, show nothing that recurs.
_LEAST = 3
_DAY_S = 86400.0


@dataclass(frozen=True)
class Pattern:
    """``effects``: what each value of the series owes to its weekday or hour, in the metric's unit."""

    period: str
    effects: Array
    phases: int


def find_pattern(values: Array, times: Array) -> Pattern | None:
    """The weekdays or else the hours, of this machine's clock, by which ``values`` differ; times in s since 1970."""
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


def _recurring(values: Array, period: str, phases: NDArray[np.int_], a_period: float) -> Pattern | None:
    """Kruskal and Wallis (1952) on the distances from the level of ``a_period`` values around each."""
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
    return Pattern(period, effects, len(count))
