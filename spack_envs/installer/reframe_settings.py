"""What checks take from here: ReFrame's environments for what Spack installs, and the spec of a program."""

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
    """``compiler`` and ``mpi`` as `gcc@12.2.0`, empty where there is none."""

    name: str
    version: str
    hash: str
    compiler: str
    mpi: str


def built_spec(program: Path) -> BuiltSpec | None:
    """That of a program, which may be a link as in a view; ``None`` if Spack did not build it, or does not say what."""
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
    # Up to 0.23 a compiler is no package.
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
    """The ReFrame environments of the Spack environments that are completely installed for the site, and of those for
    which a person chose a spec: a run installs these first."""
    return [described for described, environment in _all(site) if environment.installed() or environment.roots]


def planned_environments(site: str) -> list[dict[str, Any]]:
    """Those of every Spack environment of the suite: a run first installs what is missing, a dry run does not."""
    return [described for described, _ in _all(site)]


def environment_names(site: str) -> dict[str, str]:
    """For each Spack environment of the suite, the name that ReFrame has for it."""
    return {environment.table.name: environment.name for _, environment in _all(site)}


def _all(site: str) -> list[tuple[dict[str, Any], SpackEnvironment]]:
    environments = [SpackSite(site).environment(spack_tables.read(name)) for name in spack_tables.names()]
    return [(_described(environment), environment) for environment in environments]


def _described(environment: SpackEnvironment) -> dict[str, Any]:
    """It has its name, the features and extras of its table, and its programs first on PATH.

    The site adds what its MPI needs. With each result the checksum of ``spack.lock`` is kept.
    """
    path = ":".join(map(str, environment.table.folders(environment.view)))
    # ReFrame ends a job at a command that fails; of such scripts many do, and what they did not set is missed later.
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
    """For each feature that some Spack environment promises, the command that installs it for the site."""
    return {
        feature: SpackSite(site).install_command(name)
        for name in spack_tables.names()
        for feature in spack_tables.read(name).features
    }
