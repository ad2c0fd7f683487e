"""Installs one environment of a site: prepare, concretise, build, verify, record."""

import functools
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kappa.ground.clean_text import one_line
from kappa.ground.errors import InputError
from kappa.ground.locks import locked
from spack_envs.installer import build_log
from spack_envs.installer.spack import InstallError, Spack, find
from spack_envs.installer.state import ARTEFACTS, Environment, Site, write_shared
from spack_envs.installer.table import ENVIRONMENTS, REPOSITORY


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
        print(f"{environment.table.name}: up to date ({environment.view})", flush=True)
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
    shutil.copyfile(ENVIRONMENTS / environment.table.name / "spack.yaml", environment.folder / "spack.yaml")
    for name in environment.table.sources:
        # Spack writes its logs into the source; it rebuilds when a file is newer than the installation.
        target = environment.folder / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(REPOSITORY / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    return Spack(find(environment), environment)


def _install(environment: Environment, jobs: int) -> None:
    name = environment.table.name
    spack = prepare(environment)
    digest = environment.digest()  # before: a change meanwhile makes the installation out of date
    print(f"{name}: Spack {'.'.join(map(str, spack.version))} in {spack.root}", flush=True)
    log = environment.folder / "install.log"
    log.unlink(missing_ok=True)
    for step, arguments in (
        ("solving", ["concretize", "--force"]),
        ("installing", ["install", *([f"--jobs={jobs}"] if jobs else [])]),
    ):
        started = time.monotonic()
        print(f"{name}: {step}", flush=True)
        try:
            spack.run(*arguments, log=log)
        except subprocess.CalledProcessError as err:
            raise InstallError(_why(step, err.output, log)) from None
        print(f"{name}: {step} took {time.monotonic() - started:.0f} s", flush=True)
    missing = environment.missing_programs()
    if missing:
        raise InstallError(
            f"Spack reports success, but {environment.view} lacks {', '.join(missing)}, which "
            f"{ENVIRONMENTS / name / 'programs.toml'} promises"
        )
    write_shared(environment.folder / "specs.json", spack.answer("find", "--json"))
    environment.write_record(
        digest=digest,
        # The clone's is left to release.toml.
        KAPPA_SPACK_ROOT=str(spack.root) if environment.setting("KAPPA_SPACK_ROOT") else "",
        KAPPA_SPACK_CONFIG=environment.setting("KAPPA_SPACK_CONFIG"),
        spack=".".join(map(str, spack.version)),
    )
    print(f"{name}: installed, {len(environment.table.programs)} programs in {environment.view}", flush=True)


def _why(step: str, output: str, log: Path) -> str:
    failed = build_log.failures(output)
    lines = [f"  {one.package}: {one.reason}" + (f"\n    log: {one.log}" if one.log else "") for one in failed]
    if not failed:
        errors = [line for line in output.splitlines() if line.startswith("==> Error:")]
        lines = [f"  {one_line(line.removeprefix('==> Error: '), build_log.SHOWN)}" for line in errors[:3]]
    if "clingo" in output and step == "solving":
        lines.append("  Spack's solver: `pip install clingo` in some Python, and name that Python in SPACK_PYTHON")
    return "\n".join([f"{step} failed (Spack's output: {log})", *lines])


def keep_artefacts(environment: Environment, folder: Path) -> None:
    """Copies what says which programs ran into ``folder/ENV``.

    :raises InstallError: one of them is not there.
    """
    target = folder / environment.table.name
    for name in ARTEFACTS:
        try:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(environment.folder / name, target / name)
        except OSError as err:
            raise InstallError(f"cannot keep {name}: {err}") from err
