"""Builds the simulator once and offers it to the tests of this directory."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mpi_environment import MPI_ENVIRONMENT
from tests.programs import built
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "emt_app"


class Emt:
    """The built program: runs its subcommands, with ranks where asked."""

    def __init__(self, program: Path, launcher: str = "mpirun") -> None:
        self.program = program
        self.launcher = launcher

    def __call__(
        self, *arguments: str | Path, ranks: int = 0, ok: bool = True, timeout_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        launcher = [self.launcher, "-n", str(ranks)] if ranks else []
        done = subprocess.run(
            [*launcher, str(self.program), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=os.environ | MPI_ENVIRONMENT,
            check=False,
        )
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done

    def run(self, case: Path, tmp: Path, *arguments: str | Path, ranks: int = 0) -> dict[str, Any]:
        """Result of `emt run`."""
        result = tmp / "result.json"
        self("run", case, "--result", result, *arguments, ranks=ranks)
        loaded: dict[str, Any] = json.loads(result.read_text())
        return loaded

    def waves(self, case: Path, tmp: Path, steps: int, nodes: list[str], *arguments: str) -> dict[str, list[float]]:
        """Voltage of each node, V, and "time", s, at steps 0 … steps."""
        csv = tmp / "waves.csv"
        probes = [word for node in nodes for word in ("--probe", node)]
        self("run", case, "--steps", str(steps), "--no-replay", "--csv", csv, *probes, *arguments)
        rows = [line.split(",") for line in csv.read_text().splitlines()]
        return {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])}

    def sampled(self, case: Path, tmp: Path, steps: int, every: int, probes: list[str]) -> dict[str, list[float]]:
        """Each probe and "time", s, every so many steps, from the first row on in which signals have a value."""
        csv, result = tmp / "samples.csv", tmp / "result.json"
        words = [word for probe in probes for word in ("--probe", probe)]
        length = ["--steps", str(steps), "--every", str(every)]
        self("run", case, *length, "--no-replay", "--result", result, "--csv", csv, *words)
        rows = [line.split(",") for line in csv.read_text().splitlines()]
        complete = [row for row in rows[1:] if all(row)]
        return {name: [float(row[i]) for row in complete] for i, name in enumerate(rows[0])}

    def unit_tests(self) -> None:
        """Runs the build's own tests."""
        for name in ("emt_unit_tests", "emt_ring_threads"):
            # ThreadSanitizer does not go with the others: a sanitized build has no such program.
            if name == "emt_unit_tests" or (self.program.parent / "tests" / name).exists():
                # UCX's hooks of memory calls crash ThreadSanitizer where a thread ends.
                _succeed(self.program.parent / "tests" / name, UCX_MEM_EVENTS="no")


def build_emt(folder: Path, *options: str, source: Path = APP, target: str = "all") -> Path:
    """The program, built in the folder with these options of CMake; warnings are errors."""
    _succeed("cmake", "-S", source, "-B", folder, "-DEMT_WERROR=ON", *options)
    _succeed("cmake", "--build", folder, "--parallel", "2", "--target", target)
    return folder / "emt"


def _succeed(*command: str | Path, **variables: str) -> None:
    environment = os.environ | MPI_ENVIRONMENT | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="session")
def emt() -> Emt:
    """EMT_PROGRAM names a build to test; otherwise one is made, of what has changed since the last."""
    if given := os.environ.get("EMT_PROGRAM"):
        return Emt(Path(given))
    return Emt(built("emt") / "emt")


@pytest.fixture(scope="session")
def hq(emt: Emt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference network at scale 1."""
    path = tmp_path_factory.mktemp("hq") / "hq.json"
    emt("generate", "hq", "--seed", "7", "-o", path)
    return path


def write_case(path: Path, elements: list[Mapping[str, Any]], **settings: Any) -> Path:
    """A case file from its elements and settings."""
    case = {"format": "kappa-emt-case", "version": 1, "frequency": 60, "elements": elements, **settings}
    path.write_text(json.dumps(case))
    return path


def element_types(case_schema: dict[str, Any]) -> list[str]:
    """Every type of element that the schema of cases has."""
    listed = case_schema["properties"]["elements"]["items"]["oneOf"]
    return [one["$ref"].removeprefix("#/$defs/") for one in listed]


def element_keys(case_schema: dict[str, Any], kind: str) -> set[str]:
    """Every key that the schema of cases has for an element of this type."""
    return _keys(case_schema["$defs"][kind], case_schema["$defs"])


def _keys(part: dict[str, Any], defs: dict[str, Any]) -> set[str]:
    if "$ref" in part:
        return _keys(defs[part["$ref"].removeprefix("#/$defs/")], defs)
    inner = [*part.get("allOf", ()), *part.get("oneOf", ()), *(part[word] for word in ("then", "else") if word in part)]
    return set(part.get("properties", ())).union(*(_keys(one, defs) for one in inner))


CaseWriter = Callable[..., Path]


@pytest.fixture
def case_file(tmp_path: Path) -> CaseWriter:
    return lambda elements, **settings: write_case(tmp_path / "case.json", elements, **settings)
