"""Whether references still fit what is measured: stale, too loose, too tight."""

import datetime
import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.history.findings import Kind
from reports.history.judgement import unsteady
from reports.learn.limits import MIN_SAMPLES, spread
from reports.learn.samples import Sample

# A bound that healthy values cross more often than this is too tight.
TIGHT_FALSE_ALARMS = 0.01
# A bound this many times further from the centre than the noise warrants is too loose.
LOOSE = 3.0


@dataclass(frozen=True)
class Objection:
    dotted: str
    what: str
    why: str


def check_references(
    found: Sequence[Sample], documents: Mapping[str, Any], false_alarms: float, max_age_days: int, today: datetime.date
) -> tuple[list[Objection], int]:
    """What is wrong with the references of ``found``, and how many could be held against enough values."""
    objections: list[Objection] = []
    checked = 0
    for sample in found:
        entry = _entry(documents[sample.place.file], sample.place.keys)
        if entry is None or len(sample.values) < MIN_SAMPLES:
            continue
        checked += 1
        whys = _old(sample, documents[sample.place.file], max_age_days, today)
        # What wanders has no noise to hold a bound against.
        whys += _changed(sample) or _width(sample, *entry, false_alarms)
        objections += [Objection(sample.place.dotted, what, why) for what, why in whys]
    return objections, checked


def _entry(document: Any, keys: Sequence[str]) -> tuple[float, float] | None:
    """Absolute lower and upper bound of a reference; ``None`` without one."""
    node = document
    for key in keys:
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    try:
        value, lower, upper = (None if item is None else float(item) for item in node[:3])
    except (TypeError, ValueError):
        return None
    if value is None:
        return None
    scale = abs(value) or 1.0
    return (-math.inf if lower is None else value + lower * scale, math.inf if upper is None else value + upper * scale)


def _old(sample: Sample, document: Any, max_age_days: int, today: datetime.date) -> list[tuple[str, str]]:
    sources = document.get("$sources", [])
    source: dict[str, Any] = next((item for item in sources if _matches(sample, item)), {})
    since = source.get("date")
    age = (today - since).days if isinstance(since, datetime.date) else 0
    return [("stale", f"of {since}, {age} days old")] if age > max_age_days else []


def _matches(sample: Sample, source: Any) -> bool:
    return isinstance(source, dict) and fnmatch.fnmatchcase(sample.place.dotted, str(source.get("match")))


def _changed(sample: Sample) -> list[tuple[str, str]]:
    finding = unsteady(sample.values, 0.001)
    if finding is None or finding.kind is Kind.BIMODAL:
        return []
    change = f"{finding.before:.4g} to {finding.after:.4g} {sample.unit}".strip()
    return [("stale", f"the measured level has changed ({finding.kind.value}): {change}")]


def _width(sample: Sample, lower: float, upper: float, false_alarms: float) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if not np.any(sample.values):
        return found  # Always 0: there is no noise to hold a bound against.
    warranted = spread(sample.values, 0, false_alarms)
    tight = spread(sample.values, 0, 2 * TIGHT_FALSE_ALARMS)
    for bound, limit, close in ((lower, warranted.lower, tight.lower), (upper, warranted.upper, tight.upper)):
        if not math.isfinite(bound):
            continue
        sign = -1 if bound is lower else 1
        allowed, needed, least = ((edge - warranted.centre) * sign for edge in (bound, limit, close))
        text = f"{bound:.4g} {sample.unit}".strip()
        if allowed < least:
            found.append(("too tight", f"{text}; healthy values reach {close:.4g}"))
        elif allowed > LOOSE * needed:
            found.append(("too loose", f"{text}; the noise warrants {limit:.4g}"))
    return found
