"""Check whether a site's references still fit the measurements: stale, too loose, too tight."""

import datetime
import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports.learn.limits import ChangedError, Healthy, RefusedError, healthy, spread
from reports.learn.samples import ReferencePath, ReferenceSample

# A bound is too tight if healthy values cross it more often than this.
TIGHT_FALSE_ALARMS = 0.01
# A bound is too loose if it is so many times further from the centre than the noise requires.
LOOSE = 3.0


@dataclass(frozen=True)
class Entry:
    """Describe a reference. ``bounds`` are absolute, infinite where unbounded; ``None`` if they are no numbers."""

    place: ReferencePath
    bounds: tuple[float, float] | None
    since: datetime.date | None
    """The date of the first matching entry of ``$sources``; the checks use the same entry."""


def entries(documents: Mapping[str, Any], pattern: str) -> Iterator[Entry]:
    """Yield every reference in ``documents`` (file -> YAML) whose dotted name matches the shell pattern ``pattern``."""
    for file, document in documents.items():
        for keys, value in _lists(document):
            place = ReferencePath(file, keys)
            if fnmatch.fnmatchcase(place.dotted, pattern):
                yield Entry(place, _bounds(value), _since(place.dotted, document.get("$sources")))


def _lists(node: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for key, value in node.items():
        keys = (*above, str(key))
        if str(key).startswith("$"):
            continue  # $index and $sources
        if isinstance(value, list):
            yield keys, value
        elif isinstance(value, dict):
            yield from _lists(value, keys)


def _bounds(entry: list[Any]) -> tuple[float, float] | None:
    try:
        value, lower, upper = (None if item is None else float(item) for item in entry[:3])
    except (TypeError, ValueError):
        return None
    if value is None:
        return None
    scale = abs(value) or 1.0
    return (-math.inf if lower is None else value + lower * scale, math.inf if upper is None else value + upper * scale)


def _since(dotted: str, sources: Any) -> datetime.date | None:
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict) and fnmatch.fnmatchcase(dotted, str(source.get("match"))):
            date = source.get("date")
            # A datetime is a date, too, but the two cannot be compared.
            date = date.date() if isinstance(date, datetime.datetime) else date
            return date if isinstance(date, datetime.date) else None
    return None


@dataclass(frozen=True)
class Objection:
    """Describe a reference that does not fit: its dotted name, the kind of problem and the reason."""

    dotted: str
    what: str
    why: str


@dataclass
class Checked:
    """Hold the result. ``held``: number of compared references. ``not_held``: (reference, reason) of the others."""

    objections: list[Objection] = field(default_factory=list)
    held: int = 0
    not_held: list[tuple[str, str]] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)
    """References without a dated source."""


def check_references(
    found: Sequence[ReferenceSample],
    documents: Mapping[str, Any],
    pattern: str,
    false_alarms: float,
    max_age_days: int,
    today: datetime.date,
) -> Checked:
    """Check the references in ``documents`` whose dotted name matches ``pattern``.

    The age of each reference is checked. Its bounds are checked if ``found`` has values to compare them with.
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


def _hold(
    checked: Checked, entry: Entry, samples: Mapping[ReferencePath, ReferenceSample], false_alarms: float
) -> None:
    dotted = entry.place.dotted
    try:
        if entry.bounds is None:
            raise RefusedError("the entry does not begin with three numbers")
        if not any(map(math.isfinite, entry.bounds)):
            raise RefusedError("the reference has no bound")
        if entry.place not in samples:
            raise RefusedError("never measured")
        sample = samples[entry.place]
        objections = _width(healthy(sample.values, sample.times), sample.unit, *entry.bounds, false_alarms)
    except ChangedError as err:
        # The noise of a drifting sample is unknown, so its bounds cannot be checked.
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
            found.append(("too loose", f"{text}; the noise requires only {limit:.4g}"))
    return found
