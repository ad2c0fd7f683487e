"""Installs one environment of a site: prepare, concretise, build, verify, record."""

import functools
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.vocabulary.spack_tables import ENVIRONMENTS, REPOSITORY, specs_file
from spack_envs.installer.origins import Origins
from spack_envs.installer.roots import with_roots
from spack_envs.installer.solving import solve
from spack_envs.installer.spack import InstallError, Spack, find, release
from spack_envs.installer.state import ARTEFACTS, Environment, Site, write_shared
from spack_envs.installer.steps import step


def _say_waiting(site: str) -> None:
    print(f"another installation for {site} is running: waiting for it", flush=True)


@contextmanager
def exclusive(site: Site) -> Iterator[None]:
    """Only one installation for a site at a time; another one waits, and then finds that there is nothing to do.

    :raises InstallError: an operation on files failed, here or in the installation; the folder has no file locks.
    """
    try:
        with locked(site.folder / "lock", waiting=functools.cache(functools.partial(_say_waiting, site.name))):
            yield
    except (OSError, InputError) as err:
        raise InstallError(f"cannot install in {site.folder} (KAPPA_SPACK_STATE names another folder): {err}") from err


def ensure(environment: Environment, jobs: int = 0) -> None:
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


def prepare(environment: Environment) -> Spack:
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


def _install(environment: Environment, jobs: int) -> None:
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


def keep_artefacts(environment: Environment, folder: Path) -> None:
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
