"""Describe the Spack environments for ReFrame, and find the spec of a program."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.whole_files import read_text
from kappa.core.vocabulary import spack_tables
from spack_envs.installer.compilers import LANGUAGES
from spack_envs.installer.state import SpackEnvironment, SpackSite

_SPEC_FILE = ".spack/spec.json"
_LIMIT = 1 << 24


@dataclass(frozen=True)
class BuiltSpec:
    """``compiler`` and ``mpi``: for instance `gcc@12.2.0`, empty if there is none."""

    name: str
    version: str
    hash: str
    compiler: str
    mpi: str


def built_spec(program: Path) -> BuiltSpec | None:
    """Return the spec of a program, which may be a link in a view; ``None`` if Spack did not build it, or unknown."""
    for folder in Path(os.path.realpath(program)).parents:
        file = folder / _SPEC_FILE
        if file.is_file():
            try:
                nodes = json.loads(read_text(file, _LIMIT))["spec"]["nodes"]
                return _of(nodes[0], {node["hash"]: node for node in nodes})
            except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
                return None
    return None


def _of(spec: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> BuiltSpec:
    # Up to Spack 0.23, a compiler is no package.
    compilers = {_versioned(spec["compiler"])} if "compiler" in spec else set()
    mpi = ""
    for need in spec.get("dependencies", []):
        virtuals = need["parameters"].get("virtuals", [])
        if not LANGUAGES.keys().isdisjoint(virtuals):
            compilers.add(_versioned(nodes[need["hash"]]))
        if "mpi" in virtuals:
            mpi = _versioned(nodes[need["hash"]])
    return BuiltSpec(str(spec["name"]), str(spec["version"]), str(spec["hash"]), ", ".join(sorted(compilers)), mpi)


def _versioned(node: dict[str, Any]) -> str:
    return f"{node['name']}@{node['version']}"


def installed_environments(site: str) -> list[dict[str, Any]]:
    """Return the ReFrame environments of all completely installed Spack environments of the site.

    Environments with a chosen spec are included: a run installs them first.
    """
    return [described for described, environment in _all(site) if environment.installed() or environment.roots]


def planned_environments(site: str) -> list[dict[str, Any]]:
    """Return the ReFrame environments of all Spack environments. A run installs missing ones; a dry run does not."""
    return [described for described, _ in _all(site)]


def environment_names(site: str) -> dict[str, str]:
    """Return ReFrame's name of each Spack environment of the suite."""
    return {environment.table.name: environment.name for _, environment in _all(site)}


def _all(site: str) -> list[tuple[dict[str, Any], SpackEnvironment]]:
    environments = [SpackSite(site).environment(spack_tables.read(name)) for name in spack_tables.names()]
    return [(_described(environment), environment) for environment in environments]


def _described(environment: SpackEnvironment) -> dict[str, Any]:
    """Return ReFrame's environment: name, features and extras of its table, and its programs first on PATH.

    The site adds the settings for its MPI. Each result contains the checksum of ``spack.lock``.
    """
    path = ":".join(map(str, environment.table.folders(environment.view)))
    # ReFrame ends a job if a command fails. Many such scripts return an error; a missing setting shows later.
    settings = [f". {shlex.quote(str(environment.view / script))} || true" for script in environment.table.settings]
    features = list(environment.table.features)
    hash_files = {feature: [str(environment.lock_file)] for feature in features}
    return {
        "name": environment.name,
        "features": features,
        "extras": {**environment.table.extras, "hash_files": hash_files},
        "prepare_cmds": settings,
        "env_vars": [["PATH", f"{path}:$PATH"]],
    }


def install_commands(site: str) -> dict[str, str]:
    """Return, for each feature of a Spack environment, the command that installs it for the site."""
    return {
        feature: SpackSite(site).install_command(name)
        for name in spack_tables.names()
        for feature in spack_tables.read(name).features
    }
