"""The solver's answer, with compilers that are there and that Spack can wrap."""

import json
import shutil
from typing import Any

from spack_envs.installer import compilers
from spack_envs.installer.chosen import contradicted
from spack_envs.installer.origins import SPACK, Origins
from spack_envs.installer.spack import OWN_RECIPES, InstallError, Spack
from spack_envs.installer.state import Environment, write_shared
from spack_envs.installer.steps import step


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


def _require_running(environment: Environment, known: list[compilers.Compiler]) -> None:
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
