"""Find the folders of a site's environments, whether an environment is installed, and from what it was installed.

``$KAPPA_SPACK_STATE`` (default ``.kappa/spack``) has one folder for each site.
"""

import hashlib
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.folders import home, only_site, own_sites
from kappa.core.ground.whole_files import make_folder, read_text, write_atomically
from kappa.core.vocabulary.spack_tables import ENVIRONMENTS, REPOSITORY, ProgramTable
from spack_envs.installer.chosen import VARIABLE, changed_roots
from spack_envs.installer.origins import Origins, digest_of

#: Files kept with results: the specs, the solver's answer, and the installed packages.
ARTEFACTS = ("spack.yaml", "spack.lock", "specs.json", "installed.json")
_RECORD_LIMIT = 1 << 20


def state_root() -> Path:
    return Path(os.environ.get("KAPPA_SPACK_STATE") or home() / ".kappa/spack").resolve()


@dataclass(frozen=True)
class SpackSite:
    name: str

    @property
    def facts(self) -> Path:
        """Return the folder of the site's Spack configuration."""
        return (only_site(self.name) or own_sites() / self.name) / "spack"

    @property
    def prepared(self) -> Path:
        """Return the folder that the site's script ``prepare`` fills with configuration that depends on paths."""
        return self.folder / "facts"

    @property
    def folder(self) -> Path:
        return state_root() / self.name

    def install_command(self, environment: str) -> str:
        """Return the command that installs an environment."""
        chosen = os.environ.get(VARIABLE)
        before = f"{VARIABLE}={shlex.quote(chosen)} " if chosen else ""
        return f"{before}spack_envs/install {self.name} {environment}"

    def environment(self, table: ProgramTable) -> "SpackEnvironment":
        return SpackEnvironment(self, table, tuple(changed_roots(table.name)))


@dataclass(frozen=True)
class SpackEnvironment:
    """One environment of a site. Its folder is a Spack environment.

    ``roots``: the specs, if the user chose one of them; empty for the suite's own specs.
    """

    site: SpackSite
    table: ProgramTable
    roots: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of its folder and of ReFrame's environment. Chosen specs change it."""
        chosen = hashlib.sha256("\n".join(self.roots).encode()).hexdigest()[:8]
        return f"{self.table.name}-{chosen}" if self.roots else self.table.name

    @property
    def folder(self) -> Path:
        return self.site.folder / self.name

    @property
    def released(self) -> Path:
        """Return the folder of configuration that removes site requirements that contradict a chosen spec."""
        return self.folder / "released"

    @property
    def view(self) -> Path:
        return self.folder / "view"

    @property
    def lock_file(self) -> Path:
        return self.folder / "spack.lock"

    def missing_programs(self) -> list[str]:
        """Return the expected programs that are not in the view, or not executable."""
        path = os.pathsep.join(map(str, self.table.folders(self.view)))
        return [program for program in self.table.programs if not shutil.which(program, path=path)]

    def record(self) -> dict[str, Any]:
        """Return the record of the complete installation; empty if there is none."""
        return _record(self.folder)

    def installed(self) -> bool:
        """Return whether the installation is complete and all expected programs still exist."""
        return bool(self.record()) and not self.missing_programs()

    def setting(self, variable: str) -> str:
        """Return an environment variable, or its value when this environment was installed, or the suite's own one."""
        record = self.record() or _record(self.site.folder / self.table.name)
        return os.environ.get(variable) or str(record.get(variable, ""))

    def facts(self) -> list[Path]:
        """Return the folders of Spack configuration, in increasing priority.

        They are the site's folder, the folder of its `prepare`, and ``$KAPPA_SPACK_CONFIG`` (separated by colons).
        """
        more = [Path(folder).resolve() for folder in self.setting("KAPPA_SPACK_CONFIG").split(":") if folder]
        return [self.site.facts, self.site.prepared, *more]

    def origins(self) -> Origins:
        """Return the origins of the last installation as they are now, with the Spack that would be used now."""
        return Origins.recorded(self.record()).now(self.setting("KAPPA_SPACK_ROOT"))

    def digest(self) -> str:
        """Return the SHA-256 over files and origins, which determine the installation."""
        return self.origins().digest(self.files_digest())

    def files_digest(self) -> str:
        """Return the SHA-256 over the files that determine the installation.

        They are the environment, recipes, the site's Spack configuration, sources of this repository, and the release
        of Spack; for a Spack of the site, its configuration.
        """
        sources = [REPOSITORY / name for name in self.table.sources]
        own = self.setting("KAPPA_SPACK_ROOT")
        spack = Path(own) / "etc/spack" if own else ENVIRONMENTS / "release.toml"
        return digest_of([ENVIRONMENTS / self.table.name, ENVIRONMENTS / "repo", *sources, *self.facts(), spack])

    def up_to_date(self) -> bool:
        return self.record().get("digest") == self.digest() and not self.missing_programs()

    def write_record(self, **facts: Any) -> None:
        write_shared(self.folder / "installed.json", json.dumps(facts, indent=2) + "\n")


def write_shared(path: Path, text: str) -> None:
    """Write a whole file of an installation, readable for all users.

    :raises InputError: the file cannot be written.
    """
    make_folder(path.parent)
    write_atomically(path, text, 0o644)


def _record(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_text(folder / "installed.json", _RECORD_LIMIT))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
