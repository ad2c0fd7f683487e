"""A series judged: the one finding that counts most."""

import statistics

import numpy as np

from reports.history import robust_statistics
from reports.history.adding_up import SHARE, find_adding_up, nights_of
from reports.history.findings import Finding, Kind
from reports.history.lasting import find_lasting
from reports.history.newest import find_newest
from reports.history.robust_statistics import Array

MIN_VALUES = 8


def judge_series(
    values: Array, false_alarms: float, sign: int = 0, since: int = 0, times: Array | None = None
) -> Finding:
    """Judge finite ``values``, oldest first; ``false_alarms`` is the probability that a quiet series is found.

    What is worse comes first: at the newest values, then what lasts, the newest of it, then what adds up. ``sign`` as
    ``worse_sign`` gives it. Changes before the value ``since`` are left out, and what came after them is judged all the
    same. ``times`` (s since 1970) say which values are of one night; without, each has a night of its own.
    """
    n = len(values)
    if n < MIN_VALUES:
        median = statistics.median(values.tolist())  # of few numbers ten times faster than NumPy's
        return Finding(Kind.THIN, median, median, 0.0, n)
    # A quarter of the false alarms for what lasts, one for the newest values, a third for what adds up, which stays a
    # while.
    lasting, stretch = find_lasting(values, false_alarms / 4)
    nights = np.arange(n) if times is None else nights_of(times)
    newest = find_newest(values, stretch, int(np.sum(nights == nights[-1])), false_alarms / 4)
    adding_up = [
        finding.later(n - len(stretch))
        for finding in find_adding_up(stretch, nights[-len(stretch) :], sign, false_alarms * SHARE)
    ]
    # A regression of last night is news even where something lasts; an improvement is less than what lasts.
    ranked = [one for one in (*newest, *lasting, *adding_up) if one.worse(sign)] + [*lasting, *newest]
    counting = (one for one in ranked if (n - 1 if one.kind is Kind.DRIFT else one.at) >= since)
    return next(counting, None) or _unchanged(values, stretch)


def unsteady(values: Array, false_alarms: float) -> Finding | None:
    """A step, a drift or two levels: why ``values`` are no sample of one distribution."""
    if len(values) < MIN_VALUES:
        return None
    lasting, stretch = find_lasting(values, false_alarms / 3)
    found = [*lasting, *find_newest(values, stretch, 1, false_alarms / 3), _unchanged(values, stretch)]
    return next((one for one in found if one.kind in (Kind.STEP, Kind.DRIFT, Kind.BIMODAL)), None)


def _unchanged(values: Array, stretch: Array) -> Finding:
    z = robust_statistics.robust_z(float(stretch[-1]), stretch[:-1])
    if modes := robust_statistics.two_modes(stretch):
        return Finding(Kind.BIMODAL, modes.low, modes.high, z, len(values))
    median = float(np.median(stretch[:-1]))
    return Finding(Kind.QUIET, median, median, z, len(values))
