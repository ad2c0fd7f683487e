"""References as past runs would have them, and why some would not."""

from collections.abc import Iterable

from reports.learn.limits import RefusedError, learn_limits
from reports.learn.patch import Proposal
from reports.learn.samples import Sample


def proposals(found: Iterable[Sample], false_alarms: float) -> tuple[list[Proposal], list[str]]:
    """What to propose for each of ``found``, and in words what nothing is proposed for."""
    proposed, refused, informational = [], [], 0
    for one in found:
        if one.informational:
            informational += 1
            continue
        try:
            limits = learn_limits(one.values, one.sign, false_alarms)
        except RefusedError as err:
            refused.append(f"no reference for {one.place.dotted}: {err}")
            continue
        samples = len(one.values) - limits.outliers
        method = (
            f"median of {samples} values, {one.window}; bounds that a healthy value crosses with probability "
            f"{false_alarms:g} (MAD, Student's t), not inside what was measured; "
            f"{limits.outliers} outliers left out; no failed node check, no transient"
        )
        proposed.append(Proposal(one.place, limits, one.unit, "learned", samples, method))
    if informational:
        refused.insert(0, f"{informational} informational metrics left out: a reference would gate them")
    return proposed, refused
