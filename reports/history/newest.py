"""Whether the newest values stand out from those before."""

import math

import numpy as np

from reports.history import robust_statistics
from reports.history.findings import Finding, Kind
from reports.history.robust_statistics import Array
from reports.history.tails import tail

# After an earlier change the scan over the whole series is blind for this many values more: their ranks differ too
# little from what the series has seen.
_AFTER_A_CHANGE = 7
# Where more than one value in this many is the same (0, mostly), median and MAD are no scale of the others.
_TIED = 3
_TAIL = 5
_OF_A_TAIL = 60


def find_newest(values: Array, stretch: Array, repeats: int, false_alarms: float) -> list[Finding]:
    """A finding when the newest values stand out from the others of ``stretch``, or else from all ``values``.

    ``stretch`` are the newest values since the level last changed: all of them, when it never did. All ``repeats`` of
    the newest night have to stand out: one of them that does was not measured so again.
    """
    whole = len(stretch) == len(values)
    # A step is too young for the ranks while it has fewer values than these.
    longest = robust_statistics.MIN_SEGMENT if whole else _AFTER_A_CHANGE
    found = _young(stretch, range(min(repeats, longest), longest + 1), false_alarms)
    if found:
        offset = len(values) - len(stretch)
        return [Finding(found.kind, found.before, found.after, found.z, found.at + offset)]
    # Too short a stretch has no noise to hold a value against; what the series has never seen is news all the same.
    longest = robust_statistics.MIN_SEGMENT
    found = None if whole else _young(values, range(min(repeats, longest), longest + 1), false_alarms)
    return [found] if found else []


def _young(values: Array, counts: range, false_alarms: float) -> Finding | None:
    for count in (count for count in counts if count <= len(values) - robust_statistics.MIN_SEGMENT):
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
        noise = _tail_p(earlier, median, far) >= false_alarms
    kind = Kind.STEP if len(newest) > 1 else Kind.OUTLIER
    z = robust_statistics.robust_z(float(newest[-1]), earlier)
    finding = Finding(kind, median, float(np.median(newest)), z, len(earlier))
    return finding if finding.matters and not noise else None


def _tail_p(earlier: Array, median: float, far: float) -> float:
    """How likely a value as the ``earlier`` ones is further out than ``far``, on either side, by tails as they have.

    The newest of them tell it: what was slow once and is repaired is no tail.
    """
    earlier = earlier[-_OF_A_TAIL:]
    scale = robust_statistics.centre_and_scale(earlier)[1]
    wider = math.sqrt(1 + math.pi / (2 * len(earlier)))
    return tail(np.abs(earlier - median), scale).beyond(far / wider) if scale else 0.0


def _record_p(earlier: Array, ratio: float, count: int) -> float:
    """How likely the newest ``count`` values are ``ratio`` times further out than all ``earlier`` ones by chance.

    They are the furthest of all with a probability that does not depend on the distribution (Wilks 1941); by ``ratio``,
    in no heavier tail than one that falls with its square.
    """
    p = 1 / math.comb(len(earlier) + count, count)
    # A tail that a few values show is not known.
    return p / ratio ** (2 * count) if len(earlier) - robust_statistics.commonest(earlier) >= _TAIL else p
