"""Random networks in combinations of settings, whose bits are compared: ``python -m tests.emt.same_bits BUILD``.

As a program all combinations; BUILD is a folder in which `emt_app` was built with its tests. A difference is printed
with its seed and settings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, product
from pathlib import Path
from typing import Any

from tests.mpi_environment import MPI_ENVIRONMENT

from .covering import covering_array
from .random_networks import STEPS, random_case

RANKS = 4
PER_NETWORK = 8
INSTRUCTION_SETS = ("portable", "avx2", "avx512")

Settings = dict[str, Any]
#: Output of `emt_same_bits` for a run.
Told = dict[str, Any]


def choices(instruction_sets: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Values of each setting; None is a random mapping, which gets a seed."""
    return {
        "ranks": tuple(range(1, RANKS + 1)),
        "exchange": ("step", "slack"),
        "transport": ("message", "shared", "auto"),
        "isa": tuple(instruction_sets),
        "mapping": ("own", None),
    }


#: One rank, in the order of the case: what all others are compared with.
ALONE: Settings = {"ranks": 1, "exchange": "step", "transport": "auto", "isa": "auto", "mapping": "own"}


def _settings(values: Sequence[Any], mapping_seed: int, instruction_sets: Sequence[str]) -> Settings:
    settings = dict(zip(choices(instruction_sets), values, strict=True))
    return settings | ({"mapping": mapping_seed} if settings["mapping"] is None else {})


def every_setting(seed: int, instruction_sets: Sequence[str]) -> list[Settings]:
    """All combinations."""
    return [_settings(values, seed, instruction_sets) for values in product(*choices(instruction_sets).values())]


def covering_settings(networks: int, instruction_sets: Sequence[str]) -> Iterator[list[Settings]]:
    """Eight combinations for each network: one covering array of pairs after the other, each of another seed.

    Four ranks and three transports make at least twelve combinations; four networks one after the other have all pairs.
    """
    values = list(choices(instruction_sets).values())
    arrays = (covering_array([len(some) for some in values], seed) for seed in count())
    rows = ([some[level] for some, level in zip(values, row, strict=True)] for row in chain.from_iterable(arrays))
    for network in range(networks):
        yield [_settings(row, 1000 * network + i, instruction_sets) for i, row in enumerate(islice(rows, PER_NETWORK))]


@dataclass(frozen=True)
class Planned:
    """A case, and the settings to simulate it in."""

    case: Path
    steps: int
    runs: Sequence[Settings]


def simulate(program: Path, planned: Sequence[Planned], folder: Path, ranks: int = RANKS) -> list[list[Told]]:
    """The result of each run."""
    cases: list[list[Told]] = _told(program, planned, folder, ranks)["cases"]
    return cases


def instruction_sets(program: Path, folder: Path) -> list[str]:
    """Those of this processor."""
    sets: list[str] = _told(program, [], folder, 1)["instruction_sets"]
    return sets


def _told(program: Path, planned: Sequence[Planned], folder: Path, ranks: int) -> dict[str, Any]:
    plan, result = folder / "plan.json", folder / "told.json"
    cases = [{"case": str(one.case), "steps": one.steps, "runs": list(one.runs)} for one in planned]
    plan.write_text(json.dumps({"cases": cases}))
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    command = [*launch, str(program), str(plan), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | MPI_ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    loaded: dict[str, Any] = json.loads(result.read_text())
    return loaded


def write_network(seed: int, folder: Path, steps: int = STEPS) -> Path:
    path = folder / f"network-{seed}.json"
    path.write_text(json.dumps(random_case(seed, steps=steps)))
    return path


def differences(planned: Planned, runs: Sequence[Told]) -> list[Settings]:
    """Settings whose bits are not those of the first."""
    return [how for how, run in zip(planned.runs, runs, strict=True) if run["checksum"] != runs[0]["checksum"]]


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.emt.same_bits", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--at-once", type=int, default=10, help="networks in one process")
    options = parser.parse_args()
    program = options.build / "tests/emt_same_bits"
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sets = instruction_sets(program, folder)
        end = options.first_seed + options.networks
        for first in range(options.first_seed, end, options.at_once):
            planned = [
                Planned(
                    write_network(seed, folder, options.steps),
                    options.steps,
                    [ALONE | {"watch": True}, *every_setting(seed, sets)],
                )
                for seed in range(first, min(first + options.at_once, end))
            ]
            for one, runs in zip(planned, simulate(program, planned, folder), strict=True):
                counts.update(runs[0]["happened"], networks=1, runs=len(runs))
                for settings in differences(one, runs):
                    counts["differences"] += 1
                    print(f"{one.case.stem}, {one.steps} steps: other bits than alone with {settings}", flush=True)
                one.case.unlink()
            print(dict(counts), file=sys.stderr, flush=True)
    print(f"instruction sets {', '.join(sets)}: {dict(counts)}")
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
