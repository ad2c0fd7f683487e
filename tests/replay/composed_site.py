"""A composed site of the machines: ReFrame's settings, the programs and references.

Each machine is a partition; another of its name and ``-below`` has references of twice what was recorded, which no
metric reaches.
"""

import functools
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from kappa.core.vocabulary.checks import catalogue
from tests.replay import programs
from tests.replay.machines import MACHINES, WHOLE, Machine

BELOW = "-below"
# As far as digits are printed.
TOLERANCE = 1e-6
EXPECTED = pathlib.Path(__file__).with_name("expected.yaml")


@dataclass(frozen=True)
class Replayed:
    """Cases of a check on a machine with the same metrics, and the value of a parameter that they have, if any."""

    machine: str
    check: str
    parameter: str
    value: str
    cases: int
    metrics: Mapping[str, tuple[float, str]]

    @property
    def selected(self) -> str:
        """A pattern of ReFrame's ``-n``."""
        return f"^{self.check}(?=%|$)" + (f".*%{self.parameter}={self.value}(%|$)" if self.parameter else "")


@functools.cache
def table() -> list[Replayed]:
    """``MACHINE: {"CHECK [PARAMETER=VALUE]": {cases: N, METRIC: "VALUE UNIT"}}``."""
    return [
        _replayed(machine, key, dict(of_key))
        for machine, checks in yaml.safe_load(EXPECTED.read_text("utf-8")).items()
        for key, of_key in checks.items()
    ]


def _replayed(machine: str, key: str, stated: dict[str, Any]) -> Replayed:
    check, _, parameter = key.partition(" ")
    name, _, value = parameter.partition("=")
    cases = stated.pop("cases")
    return Replayed(machine, check, name, value, cases, {metric: _figure(text) for metric, text in stated.items()})


def _figure(text: str) -> tuple[float, str]:
    value, _, unit = str(text).partition(" ")
    return float(value), unit


def write_site(root: pathlib.Path) -> None:
    """``settings.yaml``, ``programs/MACHINE/`` and ``references/`` below ``root``."""
    for machine in MACHINES:
        folder = root / "programs" / machine.name
        folder.mkdir(parents=True)
        for program, script in {"srun": programs.SRUN, **machine.programs}.items():
            (folder / program).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
            (folder / program).chmod(0o755)
    (root / "shared").mkdir()
    settings = {
        "systems": [
            {
                "name": "replay",
                "hostnames": [".*"],
                "partitions": [_partition(machine, root, suffix) for machine in MACHINES for suffix in ("", BELOW)],
            }
        ],
        "environments": [_environment(machine, root) for machine in MACHINES],
    }
    _write(root / "settings.yaml", settings)
    of_folder: dict[str, list[Replayed]] = {}
    for one in table():
        of_folder.setdefault(catalogue()[one.check].family.split("/")[0], []).append(one)
    for name, rows in of_folder.items():
        _write(root / "references" / f"{name}.yaml", _references(rows))


def _write(path: pathlib.Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _partition(machine: Machine, root: pathlib.Path, suffix: str) -> dict[str, Any]:
    # One case of each kind is enough to be below.
    features = [one for one in machine.features if not (suffix and one == WHOLE)]
    return {
        "name": machine.name + suffix,
        "scheduler": "local",
        "launcher": "srun",
        "environs": [machine.name],
        "features": features,
        "processor": {"num_cpus": machine.cores, "num_cpus_per_core": 1, "topology": _topology(machine)},
        "container_platforms": [{"type": "Apptainer", "default": True}],
        "extras": {"nodes": machine.nodes, "storage": {"shared": str(root / "shared")}, **machine.extras},
    }


def _topology(machine: Machine) -> dict[str, list[str]]:
    """Each NUMA domain is a socket; a core has one CPU."""
    domains = [hex(mask) for mask in machine.numa_nodes]
    cpus = [hex(1 << cpu) for mask in machine.numa_nodes for cpu in range(mask.bit_length()) if mask >> cpu & 1]
    return {"cores": cpus, "sockets": domains, "numa_nodes": domains}


def _environment(machine: Machine, root: pathlib.Path) -> dict[str, Any]:
    return {
        "name": machine.name,
        "features": [*machine.offers],
        "extras": {**machine.environ_extras},
        "env_vars": [["PATH", f"{root}/programs/{machine.name}:$PATH"], *map(list, machine.variables.items())],
    }


def _references(rows: Iterable[Replayed]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in rows:
        index = ["$partition", *([one.parameter] if one.parameter else [])]
        of_check = found.setdefault(one.check, {"$index": index})
        assert of_check["$index"] == index, f"{one.check}: the same parameter on all machines, or none"
        for suffix in ("", BELOW):
            entry = of_check.setdefault(f"replay:{one.machine}{suffix}", {})
            if one.parameter:
                entry = entry.setdefault(one.value, {})
            entry |= {metric: _bounds(value, unit, suffix) for metric, (value, unit) in one.metrics.items()}
    everything = {"match": "*", "source": "learned", "date": "2026-11-26", "samples": 1, "method": "recorded"}
    return {**found, "$sources": [everything]}


def _bounds(value: float, unit: str, suffix: str) -> list[Any]:
    reference = 2 * value or 1.0 if suffix else value
    return [reference, -TOLERANCE, TOLERANCE, unit]
