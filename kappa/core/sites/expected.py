"""The file ``site_configs/SITE/expected.yaml``: features that a site lacks and checks that it leaves out, with reasons.

It contains only exceptions: ``site.yaml`` determines what a mode must run (``kappa.core.sites.derivation``).
"""

import pathlib
from collections.abc import Collection, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.sites import site_file
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.checks import families
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, NODES_THAT_EXIST, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.keys import said
from kappa.core.vocabulary.modes import MODES

FILE = "expected.yaml"
Reason = Annotated[str, Meta(min_length=1, pattern=r"\S")]
_KNOWN = {**PARTITION_FEATURES, **STORAGE_FEATURES, **ENVIRONMENT_FEATURES}
_NO_MODES = (
    "no longer a key: the features in site.yaml determine what a mode must run. Remove `modes`, and list exceptions"
    " under `left_out`, with `why`"
)


class LeftOut(Struct, frozen=True, forbid_unknown_fields=True):
    """Cases that the site does not expect, and the reason. A case must match all keys of the entry.

    ``features`` matches cases that need one of them. Without ``families`` and ``modes``, the partitions lack these
    features; with them, the partitions have the features.
    """

    why: Annotated[Reason, said("the reason")]
    features: Annotated[list[str], said("cases that need one of these features")] = []
    families: Annotated[list[str], said("cases of these families", default="all families")] = []
    partitions: Annotated[list[str], said("cases on these partitions", default="all partitions")] = []
    modes: Annotated[list[str], said("cases in these modes", default="all modes")] = []

    @property
    def narrowed(self) -> bool:
        """Whether the entry is only about some families or modes."""
        return bool(self.families or self.modes)

    def covers(self, mode: str, partition: str, family: str, needs: Collection[str]) -> bool:
        """Return whether the entry covers a case with these ``needs``; ``a|b`` in them means one of two features."""
        asked = ((self.modes, mode), (self.partitions, partition), (self.families, family))
        if not all(not named or one in named for named, one in asked):
            return False
        return not self.features or any({*need.split("|")} <= {*self.features} for need in needs)


class Expected(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The exceptions of a site."""

    default_mode: Annotated[str, said("the mode by which Kappa judges a report that states none")] = "nightly"
    partitions: Annotated[
        list[str], said("partitions that `site.yaml` must have, so that none is removed or renamed unnoticed")
    ] = []
    not_provided: Annotated[
        dict[str, Reason], said("`{FEATURE: why}`: features that no partition and no environment has")
    ] = {}
    left_out: Annotated[list[LeftOut], said("cases that the site does not expect, each entry with its reason")] = []

    def leaves_out(self, mode: str, partition: str, family: str, needs: Collection[str]) -> bool:
        """Return whether an entry of ``left_out`` covers the case; arguments as for ``LeftOut.covers``."""
        return any(entry.covers(mode, partition, family, needs) for entry in self.left_out)

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons why partitions lack a feature, by feature, without features that the whole site lacks."""
        found: dict[str, list[str]] = {}
        for entry in self.left_out:
            for feature in [] if entry.narrowed else entry.features:
                whys = found.setdefault(feature, [])
                whys += [] if entry.why in whys else [entry.why]
        return {feature: "; ".join(whys) for feature, whys in found.items()}


def read_expected(folder: pathlib.Path, site: SiteDescription | None) -> Expected:
    """Read the file, and check its names against the vocabulary and ``site``. Without the file there is no exception.

    :raises InputError: the file is not valid; names it, and for each problem the line, the key and the expected value.
    """
    if not (folder / FILE).exists():
        return Expected()
    file = YamlFile(folder / FILE)
    if isinstance(file.value, Mapping) and "modes" in file.value:
        file.refuse(("modes",), _NO_MODES)
        require_sound([file])
    expected: Expected = file.decode(Expected, {} if file.value is None else file.value)
    require_sound([file])
    file.require_known(("default_mode",), expected.default_mode, MODES, "mode")
    partitions = site.described.partitions if site else expected.partitions
    for number, name in enumerate(expected.partitions):
        file.require_known(("partitions", number), name, partitions, "partition of the site")
    stated = site.stated_features() if site else set()
    for feature in expected.not_provided:
        at: Path = ("not_provided", feature)
        file.require_known(at, feature, [*_KNOWN, NODES_THAT_EXIST], "feature")
        if feature in stated:
            file.refuse(at, f"contradicts {site_file.FILE}, where the site has it: remove it here or there")
    for number, entry in enumerate(expected.left_out):
        _check_left_out(file, ("left_out", number), entry, site)
    require_sound([file])
    return expected


def _check_left_out(file: YamlFile, at: Path, entry: LeftOut, site: SiteDescription | None) -> None:
    if not (entry.features or entry.families or entry.partitions):
        file.refuse(at, "expected the key features, families or partitions")
    known = [
        file.require_known((*at, key, number), name, legal, what)
        for key, names, legal, what in (
            ("features", entry.features, _KNOWN, "feature"),
            ("families", entry.families, families(), "family of checks"),
            ("modes", entry.modes, MODES, "mode"),
            ("partitions", entry.partitions, site.described.partitions if site else entry.partitions,
             "partition of the site"),
        )
        for number, name in enumerate(names)
    ]  # fmt: skip
    if site is None or not all(known):
        return
    for partition in entry.partitions or site.described.partitions:
        has = {*site.features_of(partition)}.union(
            *map(site.environment_features, site.described.partitions[partition].environments)
        )
        by_fact = {*site.features_of(partition)} - {*site.as_stated.features_of(partition)}
        for number, feature in enumerate(entry.features):
            here: Path = (*at, "features", number)
            # An entry for some families or modes is about features that exist, any other about missing ones.
            if entry.narrowed and entry.partitions and feature not in has:
                file.refuse(here, f"contradicts {site_file.FILE}, where {partition} does not have {feature}")
            if not entry.narrowed and feature in has - by_fact:
                file.refuse(here, f"contradicts {site_file.FILE}, where {partition} has {feature}")
