"""Steps and drifts: changes that last."""

import numpy as np

from reports.history import robust_statistics
from reports.history.drift import Line, find_line
from reports.history.findings import Finding, Kind
from reports.history.robust_statistics import Array

# Values by which PELT's points may be off.
_MISPLACED = 5


def find_lasting(values: Array, false_alarms: float) -> tuple[list[Finding], Array]:
    """The steps and drifts that still stand, newest first, and the values since the last of them, at today's level.

    A step stands while the newest level differs from that before the step: what came in between does not undo it.
    """
    p, likeliest = robust_statistics.rank_scan_p(values)
    # A level that comes and goes is no step of the whole and no trend, but two modes that are not in random order.
    if min(p, robust_statistics.trend_p(values), robust_statistics.alternation_p(values)) >= false_alarms:
        return [], values
    points = _merged(values, _placed(values, robust_statistics.change_points(values) or [likeliest]), false_alarms)
    line = find_line(values, points)
    z = robust_statistics.robust_z(float(values[-1]), values[:-1])
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
) -> list[Finding]:
    """The steps whose level before differs from today's ``level``, newest first."""
    found = []
    for start, at in reversed(list(zip([0, *points], points, strict=False))):
        # Today's level is known from few values; what they do not show to be left is undone.
        if at == points[-1] or robust_statistics.two_sample_p(values[start:at], stretch) < false_alarms:
            before = float(np.median(values[start:at]))
            found.append(Finding(Kind.STEP, before, level, z, at, tuple(points)))
    return found


def _with_drift(values: Array, points: list[int], line: Line, steps: list[Finding], z: float) -> list[Finding]:
    """``steps`` and the drift; where it grew out of the level before, that was no step but its beginning."""
    first, last = _ends(values[line.start :])
    drift = Finding(Kind.DRIFT, first, last, z, line.start, tuple(points))
    if not line.start:
        return [drift, *steps]
    earliest = points[-2] if len(points) > 1 else 0
    before = float(np.median(values[earliest : line.start]))
    if abs(line.first - before) >= abs(line.last - line.first):
        return [steps[0], drift, *steps[1:]]
    at = line.onset(before, earliest)
    return [Finding(Kind.DRIFT, before, last, z, at, (*points[:-1], at)), *steps[1:]]


def _ends(values: Array) -> tuple[float, float]:
    """The levels at the beginning and at the end: of a tenth of the values, as no drift is quite straight."""
    tenth = max(robust_statistics.MIN_SEGMENT, len(values) // 10)
    return float(np.median(values[:tenth])), float(np.median(values[-tenth:]))


def _placed(values: Array, points: list[int]) -> list[int]:
    """Each point where the values say: ranks of a level's noise misplace it by a few, which would widen the level."""
    placed = [0, *points, len(values)]
    for number, point in enumerate(points, start=1):
        start, end = placed[number - 1], placed[number + 1]
        near = range(
            max(point - _MISPLACED, start + robust_statistics.MIN_SEGMENT),
            min(point + _MISPLACED, end - robust_statistics.MIN_SEGMENT) + 1,
        )
        placed[number] = min(near, key=lambda at: _spread(values[start:at]) + _spread(values[at:end]), default=point)
    return placed[1:-1]


def _spread(values: Array) -> float:
    return float(np.abs(values - np.median(values)).sum())


def _merged(values: Array, points: list[int], false_alarms: float) -> list[int]:
    """The change points at which the ranks on both sides differ; two modes in random order have others.

    At least one: the scan has shown that there is a change, though with few values on a side even full separation is no
    small p.
    """
    kept = list(points)
    while len(kept) > 1:
        edges = [0, *kept, len(values)]
        p = [
            robust_statistics.two_sample_p(values[a:b], values[b:c])
            for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        worst = int(np.argmax(p))
        if p[worst] < false_alarms / len(values):
            break
        del kept[worst]
    return kept
