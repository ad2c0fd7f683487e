"""Install one environment of a site (prepare, concretise, build, verify, record), or mirror its sources.

The solver's answer may contain only compilers that exist and that Spack can wrap.
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

# The machine that makes the mirror need not be able to run the programs.
_ELSEWHERE = ("-c", "concretizer:targets:host_compatible:false")
# --private: also sources whose licence forbids a public mirror.
_CREATE = ("mirror", "create", "--private", "--all")


def solve(spack: Spack) -> Origins:
    """Let Spack write a new ``spack.lock``, and return its origins, with the compilers that build it.

    :raises InstallError: a declared compiler does not run, there is no solution, or it has a compiler that cannot be
        used.
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
    """Return Spack's settings. A chosen spec overrides the site's requirements, such as `mpi: {require: openmpi}`."""
    environment = spack.environment
    # This folder would hide the site's requirements.
    shutil.rmtree(environment.released, ignore_errors=True)
    settings = spack.settings()
    lifted = contradicted(environment.roots, settings["providers"])
    if lifted:
        # A key that ends with a colon replaces the same key of other files.
        packages = {f"{name}:": {"buildable": True} for name in lifted}
        write_shared(environment.released / "packages.yaml", json.dumps({"packages": packages}) + "\n")
        print(
            f"{environment.name}: the chosen spec overrides the site's requirement for {', '.join(lifted)}", flush=True
        )
    return settings


def _require_running(environment: SpackEnvironment, known: list[compilers.Compiler]) -> None:
    found = compilers.broken(known, environment.facts())
    if found:
        raise InstallError(
            "compilers that the site declares do not run, so Spack would build without its compiler wrapper:"
            + "".join(f"\n  {line}" for line in found)
            + "\n  Correct the entry (`spack external find gcc` shows this machine's compilers), or remove it"
        )


def _used(spack: Spack, known: list[compilers.Compiler]) -> list[compilers.Compiler]:
    """Return the compilers that the solver chose. Print them if none is declared, so that Spack had to find them.

    :raises InstallError: the commands of one are not stated.
    """
    environment = spack.environment
    lock = json.loads(environment.lock_file.read_text(encoding="utf-8"))
    unusable = compilers.without_wrapper(lock)
    if unusable:
        raise InstallError(
            "the solver chose a compiler without stated commands, which can build nothing:"
            + "".join(f"\n  {line}" for line in unusable)
            + f"\n  In {environment.site.facts}/packages.yaml, add to this external"
            " extra_attributes: {compilers: {c: PATH, cxx: PATH, fortran: PATH}}, or remove it"
        )
    taken = compilers.taken(lock)
    # Spack writes the compilers that it finds beside the environment's specs.
    there = known or compilers.declared(spack.settings())
    used = [compiler for compiler in there if compiler.name in taken]
    if not known:
        for compiler in used:
            told = f"no compiler is declared; Spack uses {compiler.name}: {', '.join(compiler.commands.values())}"
            print(f"{environment.name}: {told}", flush=True)
    return used


def _say_waiting(site: str) -> None:
    print(f"another installation for {site} is running: waiting until it ends", flush=True)


@contextmanager
def exclusive(site: SpackSite) -> Iterator[None]:
    """Allow one installation for a site at a time. Another one waits, and then finds nothing to do.

    :raises InstallError: an operation on files failed, here or in the installation; the folder has no file locks.
    """
    try:
        with locked(site.folder / "lock", waiting=functools.cache(functools.partial(_say_waiting, site.name))):
            yield
    except (OSError, InputError) as err:
        raise InstallError(f"cannot install in {site.folder}: {err}; set KAPPA_SPACK_STATE to another folder") from err


def ensure(environment: SpackEnvironment, jobs: int = 0) -> None:
    """Install the environment, unless it is up to date.

    :raises InstallError: it cannot be installed, or an expected program is missing.
    """
    if environment.up_to_date():
        print(f"{environment.name}: up to date ({environment.view})", flush=True)
        _warn(environment.name, Origins.recorded(environment.record()))
        return
    with exclusive(environment.site):
        if not environment.up_to_date():
            _install(environment, jobs)


def prepare(environment: SpackEnvironment) -> Spack:
    """Write everything that Spack needs before it can solve.

    :raises InstallError: the site has no Spack configuration, or there is no Spack.
    """
    site = environment.site
    if not site.facts.is_dir():
        raise InstallError(f"{site.facts} is missing: make it, with the site's packages.yaml; see docs/spack.md")
    script = site.facts / "prepare"
    if script.is_file():
        try:
            subprocess.run([str(script), str(site.prepared)], check=True)
        except (OSError, subprocess.CalledProcessError) as err:
            raise InstallError(f"{script} failed: {err}") from err
    environment.folder.mkdir(parents=True, exist_ok=True)
    asked = specs_file(environment.table.name).read_text(encoding="utf-8")
    if environment.roots:
        asked = with_roots(asked, environment.roots)
    (environment.folder / "spack.yaml").write_text(asked, encoding="utf-8")
    for name in environment.table.sources:
        # A copy: Spack writes its logs into the source. It rebuilds if a file is newer than the installation.
        target = environment.folder / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(REPOSITORY / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    return Spack(find(environment), environment)


def _install(environment: SpackEnvironment, jobs: int) -> None:
    name = environment.name
    spack = prepare(environment)
    files = environment.files_digest()  # first: a change during the installation makes it out of date
    print(f"{name}: Spack {'.'.join(map(str, spack.version))} in {spack.root}", flush=True)
    origins = solve(spack)
    _warn(name, origins)
    # --only-concrete: `kappa.btio` in spack.yaml is `btio` in spack.lock, and Spack would solve again.
    step(spack, "installing", "install", "--only-concrete", *([f"--jobs={jobs}"] if jobs else []))
    missing = environment.missing_programs()
    if missing:
        raise InstallError(
            f"Spack reports success, but {environment.view} lacks {', '.join(missing)}, listed in "
            f"{ENVIRONMENTS / environment.table.name / 'programs.toml'}"
        )
    write_shared(environment.folder / "specs.json", spack.answer("find", "--json"))
    environment.write_record(
        digest=origins.digest(files),
        # Empty for the clone, whose release is in release.toml.
        KAPPA_SPACK_ROOT=str(spack.root) if environment.setting("KAPPA_SPACK_ROOT") else "",
        KAPPA_SPACK_CONFIG=environment.setting("KAPPA_SPACK_CONFIG"),
        spack=".".join(map(str, spack.version)),
        origins=asdict(origins),
    )
    print(f"{name}: installed, {len(environment.table.programs)} programs in {environment.view}", flush=True)


def _warn(name: str, origins: Origins) -> None:
    """Print a warning for each part that is not of the pinned release."""
    for line in origins.unlike(release()):
        print(f"{name}: warning: {line}", flush=True)


def keep_artefacts(environment: SpackEnvironment, folder: Path) -> None:
    """Copy the files that describe the installed programs to ``folder/ENV``.

    :raises InstallError: one of them is missing.
    """
    target = folder / environment.name
    for name in ARTEFACTS:
        try:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(environment.folder / name, target / name)
        except OSError as err:
            raise InstallError(f"cannot copy {name} to {target}: {err}") from err


@dataclass(frozen=True)
class Mirrored(SpackEnvironment):
    """An environment for a mirror, solved in a second folder, so that the installed lock file does not change."""

    @property
    def folder(self) -> Path:
        return self.site.folder / f"{self.name}.mirror"


def mirror_configuration(folder: Path) -> Path:
    """Return the mirror's folder with the configuration by which Spack finds the mirror, even if it is copied."""
    return folder.resolve() / "config"


def make_mirror(environment: SpackEnvironment, folder: Path) -> None:
    """Fetch the sources of all packages of the environment into ``folder``.

    :raises InstallError: there is no solution, or a source cannot be fetched.
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
    """Return the option that excludes packages with sources in this repository. Spack 1.1 cannot mirror them."""
    own = [name.replace("_", "-") for name in spack.environment.table.sources]
    return [f"--exclude-specs={' '.join(own)}"] if own else []


def _ask_for_wrapper(spack: Spack) -> None:
    """Add the compiler wrapper. Without the site's compilers, the solver of Spack 1.0 and later would omit it."""
    file = spack.environment.folder / "spack.yaml"
    text = file.read_text(encoding="utf-8")
    if spack.version >= (1,):
        file.write_text(with_roots(text, [*roots(text), "compiler-wrapper"]), encoding="utf-8")
