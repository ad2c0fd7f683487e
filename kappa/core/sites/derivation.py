"""Derive what a site must run in a mode from the features that ``site.yaml`` states.

A family of checks is expected on a partition if one of its cases in the mode has the features that it needs there, and
its programs in an environment, unless ``expected.yaml`` leaves the case out. A case that lacks a feature needs a reason
in ``expected.yaml``. Otherwise a feature that somebody deletes from ``site.yaml`` would silently make runs smaller.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.sites.consistency import can_have
from kappa.core.sites.description import Partition
from kappa.core.sites.expected import Expected
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.checks import CataloguedCase, CataloguedCheck, catalogue
from kappa.core.vocabulary.features import NEEDS_FEATURE, SIMULATED
from kappa.core.vocabulary.modes import MODES, modes_here
from kappa.core.vocabulary.scales import DERIVED_FEATURES


@dataclass(frozen=True)
class Unexplained:
    """Features that ``partition`` lacks without a reason; a reason for one of them is enough.

    ``families`` have cases that need all these features. ``features`` has ``a|b`` if one of two is enough.
    """

    partition: str
    features: tuple[str, ...]
    families: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """A partition with its features and the features of its environments."""

    name: str
    partition: Partition
    features: frozenset[str]
    environments: Sequence[frozenset[str]]

    def lacks(self, check: CataloguedCheck, case: CataloguedCase) -> frozenset[str]:
        """Return the features that the case lacks here, in its best environment; empty if the case can run."""
        of_environments: list[list[str]] = [
            [need for need in check.needs_environ if not features & {*need.split("|")}]
            for features in self.environments
        ]
        fewest: list[str] = min(of_environments, key=len)
        return frozenset({*case.features} - self.features).union(fewest)

    def explains(self, need: str, expected: Expected) -> bool:
        """Return whether the lack of ``need`` has a reason for the whole site, or follows from the hardware."""
        return all(self._explains(feature, expected) for feature in need.split("|"))

    def _explains(self, feature: str, expected: Expected) -> bool:
        base = NEEDS_FEATURE.get(feature)
        return (
            feature in expected.not_provided
            or feature in DERIVED_FEATURES
            or not can_have(self.partition, feature)
            or (base is not None and base not in self.features and self._explains(base, expected))
        )


def expected_families(site: SiteDescription, expected: Expected, mode: str) -> dict[str, tuple[str, ...]]:
    """Return the families that must run in ``mode``, each with its partitions; none for an unknown mode."""
    found: dict[str, dict[str, None]] = {}
    for place, check, case in _cases(site, mode):
        there = found.setdefault(check.family, {})
        runs = place.name not in there and not place.lacks(check, case)
        if runs and not _left_out(expected, mode, place, check, case):
            there[place.name] = None
    return {family: tuple(found[family]) for family in sorted(found) if found[family]}


def unexplained(site: SiteDescription, expected: Expected, mode: str) -> list[Unexplained]:
    """Return the features that partitions lack for cases of ``mode`` without a reason: the fewest for each partition.

    Simulated partitions need no reason, because their checks are a choice. The lack of scales and placements that
    follow from the nodes is explained elsewhere (``kappa.core.vocabulary.scales.derived_features``).
    """
    found: dict[tuple[str, frozenset[str]], set[str]] = {}
    for place, check, case in _cases(site, mode):
        lacking = place.lacks(check, case) if SIMULATED not in place.features else frozenset()
        if check.family in found.get((place.name, lacking), ()):
            continue
        explained = not lacking or any(place.explains(one, expected) for one in lacking)
        if not explained and not _left_out(expected, mode, place, check, case):
            found.setdefault((place.name, lacking), set()).add(check.family)
    return [
        Unexplained(name, tuple(sorted(lacking)), tuple(sorted(set().union(*_of_supersets(found, name, lacking)))))
        for name, lacking in found
        if not any(other == name and fewer < lacking for other, fewer in found)
    ]


def _of_supersets(
    found: Mapping[tuple[str, frozenset[str]], set[str]], name: str, lacking: frozenset[str]
) -> Iterator[set[str]]:
    return (families for (other, more), families in found.items() if other == name and lacking <= more)


def _left_out(expected: Expected, mode: str, place: _Place, check: CataloguedCheck, case: CataloguedCase) -> bool:
    return expected.leaves_out(mode, place.name, check.family, [*case.features, *check.needs_environ])


def _cases(site: SiteDescription, mode: str) -> Iterator[tuple[_Place, CataloguedCheck, CataloguedCase]]:
    """Yield every case of the mode with each partition of the mode, real or simulated as the case requires."""
    if mode not in MODES:
        return
    partitions = site.described.partitions
    places = [_place(site, name) for name, one in partitions.items() if not one.modes or mode in one.modes]
    also_in, not_in = ([getattr(one.partition, key) for one in places] for key in ("also_in", "not_in"))
    for name, check in catalogue().items():
        tags = modes_here(name, check.modes, also_in, not_in)
        for case in check.cases:
            if not MODES[mode].takes(name, tags, case.parameters):
                continue
            for place in places:
                fits = check.on_fabrics if SIMULATED in place.features else SIMULATED not in case.features
                if fits:
                    yield place, check, case


def _place(site: SiteDescription, name: str) -> _Place:
    partition = site.described.partitions[name]
    return _Place(
        name,
        partition,
        frozenset(site.features_of(name)),
        [frozenset(site.environment_features(environment)) for environment in partition.environments],
    )
