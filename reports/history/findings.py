"""Find changes in one series: a lasting step or drift, or newest values that stand out."""

import itertools
import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from scipy import stats

from reports.history.robust_statistics import (
    MIN_SEGMENT,
    Array,
    alternation_p,
    centre_and_scale,
    change_points,
    commonest,
    rank_scan_p,
    robust_z,
    tail,
    trend_p,
    two_sample_p,
)

# Smaller changes than this share of the level do not matter, however certain.
MIN_CHANGE = 0.02
# The change points of PELT may be off by so many values.
_MISPLACED = 5
# After an earlier change, the scan over the whole series misses a change for so many more values, because their ranks
# differ too little from earlier values.
_AFTER_A_CHANGE = 7
# If more than one value in so many is the same (mostly 0), median and MAD give no scale for the others.
_TIED = 3
_TAIL = 5
_OF_A_TAIL = 60


class FindingKind(Enum):
    """Name the kind of a finding."""

    QUIET = "quiet"
    THIN = "too few values"
    BIMODAL = "noise with two levels"
    OUTLIER = "newest value stands out"
    STEP = "step"
    DRIFT = "drift"
    ODD = "differs from its equals"


@dataclass(frozen=True)
class SeriesFinding:
    """Describe the finding in a series.

    ``before``, ``after``: the levels. ``at``: the index of the first value after the change, or the start of a drift.
    ``z``: the robust z-score of the newest value against the earlier values of the level that the judgement used.
    ``points``: all indices at which the level changed.
    """

    kind: FindingKind
    before: float
    after: float
    z: float
    at: int
    points: tuple[int, ...] = ()

    def later(self, values: int) -> "SeriesFinding":
        """Return the finding for the same series with so many more values at its start."""
        return replace(self, at=self.at + values)

    @property
    def change(self) -> float:
        """Return the relative change; the absolute change if the level was 0."""
        return (self.after - self.before) / (abs(self.before) or 1.0)

    @property
    def changed(self) -> bool:
        return self.kind in (FindingKind.OUTLIER, FindingKind.STEP, FindingKind.DRIFT, FindingKind.ODD)

    @property
    def matters(self) -> bool:
        return abs(self.change) >= MIN_CHANGE

    def worse(self, sign: int) -> bool:
        return self.changed and (sign == 0 or self.change * sign > 0)


@dataclass(frozen=True)
class TrendLine:
    """Describe a straight line from the value ``start`` to the newest one: its heights at both ends and its slope."""

    start: int
    first: float
    last: float
    slope: float

    def levelled(self, values: Array) -> Array:
        """Return the values from ``start`` on without the slope, at the height of the newest value."""
        return values[self.start :] + self.slope * np.arange(len(values) - self.start)[::-1]

    def onset(self, level: float, earliest: int) -> int:
        """Return the index where the line leaves ``level``; the first change point is well after the drift's start."""
        return max(self.start + round((level - self.first) / self.slope), earliest)


def find_line(values: Array, points: list[int]) -> TrendLine | None:
    """Return the line (Theil-Sen) after levels that explains the series better than levels alone, or ``None``.

    The criterion is BIC on absolute residuals.

    :param points: the change points; the line begins at the first value or at one of them.
    """
    n = len(values)
    edges = [0, *points, n]
    medians = [float(np.median(values[a:b])) for a, b in itertools.pairwise(edges)]
    residuals = values - np.repeat(medians, np.diff(edges))
    best, least = None, _cost(residuals, len(points))
    for number in _starts(medians):
        start = edges[number]
        if n - start < 2 * MIN_SEGMENT:
            continue
        slope, intercept, *_ = stats.theilslopes(values[start:])
        fitted = intercept + slope * np.arange(n - start)
        cost = _cost(np.concatenate([residuals[:start], values[start:] - fitted]), number + 1)
        if cost < least:
            best, least = TrendLine(start, float(fitted[0]), float(fitted[-1]), float(slope)), cost
    return best


def _starts(medians: list[float]) -> list[int]:
    """Return the first level, and the levels after which all steps go the same way: a drift looks like a staircase."""
    ups = [after > before for before, after in itertools.pairwise(medians)]
    number = len(medians) - 1
    starts = [number]
    while number and all(up == ups[-1] for up in ups[number - 1 :]):
        number -= 1
        starts.append(number)
    return starts if starts[-1] == 0 else [*starts, 0]


def _cost(residuals: Array, changes: int) -> float:
    n = len(residuals)
    tiny = float(np.finfo(float).tiny)
    return math.log(float(np.abs(residuals).mean()) + tiny) + 2 * changes * math.log(n) / n


def find_lasting(values: Array, false_alarms: float) -> tuple[list[SeriesFinding], Array]:
    """Return the steps and drifts that still hold, newest first, and the values since the last one, at today's level.

    A step holds while the newest level differs from the level before the step, whatever happened in between.
    """
    p, likeliest = rank_scan_p(values)
    # A level that comes and goes is no step and no trend, but two modes that are not in random order.
    if min(p, trend_p(values), alternation_p(values)) >= false_alarms:
        return [], values
    points = _merged(values, _placed(values, change_points(values) or [likeliest]), false_alarms)
    line = find_line(values, points)
    z = robust_z(float(values[-1]), values[:-1])
    if line:
        points = [point for point in points if point <= line.start]
        stretch = line.levelled(values)
        found = _standing(values, points, stretch, _ends(values[line.start :])[1], z, false_alarms)
        found = _with_drift(values, points, line, found, z)
    else:
        stretch = values[points[-1] :]
        found = _standing(values, points, stretch, float(np.median(stretch)), z, false_alarms)
    return [finding for finding in found if finding.matters], stretch


def _standing(
    values: Array, points: list[int], stretch: Array, level: float, z: float, false_alarms: float
) -> list[SeriesFinding]:
    """Return the steps whose level before differs from today's ``level``, newest first."""
    found = []
    for start, at in reversed(list(zip([0, *points], points, strict=False))):
        # Few values give today's level. A step that they do not show any more is undone.
        if at == points[-1] or two_sample_p(values[start:at], stretch) < false_alarms:
            before = float(np.median(values[start:at]))
            found.append(SeriesFinding(FindingKind.STEP, before, level, z, at, tuple(points)))
    return found


def _with_drift(
    values: Array, points: list[int], line: TrendLine, steps: list[SeriesFinding], z: float
) -> list[SeriesFinding]:
    """Return ``steps`` and the drift; if the drift grew out of the level before, that step is the drift's start."""
    first, last = _ends(values[line.start :])
    drift = SeriesFinding(FindingKind.DRIFT, first, last, z, line.start, tuple(points))
    if not line.start:
        return [drift, *steps]
    earliest = points[-2] if len(points) > 1 else 0
    before = float(np.median(values[earliest : line.start]))
    if abs(line.first - before) >= abs(line.last - line.first):
        return [steps[0], drift, *steps[1:]]
    at = line.onset(before, earliest)
    return [SeriesFinding(FindingKind.DRIFT, before, last, z, at, (*points[:-1], at)), *steps[1:]]


def _ends(values: Array) -> tuple[float, float]:
    """Return the levels at both ends, each from a tenth of the values, because no drift is quite straight."""
    tenth = max(MIN_SEGMENT, len(values) // 10)
    return float(np.median(values[:tenth])), float(np.median(values[-tenth:]))


def _placed(values: Array, points: list[int]) -> list[int]:
    """Return the points moved to where the values change; ranks misplace a point by a few values."""
    placed = [0, *points, len(values)]
    for number, point in enumerate(points, start=1):
        start, end = placed[number - 1], placed[number + 1]
        near = range(
            max(point - _MISPLACED, start + MIN_SEGMENT),
            min(point + _MISPLACED, end - MIN_SEGMENT) + 1,
        )
        placed[number] = min(near, key=lambda at: _spread(values[start:at]) + _spread(values[at:end]), default=point)
    return placed[1:-1]


def _spread(values: Array) -> float:
    return float(np.abs(values - np.median(values)).sum())


def _merged(values: Array, points: list[int], false_alarms: float) -> list[int]:
    """Return the change points at which the ranks on both sides differ; two modes in random order cause other points.

    Keep at least one point: the scan has shown a change, although with few values on a side the p-value cannot be
    small.
    """
    kept = list(points)
    while len(kept) > 1:
        edges = [0, *kept, len(values)]
        p = [
            two_sample_p(values[a:b], values[b:c])
            for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        worst = int(np.argmax(p))
        if p[worst] < false_alarms / len(values):
            break
        del kept[worst]
    return kept


def find_newest(values: Array, stretch: Array, repeats: int, false_alarms: float) -> list[SeriesFinding]:
    """Return a finding if the newest values stand out from the others of ``stretch``, or else from all ``values``.

    ``stretch`` are the values since the last change of level; all values if it never changed. All ``repeats`` of the
    newest night have to stand out, because a single one was not confirmed by the others.
    """
    whole = len(stretch) == len(values)
    # A step with at most so many values is too young for the ranks.
    longest = MIN_SEGMENT if whole else _AFTER_A_CHANGE
    if found := _young(stretch, repeats, longest, false_alarms):
        return [found.later(len(values) - len(stretch))]
    # A short stretch has no noise to compare with, but a value that the series has never had is news anyway.
    found = None if whole else _young(values, repeats, MIN_SEGMENT, false_alarms)
    return [found] if found else []


def _young(values: Array, repeats: int, longest: int, false_alarms: float) -> SeriesFinding | None:
    for count in range(min(repeats, longest), min(longest, len(values) - MIN_SEGMENT) + 1):
        if finding := _apart(values[:-count], values[-count:], false_alarms):
            return finding
    return None


def _apart(earlier: Array, newest: Array, false_alarms: float) -> SeriesFinding | None:
    """Return a finding if each of the ``newest`` values stands out from the ``earlier`` ones on the same side."""
    median = float(np.median(earlier))
    far = float(((newest - median) * np.sign(newest[-1] - median)).min())
    # If the series was so far out before, the value is noise.
    furthest = float(np.abs(earlier - median).max())
    if far <= 1.2 * furthest:
        return None
    if commonest(earlier) * _TIED > len(earlier):
        noise = _record_p(earlier, far / (furthest or far), len(newest)) >= false_alarms
    else:
        noise = _tail_p(earlier, median, far) >= false_alarms
    kind = FindingKind.STEP if len(newest) > 1 else FindingKind.OUTLIER
    z = robust_z(float(newest[-1]), earlier)
    finding = SeriesFinding(kind, median, float(np.median(newest)), z, len(earlier))
    return finding if finding.matters and not noise else None


def _tail_p(earlier: Array, median: float, far: float) -> float:
    """Return the probability that a value like the ``earlier`` ones is further out than ``far`` on either side.

    The tail comes from the newest of them: a slow value before a repair is no tail.
    """
    earlier = earlier[-_OF_A_TAIL:]
    scale = centre_and_scale(earlier)[1]
    wider = math.sqrt(1 + math.pi / (2 * len(earlier)))
    return tail(np.abs(earlier - median), scale).beyond(far / wider) if scale else 0.0


def _record_p(earlier: Array, ratio: float, count: int) -> float:
    """Return the chance that the newest ``count`` values are ``ratio`` times further out than all others.

    The probability to be the furthest does not depend on the distribution (Wilks 1941). For ``ratio``, the assumed tail
    falls with the square of the distance.
    """
    p = 1 / math.comb(len(earlier) + count, count)
    # A few values do not show a tail.
    return p / ratio ** (2 * count) if len(earlier) - commonest(earlier) >= _TAIL else p
