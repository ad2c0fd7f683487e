"""A site: its folder. Each file is read once, when it is first used."""

import functools
import pathlib
import re

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import SIZE_LIMIT, require_sound
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SITES, only_site
from kappa.core.ground.whole_files import make_folder, read_text, write_atomically
from kappa.core.sites import derivation, expected, site_file
from kappa.core.sites.derivation import Unexplained
from kappa.core.sites.expected import Expected, read_expected
from kappa.core.sites.references import check_references
from kappa.core.sites.site_file import SiteDescription, describe
from kappa.core.vocabulary.modes import MODES

#: Folder of a run with a copy of the site's files by which the run was judged.
JUDGED_BY = "judged_by"
_JUDGING = (site_file.FILE, expected.FILE)
_SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class SiteUnknownError(LookupError):
    """No site folder belongs to the report; the message says what Kappa looked for."""


def find_site(systems: tuple[str, ...]) -> pathlib.Path:
    """Return the folder of the site to which a report's cases belong.

    :raises InputError: there are two such folders.
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


def keep_judging_files(site: "Site", run: pathlib.Path) -> None:
    """Write the files of ``site`` that a verdict reads into the folder ``run``, with the text that ``site`` has read.

    :raises InputError: a file cannot be written.
    """
    folder = run / JUDGED_BY / site.folder.resolve().name
    for name, text in site.judging_files.items():
        make_folder((folder / name).parent)
        write_atomically(folder / name, text)


def judging_site(run: pathlib.Path, name: str) -> "Site | None":
    """Return the site with the files by which the run in the folder ``run`` was judged.

    Return ``None`` if they were not kept or are not complete: earlier versions kept no fabrics.
    """
    kept = Site(run / JUDGED_BY / name)
    if not _SITE_NAME.fullmatch(name) or not kept.folder.is_dir():
        return None
    try:
        kept.require_expectations()
    except InputError:
        return None
    return kept


def changed_since(site: "Site", run: pathlib.Path) -> list[pathlib.Path]:
    """Return those files by which the run in the folder ``run`` was judged that differ from the site's present ones."""
    kept = run / JUDGED_BY / site.folder.resolve().name
    now = site.judging_files
    return [kept / name for name in _JUDGING if _text(kept / name) not in (None, now.get(name))]


def _text(path: pathlib.Path) -> str | None:
    try:
        return read_text(path, SIZE_LIMIT)
    except (OSError, UnicodeDecodeError):
        return None


class Site:
    """A site in ``folder``. A property raises ``InputError`` if its file is not valid, with the place and a remedy."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        return clean(self.folder.resolve().name)

    @property
    def path(self) -> str:
        return clean(str(self.folder))

    @property
    def files(self) -> list[str]:
        """The names of its files by which a run is judged, including references."""
        found = [self.folder / name for name in (site_file.FILE, expected.FILE) if (self.folder / name).exists()]
        found += sorted(self.folder.glob("references/*.yaml"))
        return [clean(str(path.relative_to(self.folder))) for path in found]

    @functools.cached_property
    def judging_files(self) -> dict[str, str]:
        """The text of each file that a verdict reads, by its name."""
        fabrics = (f"fabrics/{path.name}" for path in sorted(self.folder.glob("fabrics/*.yaml")))
        found = {name: _text(self.folder / name) for name in (*_JUDGING, *fabrics)}
        return {name: text for name, text in found.items() if text is not None}

    @functools.cached_property
    def description(self) -> SiteDescription | None:
        """The content of ``site.yaml``; ``None`` for a folder that has only ReFrame's settings."""
        return describe(self.folder) if (self.folder / site_file.FILE).exists() else None

    @functools.cached_property
    def expected(self) -> Expected:
        """The exceptions in ``expected.yaml``."""
        return read_expected(self.folder, self.description)

    @functools.cached_property
    def modes(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Mode -> family -> the partitions on which it must run; without modes in which no family must run."""
        if self.description is None:
            return {}
        found = {mode: derivation.expected_families(self.description, self.expected, mode) for mode in MODES}
        return {mode: families for mode, families in found.items() if families}

    def unexplained(self, mode: str) -> list[Unexplained]:
        """Return the features that the site lacks for cases of ``mode`` without a reason."""
        return derivation.unexplained(self.description, self.expected, mode) if self.description else []

    def require_description(self) -> None:
        """Read ``site.yaml``, if it exists."""
        _ = self.description

    def require_expectations(self) -> None:
        """Read the files that the judgement of a run needs."""
        _ = self.modes

    def require_sound(self) -> None:
        """Read every file that was not read yet, so that no run fails later because of one of them."""
        self.require_references()
        _ = self.expected

    def require_references(self) -> None:
        """Check the files in ``references`` against the vocabulary and ``site.yaml``."""
        _ = self._references

    @functools.cached_property
    def _references(self) -> None:
        if self.description:
            require_sound(check_references(self.description))

    @property
    def now(self) -> "Site":
        """The site with the present facts of the machine, which the start of a cluster may have changed."""
        read = self.__dict__.get("description")
        return Site(self.folder) if read and read.described.facts else self
