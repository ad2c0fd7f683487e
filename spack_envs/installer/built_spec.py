"""Which Spack spec a program belongs to, as Spack wrote it into the folder that it installed."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappa.core.ground.bounded_file import read_text
from spack_envs.installer.compilers import LANGUAGES

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
