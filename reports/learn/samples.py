"""Group measured values by the reference that judges them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kappa.core.sites.references import CasePlace, keys_of, parameters_of
from reports.history.adding_up import nights_of
from reports.history.dataset import MetricSeries, day
from reports.history.robust_statistics import Array


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
            unknown.setdefault((one.check_class, one.family), {}).update(parameters_of(one.case))
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
    place = CasePlace(site, series.partition, series.environ, series.case)
    for file, document in documents.items():
        keys = keys_of(document.get(series.check_class), place)
        if keys is not None:
            yield ReferencePath(file, (series.check_class, *keys, series.metric))


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
