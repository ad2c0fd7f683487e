"""Group measured values by the reference that judges them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.history.adding_up import nights_of
from reports.history.dataset import MetricSeries, day
from reports.history.robust_statistics import Array

# ReFrame's display name: Class %parameter=value ….
_PARAMETER = re.compile(r"%(?:\w+\.)*(\w+)=(\S+)")


@dataclass(frozen=True)
class ReferencePath:
    """Locate a reference: the file, and the keys in it with the metric last."""

    file: str
    keys: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """Return the keys joined by dots, as the patterns of ``$sources`` match them."""
        return ".".join(self.keys)


@dataclass(frozen=True)
class ReferenceSample:
    """Hold all values of one reference, oldest first; ``informational``: they need no reference and have none."""

    place: ReferencePath
    unit: str
    sign: int
    informational: bool
    values: Array
    times: Array
    a_series: float
    a_night: float
    """``a_series``: mean number of values of one set of nodes; ``a_night``: the same in one night."""

    @property
    def window(self) -> str:
        return f"{day(float(self.times[0]))[:10]} to {day(float(self.times[-1]))[:10]}"


def samples(site: str, series: list[MetricSeries], documents: Mapping[str, Any], newest: int) -> list[ReferenceSample]:
    """Return the ``newest`` values of each reference; ``documents`` are the site's reference files (name -> YAML).

    Series of a check that is in no file are left out (see ``unknown_checks``).
    """
    gathered: dict[ReferencePath, list[MetricSeries]] = {}
    for one in series:
        for place in _places(site, one, documents):
            gathered.setdefault(place, []).append(one)
    ordered = sorted(gathered.items(), key=lambda item: item[0].keys)
    return [_sample(place, members, newest) for place, members in ordered]


def unknown_checks(series: list[MetricSeries], documents: Mapping[str, Any]) -> list[str]:
    """Return advice on each check that is in no file although its metrics need references."""
    unknown: dict[tuple[str, str], dict[str, str]] = {}
    for one in series:
        if not _informational(one) and not any(one.check_class in document for document in documents.values()):
            unknown.setdefault((one.check_class, one.family), {}).update(_PARAMETER.findall(one.case))
    found = []
    for (name, family), parameters in sorted(unknown.items()):
        index = f"$index: [{', '.join(parameters)}]" if parameters else ""
        keys = "; keep only the keys of $index by which its references differ" if parameters else ""
        found.append(
            f"no reference file has {name}: add `{name}: {{{index}}}` to {family.partition('/')[0]}.yaml{keys}"
        )
    return found


def _informational(series: MetricSeries) -> bool:
    """Return whether the series is informational and the site has no bound for it."""
    return series.informational and not series.bounded


def _places(site: str, series: MetricSeries, documents: Mapping[str, Any]) -> Iterator[ReferencePath]:
    special = {"$system": site, "$partition": f"{site}:{series.partition}", "$environ": series.environ}
    known = {**special, **dict(_PARAMETER.findall(series.case))}
    for file, document in documents.items():
        entry = document.get(series.check_class)
        index = entry.get("$index", []) if isinstance(entry, dict) else None
        if isinstance(index, list) and all(key in known for key in index):
            keys = []
            for key in index:
                keys.append(_key(entry, known[key]))
                entry = entry.get(keys[-1], {}) if isinstance(entry, dict) else {}
            yield ReferencePath(file, (series.check_class, *keys, series.metric))


def _key(entry: Any, value: str) -> str:
    """Return the key of ``entry`` for ``value``: the value itself, or a regular expression that matches all of it."""
    if isinstance(entry, dict) and value not in entry:
        for key in entry:
            try:
                if isinstance(key, str) and re.fullmatch(key, value):
                    return key
            except re.error:
                continue
    return value


def _sample(place: ReferencePath, members: list[MetricSeries], most: int) -> ReferenceSample:
    values = np.concatenate([member.values for member in members])
    times = np.concatenate([member.times for member in members])
    order = np.argsort(times, kind="stable")[-most:]
    newest = max(members, key=lambda member: float(member.times[-1]))
    nights = sum(int(nights_of(member.times)[-1]) + 1 for member in members)
    informational, n = _informational(newest), len(values)
    return ReferenceSample(
        place, newest.unit, newest.sign, informational, values[order], times[order], n / len(members), n / nights
    )
