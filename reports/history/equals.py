"""A node against its equals: the same case on other nodes of the partition, where its own past is short or as slow."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from reports.history.adding_up import LEAST_EARLIER, NIGHT_S, NIGHTS, likeness, nights_of, scores
from reports.history.findings import MIN_CHANGE, Finding, Kind
from reports.history.query import Series
from reports.history.robust_statistics import Array, centre_and_scale

LEAST_EQUALS = 3
# More of them tell nothing new.
_MOST_EQUALS = 20
# Of so many nodes the differences tell how equal equals are; of fewer it is taken that sound nodes differ by half of
# what is of consequence.
_ENOUGH_EQUALS = 8
_TAKEN_TO_DIFFER = MIN_CHANGE / 2
_LEAST_VALUES = 4


def with_equals(series: Sequence[Series]) -> Iterator[tuple[Series, list[Series]]]:
    """Each of ``series`` with those of the same case and metric on other nodes; without any if it is of several."""
    same: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for one in series:
        same[one.key if one.of_one_node else ()].append(one)
    for key, members in same.items():
        # Those after it, then from the first on.
        around, most = [*members, *members[:_MOST_EQUALS]], min(_MOST_EQUALS, len(members) - 1)
        for at, one in enumerate(members):
            yield one, around[at + 1 : at + 1 + most] if key else []


def find_odd(series: Series, equals: Sequence[Series], false_alarms: float) -> Finding | None:
    """A finding when the values of a node's newest nights are worse than those of its equals since then.

    What came over all of them is no difference. By the mean of their normal scores, whose variance is that of the
    values, of the level of the equals, and of sound nodes, which are never quite equal.
    """
    nights = nights_of(series.times)
    start = int(np.searchsorted(nights, nights[-1] - NIGHTS + 1))
    newest, since = series.values[start:], series.times[start] - NIGHT_S
    if not series.sign or len(newest) < _LEAST_VALUES:
        return None
    others = [other.values[other.times >= since] for other in equals]
    others = [values for values in others if len(values) >= _LEAST_VALUES]
    if len(others) < LEAST_EQUALS:
        return None
    pool = np.concatenate(others)
    if len(pool) < LEAST_EARLIER:
        return None
    alike = likeness(series.values, nights) if len(series.values) >= LEAST_EARLIER else 1.0
    variance = alike**2 / len(newest) + 1 / len(pool) + _differences(others, pool)
    z = series.sign * float(scores(newest, pool).mean()) / math.sqrt(variance)
    if stats.norm.sf(z) >= false_alarms:
        return None
    before, after = float(np.median(pool)), float(np.median(newest))
    found = Finding(Kind.ODD, before, after, z, start)
    return found if found.matters else None


def _differences(others: Sequence[Array], pool: Array) -> float:
    """The variance of the levels of sound nodes, in variances of the values."""
    centre, scale = centre_and_scale(pool)
    if len(others) < _ENOUGH_EQUALS:
        return (_TAKEN_TO_DIFFER * centre / scale) ** 2 if scale else 0.0
    counts = np.array([len(values) for values in others])
    means = np.add.reduceat(scores(pool, pool), np.cumsum(counts) - counts) / counts
    return max(0.0, float(means.var(ddof=1) - (1 / counts).mean()))
