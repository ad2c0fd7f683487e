"""References as past runs would have them, and why some would not."""

from collections.abc import Iterable

from reports.learn.limits import RefusedError, healthy, learn_limits
from reports.learn.patch import Proposal
from reports.learn.samples import Sample
from reports.learn.sight import sight


def proposals(found: Iterable[Sample], false_alarms: float, of_nights: float) -> tuple[list[Proposal], list[str]]:
    """What to propose for each of ``found``, and in words what nothing is proposed for.

    ``of_nights``: the rate of false alarms at which a night judges a series of the site.
    """
    proposed, refused, informational = [], [], 0
    for one in found:
        if one.informational:
            informational += 1
            continue
        try:
            sample = healthy(one.values, one.times)
            limits = learn_limits(sample, one.sign, false_alarms)
        except RefusedError as err:
            refused.append(f"no reference for {one.place.dotted}: {err}")
            continue
        samples = len(sample.values)
        pattern = f"; by {sample.pattern.period}, bounds hold on each" if sample.pattern else ""
        method = (
            f"median of {samples} values, {one.window}; bounds that a healthy value crosses with probability "
            f"{false_alarms:g} (tails as the sample has them), not inside what was measured{pattern}; "
            f"{len(one.values) - samples} outliers left out; no failed node check, no transient"
        )
        seen = sight(sample, limits, of_nights, one.a_series, one.a_night)
        proposed.append(Proposal(one.place, limits, one.unit, "learned", samples, method, seen))
    if informational:
        refused.insert(0, f"{informational} informational metrics left out: a reference would gate them")
    return proposed, refused
