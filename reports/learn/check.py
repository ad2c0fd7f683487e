"""Whether references still fit what is measured: stale, too loose, too tight."""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports.learn.entries import Entry, entries
from reports.learn.limits import ChangedError, Healthy, RefusedError, healthy, spread
from reports.learn.samples import Place, Sample

# A bound that healthy values cross more often than this is too tight.
TIGHT_FALSE_ALARMS = 0.01
# A bound this many times further from the centre than the noise warrants is too loose.
LOOSE = 3.0


@dataclass(frozen=True)
class Objection:
    dotted: str
    what: str
    why: str


@dataclass
class Checked:
    """``held`` counts the references that were held against samples; ``not_held`` says why another was not."""

    objections: list[Objection] = field(default_factory=list)
    held: int = 0
    not_held: list[tuple[str, str]] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)
    """References of which no source gives a date."""


def check_references(
    found: Sequence[Sample],
    documents: Mapping[str, Any],
    pattern: str,
    false_alarms: float,
    max_age_days: int,
    today: datetime.date,
) -> Checked:
    """What is wrong with the references in ``documents`` whose dotted name ``pattern`` matches.

    The age of each is looked at; their bounds are, as far as ``found`` has values to hold them against.
    """
    samples = {sample.place: sample for sample in found}
    checked = Checked()
    for entry in entries(documents, pattern):
        if entry.since is None:
            checked.undated.append(entry.place.dotted)
        elif (age := (today - entry.since).days) > max_age_days:
            checked.objections.append(Objection(entry.place.dotted, "stale", f"of {entry.since}, {age} days old"))
        _hold(checked, entry, samples, false_alarms)
    return checked


def _hold(checked: Checked, entry: Entry, samples: Mapping[Place, Sample], false_alarms: float) -> None:
    dotted = entry.place.dotted
    try:
        if entry.bounds is None:
            raise RefusedError("the entry does not begin with three numbers")
        if not any(map(math.isfinite, entry.bounds)):
            raise RefusedError("it has no bound")
        if entry.place not in samples:
            raise RefusedError("never measured")
        sample = samples[entry.place]
        objections = _width(healthy(sample.values, sample.times), sample.unit, *entry.bounds, false_alarms)
    except ChangedError as err:
        # What wanders has no noise to hold a bound against.
        change = f"{err.finding.before:.4g} to {err.finding.after:.4g} {samples[entry.place].unit}".strip()
        objections = [("stale", f"the measured level has changed ({err.finding.kind.value}): {change}")]
    except RefusedError as err:
        checked.not_held.append((dotted, str(err)))
        return
    checked.held += 1
    checked.objections += [Objection(dotted, what, why) for what, why in objections]


def _width(sample: Healthy, unit: str, lower: float, upper: float, false_alarms: float) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    warranted = spread(sample, 0, false_alarms)
    tight = spread(sample, 0, 2 * TIGHT_FALSE_ALARMS)
    for bound, limit, close in ((lower, warranted.lower, tight.lower), (upper, warranted.upper, tight.upper)):
        if not math.isfinite(bound):
            continue
        sign = -1 if bound is lower else 1
        allowed, needed, least = ((edge - warranted.centre) * sign for edge in (bound, limit, close))
        text = f"{bound:.4g} {unit}".strip()
        if allowed < least:
            found.append(("too tight", f"{text}; healthy values reach {close:.4g}"))
        elif allowed > LOOSE * needed:
            found.append(("too loose", f"{text}; the noise warrants {limit:.4g}"))
    return found
