"""Where things lie for a site, whether an environment is installed, and from what it was installed.

``$KAPPA_SPACK_STATE`` (default ``.kappa/spack``) holds one folder for each site.
"""

import hashlib
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.folders import home, own_sites, sites_called
from kappa.core.ground.whole_files import make_folder, read_text, write_atomically
from kappa.core.vocabulary.spack_tables import ENVIRONMENTS, REPOSITORY, ProgramTable
from spack_envs.installer.chosen import VARIABLE, changed_roots
from spack_envs.installer.origins import Origins, digest_of

#: Kept for the campaign: the solver's answer, and what is installed.
ARTEFACTS = ("spack.yaml", "spack.lock", "specs.json", "installed.json")
_RECORD_LIMIT = 1 << 20


def state_root() -> Path:
    return Path(os.environ.get("KAPPA_SPACK_STATE") or home() / ".kappa/spack").resolve()


@dataclass(frozen=True)
class SpackSite:
    name: str

    @property
    def facts(self) -> Path:
        """The site's part of Spack's configuration."""
        return next(iter(sites_called(self.name)), own_sites() / self.name) / "spack"

    @property
    def prepared(self) -> Path:
        """What the site's script ``prepare`` writes: facts that depend on where things lie."""
        return self.folder / "facts"

    @property
    def folder(self) -> Path:
        return state_root() / self.name

    def install_command(self, environment: str) -> str:
        """What a person types to install it."""
        chosen = os.environ.get(VARIABLE)
        before = f"{VARIABLE}={shlex.quote(chosen)} " if chosen else ""
        return f"{before}spack_envs/install {self.name} {environment}"

    def environment(self, table: ProgramTable) -> "SpackEnvironment":
        return SpackEnvironment(self, table, tuple(changed_roots(table.name)))


@dataclass(frozen=True)
class SpackEnvironment:
    """One environment of a site; its folder is a Spack environment.

    ``roots`` are the specs that are asked of Spack where a person chose one of them; empty: the suite's own.
    """

    site: SpackSite
    table: ProgramTable
    roots: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """That of its folder and of ReFrame's environment: with chosen specs it is another one."""
        chosen = hashlib.sha256("\n".join(self.roots).encode()).hexdigest()[:8]
        return f"{self.table.name}-{chosen}" if self.roots else self.table.name

    @property
    def folder(self) -> Path:
        return self.site.folder / self.name

    @property
    def released(self) -> Path:
        """Configuration that lifts what the site requires and a chosen spec does not have."""
        return self.folder / "released"

    @property
    def view(self) -> Path:
        return self.folder / "view"

    @property
    def lock_file(self) -> Path:
        return self.folder / "spack.lock"

    def missing_programs(self) -> list[str]:
        """Promised programs that are not in the view, or cannot be executed."""
        path = os.pathsep.join(map(str, self.table.folders(self.view)))
        return [program for program in self.table.programs if not shutil.which(program, path=path)]

    def record(self) -> dict[str, Any]:
        """What was written when the installation was complete; empty when it never was."""
        return _record(self.folder)

    def installed(self) -> bool:
        """True when an installation was completed and all that it promises is still there."""
        return bool(self.record()) and not self.missing_programs()

    def setting(self, variable: str) -> str:
        """The environment variable, or what it was when this environment was installed, or the suite's own."""
        record = self.record() or _record(self.site.folder / self.table.name)
        return os.environ.get(variable) or str(record.get(variable, ""))

    def facts(self) -> list[Path]:
        """Folders of Spack configuration, the last one counts most: the site's, what its `prepare` wrote, and those
        of ``$KAPPA_SPACK_CONFIG`` (separated by colons)."""
        more = [Path(folder).resolve() for folder in self.setting("KAPPA_SPACK_CONFIG").split(":") if folder]
        return [self.site.facts, self.site.prepared, *more]

    def origins(self) -> Origins:
        """What the last installation came from, as it is now; of Spack, the one that would be used now."""
        return Origins.recorded(self.record()).now(self.setting("KAPPA_SPACK_ROOT"))

    def digest(self) -> str:
        """SHA-256 over all that decides what is installed: files, and what the last installation came from."""
        return self.origins().digest(self.files_digest())

    def files_digest(self) -> str:
        """SHA-256 over environment, recipes, the site's facts, own sources, and the release of Spack or, of a Spack of
        the site's own, its configuration."""
        sources = [REPOSITORY / name for name in self.table.sources]
        own = self.setting("KAPPA_SPACK_ROOT")
        spack = Path(own) / "etc/spack" if own else ENVIRONMENTS / "release.toml"
        return digest_of([ENVIRONMENTS / self.table.name, ENVIRONMENTS / "repo", *sources, *self.facts(), spack])

    def up_to_date(self) -> bool:
        return self.record().get("digest") == self.digest() and not self.missing_programs()

    def write_record(self, **facts: Any) -> None:
        write_shared(self.folder / "installed.json", json.dumps(facts, indent=2) + "\n")


def write_shared(path: Path, text: str) -> None:
    """Write a whole file of an installation, which others than its owner use, too.

    :raises InputError: it cannot be written.
    """
    make_folder(path.parent)
    write_atomically(path, text, 0o644)


def _record(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_text(folder / "installed.json", _RECORD_LIMIT))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
