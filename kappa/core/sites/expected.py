"""What a site expects of a run: ``site_configs/<site>/expected.yaml``, and which reference files it has."""

import pathlib
import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.ground.folders import SITES, only_site
from kappa.core.sites import site_file
from kappa.core.sites.contract import FILE as CONTRACT
from kappa.core.sites.contract import load_contract
from kappa.core.sites.references import check_references
from kappa.core.sites.site_file import SiteDescription, describe
from kappa.core.vocabulary.checks import families
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, NODES_THAT_EXIST, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import MODES

FILE = "expected.yaml"
_SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
Partitions = Annotated[list[str], Meta(min_length=1)]
Families = Annotated[dict[str, Partitions], Meta(min_length=1)]


def check_files(site: SiteDescription) -> None:
    """:raises InputError: a file beside ``site.yaml`` cannot be used; names what is wrong in all of them."""
    require_sound(check_references(site))
    if (site.folder / CONTRACT).exists():
        load_contract(site.folder / CONTRACT, site)


class LeftOut(Struct, frozen=True, forbid_unknown_fields=True):
    """A scale or placement, by its partition feature, that these partitions are not expected to run, and why.

    Without ``families`` it holds for all.
    """

    feature: str
    partitions: Partitions
    why: Annotated[str, Meta(min_length=1)]
    families: list[str] = []

    def covers(self, feature: str, partition: str, family: str | None = None) -> bool:
        """Whether ``feature`` is left out on ``partition``: for ``family``, or for all without one."""
        if self.feature != feature or partition not in self.partitions:
            return False
        return not self.families or family in self.families


class Expected(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``expected.yaml``: mode -> family -> partitions; feature -> why the site has it not."""

    default_mode: str
    modes: Annotated[dict[str, Families], Meta(min_length=1)]
    not_provided: dict[str, str] = {}
    left_out: list[LeftOut] = []


@dataclass(frozen=True)
class Site:
    """``modes`` maps a mode to the partitions on which each family must have run."""

    name: str
    path: str
    modes: dict[str, dict[str, tuple[str, ...]]]
    default_mode: str
    not_provided: dict[str, str]
    """Feature -> why the site has it not."""
    reference_files: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    description: SiteDescription | None = None
    """``None`` for a folder without ``site.yaml``: another's expectations of a site."""


class SiteUnknownError(LookupError):
    """No site folder fits the report; the message says what was looked for."""


def find_site(systems: tuple[str, ...]) -> pathlib.Path:
    """The folder of the site whose cases a report holds, where sites are looked for.

    :raises InputError: there are two.
    :raises SiteUnknownError: there is none.
    """
    if len(systems) != 1:
        raise SiteUnknownError(f"the cases come from {len(systems)} systems: {', '.join(systems) or 'none'}")
    name = systems[0]
    if not _SITE_NAME.fullmatch(name):
        raise SiteUnknownError(f"the system's name {one_line(name, 60)!r} cannot be a folder's name")
    folder = only_site(name)
    if folder is None:
        raise SiteUnknownError(f"no folder {SITES}/{name}")
    here = pathlib.Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def load_site(folder: pathlib.Path) -> Site:
    """Read what a site expects; compare all files of its folder with the vocabulary and each other.

    :raises InputError: a file cannot be used; names it, and of each problem the line, the key and what was expected.
    """
    file = YamlFile(folder / FILE)
    expected = file.decode(Expected)
    require_sound([file])
    description = describe(folder) if (folder / site_file.FILE).exists() else None
    _check(file, expected, description)
    require_sound([file])
    if description:
        check_files(description)
    return Site(
        name=clean(folder.resolve().name),
        path=clean(str(folder)),
        modes={
            mode: {family: tuple(partitions) for family, partitions in families.items()}
            for mode, families in expected.modes.items()
        },
        default_mode=expected.default_mode,
        not_provided=expected.not_provided,
        reference_files=tuple(sorted(clean(path.name) for path in folder.glob("references/*.yaml"))),
        left_out=tuple(expected.left_out),
        description=description,
    )


def check_site(folder: pathlib.Path | None) -> SiteDescription | None:
    """Compare the files of a site with the vocabulary; ``None`` for a site that is described elsewhere.

    :raises InputError: as `load_site`.
    """
    return load_site(folder).description if folder and (folder / site_file.FILE).is_file() else None


def _check(file: YamlFile, expected: Expected, site: SiteDescription | None) -> None:
    file.require_known(("default_mode",), expected.default_mode, expected.modes, "mode of this file")
    for mode, of_mode in expected.modes.items():
        file.require_known(("modes", mode), mode, MODES, "mode")
        for family, partitions in of_mode.items():
            at: Path = ("modes", mode, family)
            file.require_known(at, family, families(), "family of checks")
            for number, partition in enumerate(partitions):
                if site:
                    file.require_known((*at, number), partition, site.described.partitions, "partition of the site")
    stated = site.stated_features() if site else set()
    for feature in expected.not_provided:
        at = ("not_provided", feature)
        known = {**PARTITION_FEATURES, **STORAGE_FEATURES, **ENVIRONMENT_FEATURES, NODES_THAT_EXIST: ""}
        file.require_known(at, feature, known, "feature")
        if feature in stated:
            file.refuse(at, f"contradicts {site_file.FILE}, by which the site has it: remove it here or there")
    for number, entry in enumerate(expected.left_out):
        _check_left_out(file, ("left_out", number), entry, site)


def _check_left_out(file: YamlFile, at: Path, entry: LeftOut, site: SiteDescription | None) -> None:
    known = file.require_known((*at, "feature"), entry.feature, PARTITION_FEATURES, "partition feature")
    for number, family in enumerate(entry.families):
        file.require_known((*at, "families", number), family, families(), "family of checks")
    if site is None or not known:
        return
    for number, name in enumerate(entry.partitions):
        here: Path = (*at, "partitions", number)
        if file.require_known(here, name, site.described.partitions, "partition of the site"):
            # For some families it is left out of what is there, for all it is not there.
            if entry.families and entry.feature not in site.features_of(name):
                file.refuse(here, f"contradicts {site_file.FILE}, by which {name} does not have {entry.feature}")
            if not entry.families and entry.feature in site.features_of(name):
                file.refuse(here, f"contradicts {site_file.FILE}, by which {name} has {entry.feature}")
