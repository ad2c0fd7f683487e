"""Installs one environment of a site: prepare, concretise, build, verify, record; or mirrors its sources.

The solver's answer has only compilers that are there and that Spack can wrap.
"""

import functools
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.vocabulary.spack_tables import ENVIRONMENTS, REPOSITORY, specs_file
from spack_envs.installer import compilers
from spack_envs.installer.chosen import contradicted, roots, with_roots
from spack_envs.installer.origins import SPACK, Origins
from spack_envs.installer.spack import OWN_RECIPES, InstallError, Spack, find, release, step
from spack_envs.installer.state import ARTEFACTS, SpackEnvironment, SpackSite, write_shared

# The machine that makes the mirror need not be one that the programs run on.
_ELSEWHERE = ("-c", "concretizer:targets:host_compatible:false")
# Also what its licence keeps from a public mirror.
_CREATE = ("mirror", "create", "--private", "--all")


def solve(spack: Spack) -> Origins:
    """Has Spack write ``spack.lock`` anew; returns what that comes from, with the compilers that build it.

    :raises InstallError: a compiler that is declared does not run, there is no solution, or it has a compiler that
        cannot be used.
    """
    settings = settings_for(spack)
    known = compilers.declared(settings)
    _require_running(spack.environment, known)
    (spack.environment.folder / "install.log").unlink(missing_ok=True)
    step(spack, "solving", "concretize", "--force")
    commands = [path for compiler in _used(spack, known) for path in compiler.commands.values()]
    # The suite's own recipes are among the files.
    recipes = {name: folder for name, folder in settings["repos"].items() if name != OWN_RECIPES}
    return Origins.of(commands, {SPACK: spack.root, **recipes})


def settings_for(spack: Spack) -> dict[str, Any]:
    """Spack's settings, once a chosen spec has come before what the site requires, as `mpi: {require: openmpi}`."""
    environment = spack.environment
    # It would hide what the site requires.
    shutil.rmtree(environment.released, ignore_errors=True)
    settings = spack.settings()
    lifted = contradicted(environment.roots, settings["providers"])
    if lifted:
        # A key that ends with a colon takes the place of what other files have under it.
        packages = {f"{name}:": {"buildable": True} for name in lifted}
        write_shared(environment.released / "packages.yaml", json.dumps({"packages": packages}) + "\n")
        print(
            f"{environment.name}: the chosen spec counts, not what the site requires of {', '.join(lifted)}", flush=True
        )
    return settings


def _require_running(environment: SpackEnvironment, known: list[compilers.Compiler]) -> None:
    found = compilers.broken(known, environment.facts())
    if found:
        raise InstallError(
            "compilers that the site declares do not run, and Spack would build without its compiler wrapper:"
            + "".join(f"\n  {line}" for line in found)
            + "\n  Name there what this machine has (`spack external find gcc` tells), or remove the entry"
        )


def _used(spack: Spack, known: list[compilers.Compiler]) -> list[compilers.Compiler]:
    """What the solver took, and where it is; says so where Spack had to find it.

    :raises InstallError: it is a compiler whose commands Spack was not told.
    """
    environment = spack.environment
    lock = json.loads(environment.lock_file.read_text(encoding="utf-8"))
    unusable = compilers.without_wrapper(lock)
    if unusable:
        raise InstallError(
            "the solver took a compiler whose commands Spack was not told, and nothing can be built with it:"
            + "".join(f"\n  {line}" for line in unusable)
            + f"\n  In {environment.site.facts}/packages.yaml give that external its"
            " extra_attributes: {compilers: {c: PATH, cxx: PATH, fortran: PATH}}, or remove it"
        )
    taken = compilers.taken(lock)
    # Spack writes those that it finds beside the environment's specs.
    there = known or compilers.declared(spack.settings())
    used = [compiler for compiler in there if compiler.name in taken]
    if not known:
        for compiler in used:
            told = f"no compiler is declared, Spack took {compiler.name}: {', '.join(compiler.commands.values())}"
            print(f"{environment.name}: {told}", flush=True)
    return used


def _say_waiting(site: str) -> None:
    print(f"another installation for {site} is running: waiting for it", flush=True)


@contextmanager
def exclusive(site: SpackSite) -> Iterator[None]:
    """Only one installation for a site at a time; another one waits, and then finds that there is nothing to do.

    :raises InstallError: an operation on files failed, here or in the installation; the folder has no file locks.
    """
    try:
        with locked(site.folder / "lock", waiting=functools.cache(functools.partial(_say_waiting, site.name))):
            yield
    except (OSError, InputError) as err:
        raise InstallError(f"cannot install in {site.folder} (KAPPA_SPACK_STATE names another folder): {err}") from err


def ensure(environment: SpackEnvironment, jobs: int = 0) -> None:
    """Installs the environment unless it is up to date.

    :raises InstallError: it cannot be installed, or lacks a program that it promises.
    """
    if environment.up_to_date():
        print(f"{environment.name}: up to date ({environment.view})", flush=True)
        _warn(environment.name, Origins.recorded(environment.record()))
        return
    with exclusive(environment.site):
        if not environment.up_to_date():
            _install(environment, jobs)


def prepare(environment: SpackEnvironment) -> Spack:
    """Everything that Spack needs before it can solve.

    :raises InstallError: the site has no facts, or there is no Spack.
    """
    site = environment.site
    if not site.facts.is_dir():
        raise InstallError(f"{site.facts} is missing: it has to hold the site's packages.yaml; see docs/spack.md")
    script = site.facts / "prepare"
    if script.is_file():
        try:
            subprocess.run([str(script), str(site.prepared)], check=True)
        except (OSError, subprocess.CalledProcessError) as err:
            raise InstallError(f"the site's facts could not be prepared: {err}") from err
    environment.folder.mkdir(parents=True, exist_ok=True)
    asked = specs_file(environment.table.name).read_text(encoding="utf-8")
    if environment.roots:
        asked = with_roots(asked, environment.roots)
    (environment.folder / "spack.yaml").write_text(asked, encoding="utf-8")
    for name in environment.table.sources:
        # Spack writes its logs into the source; it rebuilds when a file is newer than the installation.
        target = environment.folder / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(REPOSITORY / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    return Spack(find(environment), environment)


def _install(environment: SpackEnvironment, jobs: int) -> None:
    name = environment.name
    spack = prepare(environment)
    files = environment.files_digest()  # before: a change meanwhile makes the installation out of date
    print(f"{name}: Spack {'.'.join(map(str, spack.version))} in {spack.root}", flush=True)
    origins = solve(spack)
    _warn(name, origins)
    # What was solved: `kappa.btio` of spack.yaml is `btio` in spack.lock, for which Spack would solve once more.
    step(spack, "installing", "install", "--only-concrete", *([f"--jobs={jobs}"] if jobs else []))
    missing = environment.missing_programs()
    if missing:
        raise InstallError(
            f"Spack reports success, but {environment.view} lacks {', '.join(missing)}, which "
            f"{ENVIRONMENTS / environment.table.name / 'programs.toml'} promises"
        )
    write_shared(environment.folder / "specs.json", spack.answer("find", "--json"))
    environment.write_record(
        digest=origins.digest(files),
        # The clone's is left to release.toml.
        KAPPA_SPACK_ROOT=str(spack.root) if environment.setting("KAPPA_SPACK_ROOT") else "",
        KAPPA_SPACK_CONFIG=environment.setting("KAPPA_SPACK_CONFIG"),
        spack=".".join(map(str, spack.version)),
        origins=asdict(origins),
    )
    print(f"{name}: installed, {len(environment.table.programs)} programs in {environment.view}", flush=True)


def _warn(name: str, origins: Origins) -> None:
    """Say what is not the pinned release."""
    for line in origins.unlike(release()):
        print(f"{name}: warning: {line}", flush=True)


def keep_artefacts(environment: SpackEnvironment, folder: Path) -> None:
    """Copies what says which programs ran into ``folder/ENV``.

    :raises InstallError: one of them is not there.
    """
    target = folder / environment.name
    for name in ARTEFACTS:
        try:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(environment.folder / name, target / name)
        except OSError as err:
            raise InstallError(f"cannot keep {name}: {err}") from err


@dataclass(frozen=True)
class Mirrored(SpackEnvironment):
    """Solved in a folder beside the installed one, whose lock stays as it is."""

    @property
    def folder(self) -> Path:
        return self.site.folder / f"{self.name}.mirror"


def mirror_configuration(folder: Path) -> Path:
    """The folder, in a mirror, of the configuration by which Spack finds it, wherever it is copied to."""
    return folder.resolve() / "config"


def make_mirror(environment: SpackEnvironment, folder: Path) -> None:
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
    write_shared(mirror_configuration(folder) / "mirrors.yaml", json.dumps({"mirrors": mirrors}) + "\n")


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
