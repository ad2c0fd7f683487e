"""Check the compilers that a site's configuration declares, and find those that the solver chose.

If a declared compiler does not exist, or its commands are not stated, Spack uses it nevertheless, without its wrapper.
The recipes then fail one by one with a NameError that names neither the compiler nor the reason.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.clean_text import clean, one_line

LANGUAGES = {"c": "cc", "cxx": "cxx", "fortran": "fc"}
_NAME = re.compile(r"([\w-]+)@=?([^\s+~%]+)")
_PATIENCE_S = 60
# Exit statuses of a shell, and of a program whose libraries are missing.
_DID_NOT_START = (126, 127)
_SHOWN = 200


@dataclass(frozen=True)
class Compiler:
    """``name``: for instance `gcc@12.2.0`. ``commands``: language -> path. ``alone``: needs no modules or variables."""

    name: str
    commands: dict[str, str]
    alone: bool = True


def declared(settings: dict[str, Any]) -> list[Compiler]:
    """Return the compilers whose commands ``packages.yaml`` states, or ``compilers.yaml`` (up to Spack 0.23).

    :param settings: from ``Spack.settings``.
    """
    found = []
    for package in settings["compiler_packages"]:
        for external in (settings["packages"].get(package) or {}).get("externals") or []:
            more = external.get("extra_attributes") or {}
            alone = not (external.get("modules") or more.get("environment"))
            found.append(Compiler(_name(external.get("spec", package)), dict(more.get("compilers") or {}), alone))
    for entry in settings["compilers"] or []:
        told = entry["compiler"]
        commands = {language: told["paths"].get(key) for language, key in LANGUAGES.items()}
        alone = not (told.get("modules") or told.get("environment"))
        found.append(Compiler(_name(told["spec"]), {key: path for key, path in commands.items() if path}, alone))
    return [compiler for compiler in found if compiler.commands]


def _name(spec: str) -> str:
    match = _NAME.match(spec)
    return f"{match[1]}@{match[2]}" if match else spec


def broken(compilers: list[Compiler], facts: list[Path]) -> list[str]:
    """Return the problems with the commands of ``compilers``, each with the file in ``facts`` that names it."""
    return [
        f"{_where(path, facts)}{compiler.name}, {language}: {path} {problem}"
        for compiler in compilers
        for language, path in compiler.commands.items()
        if (problem := _problem(path, compiler.alone))
    ]


def _where(path: str, facts: list[Path]) -> str:
    files = [file for folder in reversed(facts) for file in sorted(folder.glob("*.yaml"))]
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if path in line:
                return f"{file}:{number}: "
    return ""


def _problem(path: str, alone: bool) -> str:
    if not os.path.isfile(path):
        return "does not exist"
    if not os.access(path, os.X_OK):
        return "is not executable"
    if not alone:
        return ""
    try:
        done = _asked(path)
    except OSError as err:
        return f"does not start: {err.strerror}"
    except subprocess.TimeoutExpired:
        return f"does not answer `--version` within {_PATIENCE_S} s"
    # A compiler without this option reports an error, but it has run.
    started = done.returncode >= 0 and done.returncode not in _DID_NOT_START
    return "" if started else f"does not start: {one_line(clean(done.stderr), _SHOWN)}"


def version(path: str) -> str:
    """Return the first line of a compiler's version, or its exit status if there is none."""
    try:
        done = _asked(path)
    except (OSError, subprocess.TimeoutExpired) as err:
        return one_line(str(err), _SHOWN)
    said = done.stdout.strip().splitlines()
    return one_line(clean(said[0]), _SHOWN) if said and not done.returncode else f"exit status {done.returncode}"


def _asked(path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        timeout=_PATIENCE_S, check=False,
    )  # fmt: skip


def taken(lock: dict[str, Any]) -> list[str]:
    """Return the compilers of the built packages, for instance `gcc@12.2.0`.

    :param lock: Spack's ``spack.lock``.
    """
    names = {name for _, name, _ in _uses(lock)}
    # Up to Spack 0.23, a compiler is no package.
    names |= {
        f"{spec['compiler']['name']}@{spec['compiler']['version']}" for spec in _built(lock) if "compiler" in spec
    }
    return sorted(names)


def without_wrapper(lock: dict[str, Any]) -> list[str]:
    """Return the packages whose compiler has no stated or found commands."""
    return sorted({f"{package} by {name} in {where}" for package, name, where in _uses(lock, wrapped=False)})


def _uses(lock: dict[str, Any], wrapped: bool = True) -> Iterator[tuple[str, str, str]]:
    """Yield (package, compiler, its place) of the built packages; without ``wrapped``, only those without a wrapper."""
    specs = lock["concrete_specs"]
    for spec in _built(lock):
        needs = spec.get("dependencies", [])
        if not wrapped and any(need["name"] == "compiler-wrapper" for need in needs):
            continue
        for need in needs:
            if not LANGUAGES.keys().isdisjoint(need["parameters"].get("virtuals", ())):
                compiler = specs[need["hash"]]
                where = (compiler.get("external") or {}).get("path") or "Spack's store"
                yield spec["name"], f"{compiler['name']}@{compiler['version']}", where


def _built(lock: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (spec for spec in lock["concrete_specs"].values() if "external" not in spec)
