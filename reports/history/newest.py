"""Whether the newest values stand out from those before."""

import math

import numpy as np

from reports.history import robust_statistics
from reports.history.findings import Finding, Kind
from reports.history.robust_statistics import Array

# After an earlier change the scan over the whole series is blind for this many values more: their ranks differ too
# little from what the series has seen.
_AFTER_A_CHANGE = 7
# Where more than one value in this many is the same (0, mostly), median and MAD are no scale of the others.
_TIED = 3
_TAIL = 5


def find_newest(values: Array, stretch: Array, false_alarms: float) -> list[Finding]:
    """A finding when the newest values stand out from the others of ``stretch``, or else from all ``values``.

    ``stretch`` are the newest values since the level last changed: all of them, when it never did.
    """
    whole = len(stretch) == len(values)
    # A step is too young for the ranks while it has fewer values than these.
    found = _young(stretch, robust_statistics.MIN_SEGMENT if whole else _AFTER_A_CHANGE, false_alarms)
    if found:
        offset = len(values) - len(stretch)
        return [Finding(found.kind, found.before, found.after, found.z, found.at + offset)]
    # Too short a stretch has no noise to hold a value against; what the series has never seen is news all the same.
    found = None if whole else _young(values, robust_statistics.MIN_SEGMENT, false_alarms)
    return [found] if found else []


def _young(values: Array, longest: int, false_alarms: float) -> Finding | None:
    for count in range(1, min(longest, len(values) - robust_statistics.MIN_SEGMENT) + 1):
        if finding := _apart(values[:-count], values[-count:], false_alarms):
            return finding
    return None


def _apart(earlier: Array, newest: Array, false_alarms: float) -> Finding | None:
    """A finding when each of the ``newest`` stands out from the ``earlier``, all to the same side."""
    median = float(np.median(earlier))
    far = float(((newest - median) * np.sign(newest[-1] - median)).min())
    # Once is noise of this series, if it was so far out before.
    furthest = float(np.abs(earlier - median).max())
    if far <= 1.2 * furthest:
        return None
    if robust_statistics.commonest(earlier) * _TIED > len(earlier):
        noise = _record_p(earlier, far / (furthest or far), len(newest)) >= false_alarms
    else:
        least = abs(robust_statistics.robust_z(median + far, earlier))
        noise = least <= robust_statistics.z_limit(len(earlier), false_alarms)
    kind = Kind.STEP if len(newest) > 1 else Kind.OUTLIER
    z = robust_statistics.robust_z(float(newest[-1]), earlier)
    finding = Finding(kind, median, float(np.median(newest)), z, len(earlier))
    return finding if finding.matters and not noise else None


def _record_p(earlier: Array, ratio: float, count: int) -> float:
    """How likely the newest ``count`` values are ``ratio`` times further out than all ``earlier`` ones by chance.

    They are the furthest of all with a probability that does not depend on the distribution (Wilks 1941); by ``ratio``,
    in no heavier tail than one that falls with its square.
    """
    p = 1 / math.comb(len(earlier) + count, count)
    # A tail that a few values show is not known.
    return p / ratio ** (2 * count) if len(earlier) - robust_statistics.commonest(earlier) >= _TAIL else p
