"""A series judged: quiet, too thin, or changed, and in which way."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from reports.history import statistics
from reports.history.statistics import Array

MIN_VALUES = 8
# Smaller changes than this share of the level are of no consequence, however sure.
MIN_CHANGE = 0.02


class Kind(Enum):
    QUIET = "quiet"
    THIN = "too few values"
    BIMODAL = "noise with two levels"
    OUTLIER = "newest value stands out"
    STEP = "step"
    DRIFT = "drift"


@dataclass(frozen=True)
class Finding:
    """``at`` is the index of the first value after the change (of a drift: of the series).

    ``z`` is the newest value's robust z-score against the earlier ones of the same level as the judgement used.
    """

    kind: Kind
    before: float
    after: float
    z: float
    at: int
    points: tuple[int, ...] = ()

    @property
    def change(self) -> float:
        """Relative change; absolute when the level was 0."""
        return (self.after - self.before) / (abs(self.before) or 1.0)

    @property
    def changed(self) -> bool:
        return self.kind in (Kind.OUTLIER, Kind.STEP, Kind.DRIFT)

    def worse(self, sign: int) -> bool:
        return self.changed and (sign == 0 or self.change * sign > 0)


def judge_series(values: Array, false_alarms: float) -> Finding:
    """Judge finite ``values``, oldest first; ``false_alarms`` is the probability that a quiet series is found."""
    n = len(values)
    if n < MIN_VALUES:
        median = float(np.median(values))
        return Finding(Kind.THIN, median, median, 0.0, n)
    # A third of the false alarms for each of the tests: level, trend, newest values.
    return _lasting(values, false_alarms / 3) or _newest(values, false_alarms / 3)


def _lasting(values: Array, false_alarms: float) -> Finding | None:
    p, likeliest = statistics.rank_scan_p(values)
    if min(p, statistics.trend_p(values)) >= false_alarms:
        return None
    points = _merged(values, statistics.change_points(values) or [likeliest], false_alarms)
    z = statistics.robust_z(float(values[-1]), values[:-1])
    if statistics.is_drift(values, points or [likeliest]):
        tenth = max(statistics.MIN_SEGMENT, len(values) // 10)
        before, after = float(np.median(values[:tenth])), float(np.median(values[-tenth:]))
        finding = Finding(Kind.DRIFT, before, after, z, 0, tuple(points))
    elif points:
        start = points[-2] if len(points) > 1 else 0
        before, after = float(np.median(values[start : points[-1]])), float(np.median(values[points[-1] :]))
        finding = Finding(Kind.STEP, before, after, z, points[-1], tuple(points))
    else:
        return None
    return finding if abs(finding.change) >= MIN_CHANGE else None


def _merged(values: Array, points: list[int], false_alarms: float) -> list[int]:
    """The change points at which the ranks on both sides differ; two modes in random order have others."""
    kept = list(points)
    while kept:
        edges = [0, *kept, len(values)]
        p = [
            statistics.two_sample_p(values[a:b], values[b:c])
            for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        worst = int(np.argmax(p))
        if p[worst] < false_alarms / len(values):
            break
        # With few values on a side even full separation is no small p; the scan has shown that there is a change.
        if len(kept) == 1:
            break
        del kept[worst]
    return kept


def _newest(values: Array, false_alarms: float) -> Finding:
    # A step is too young for the ranks while it has fewer values than these.
    for count in range(1, statistics.MIN_SEGMENT + 1):
        earlier, newest = values[:-count], values[-count:]
        if finding := _apart(earlier, newest, false_alarms):
            return finding
    z = statistics.robust_z(float(values[-1]), values[:-1])
    if modes := statistics.two_modes(values):
        return Finding(Kind.BIMODAL, modes.low, modes.high, z, len(values))
    median = float(np.median(values[:-1]))
    return Finding(Kind.QUIET, median, median, z, len(values))


def _apart(earlier: Array, newest: Array, false_alarms: float) -> Finding | None:
    """A finding when each of the ``newest`` stands out from the ``earlier``, all to the same side."""
    median = float(np.median(earlier))
    far = (newest - median) * np.sign(newest[-1] - median)
    # Once is noise of this series, if it was so far out before.
    reach = 1.2 * float(np.abs(earlier - median).max())
    z = statistics.robust_z(float(newest[-1]), earlier)
    least = abs(statistics.robust_z(median + float(far.min()), earlier))
    if far.min() <= reach or least <= statistics.z_limit(len(earlier), false_alarms):
        return None
    kind = Kind.STEP if len(newest) > 1 else Kind.OUTLIER
    finding = Finding(kind, median, float(np.median(newest)), z, len(earlier))
    return finding if abs(finding.change) >= MIN_CHANGE else None
