"""A mirror of the sources of an environment, for a machine without a network."""

import json
from dataclasses import dataclass
from pathlib import Path

from spack_envs.installer.installation import exclusive, prepare
from spack_envs.installer.roots import roots, with_roots
from spack_envs.installer.solving import settings_for
from spack_envs.installer.spack import Spack
from spack_envs.installer.state import Environment, write_shared
from spack_envs.installer.steps import step

# The machine that makes the mirror need not be one that the programs run on.
_ELSEWHERE = ("-c", "concretizer:targets:host_compatible:false")
# Also what its licence keeps from a public mirror.
_CREATE = ("mirror", "create", "--private", "--all")


@dataclass(frozen=True)
class Mirrored(Environment):
    """Solved in a folder beside the installed one, whose lock stays as it is."""

    @property
    def folder(self) -> Path:
        return self.site.folder / f"{self.name}.mirror"


def configuration(folder: Path) -> Path:
    """The folder, in a mirror, of the configuration by which Spack finds it, wherever it is copied to."""
    return folder.resolve() / "config"


def make(environment: Environment, folder: Path) -> None:
    """Fills ``folder`` with the sources of all that the environment builds.

    :raises InstallError: there is no solution, or a source cannot be had.
    """
    with exclusive(environment.site):
        spack = prepare(Mirrored(environment.site, environment.table, environment.roots))
        (spack.environment.folder / "install.log").unlink(missing_ok=True)
        _ask_for_wrapper(spack)
        settings_for(spack)
        step(spack, "solving", *_ELSEWHERE, "concretize", "--force")
        step(spack, "mirroring", *_CREATE, f"--directory={folder.resolve()}", *_without_own(spack))
    mirrors = {"kappa": {"url": "..", "source": True, "binary": False}}
    write_shared(configuration(folder) / "mirrors.yaml", json.dumps({"mirrors": mirrors}) + "\n")


def _without_own(spack: Spack) -> list[str]:
    """The option that leaves out packages whose sources are of this repository: Spack 1.1 cannot mirror these."""
    own = [name.replace("_", "-") for name in spack.environment.table.sources]
    return [f"--exclude-specs={' '.join(own)}"] if own else []


def _ask_for_wrapper(spack: Spack) -> None:
    """Where the site's compilers are not, the solver does without the wrapper that they need (Spack 1.0 and later)."""
    file = spack.environment.folder / "spack.yaml"
    text = file.read_text(encoding="utf-8")
    if spack.version >= (1,):
        file.write_text(with_roots(text, [*roots(text), "compiler-wrapper"]), encoding="utf-8")
