"""The simulator built with sanitizers, with Clang, with MPICH and without AVX.

Run by `make test-builds` only, because each member of the matrix takes minutes to build.
"""

from __future__ import annotations

import os
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import Emt, build_emt

pytestmark = pytest.mark.skipif(
    not os.environ.get("KAPPA_TEST_BUILDS"), reason="KAPPA_TEST_BUILDS is not set: run by `make test-builds`"
)
STEPS = "1000"


@dataclass(frozen=True)
class Build:
    """A member of the matrix: what it is configured with, and what tells that it became what was asked for."""

    options: tuple[str, ...]
    compiler: str = "GNU"
    mpi: str = "Open MPI"
    launcher: str = "mpirun"
    needs: tuple[tuple[str, str], ...] = ()
    """Programs, and Debian's packages of them."""


BUILDS = {
    "sanitized": Build(("-DEMT_SANITIZE=ON",)),
    "clang": Build(("-DCMAKE_CXX_COMPILER=clang++",), compiler="Clang", needs=(("clang++", "clang"),)),
    "mpich": Build(
        ("-DMPI_CXX_COMPILER=mpicxx.mpich",),
        mpi="MPICH",
        launcher="mpiexec.mpich",
        needs=(("mpicxx.mpich", "libmpich-dev"), ("mpiexec.mpich", "mpich")),
    ),
    "portable": Build(("-DEMT_PORTABLE=ON",)),
}


@pytest.fixture(scope="module", params=BUILDS)
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture(scope="module")
def emt(name: str, tmp_path_factory: pytest.TempPathFactory) -> Emt:
    build = BUILDS[name]
    for program, package in build.needs:
        if not shutil.which(program):
            pytest.skip(f"not provided here: {program} (Debian: {package})")
    before = _processor_s()
    built = build_emt(tmp_path_factory.mktemp(name), *build.options)
    print(f"\n{name}: {_processor_s() - before:.0f} s of one core to build")
    return Emt(built, build.launcher)


def _processor_s() -> float:
    """Return the processor time of the finished child processes, s. Other load hardly changes it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_unit_tests_pass(emt: Emt) -> None:
    before = _processor_s()
    emt.unit_tests()
    print(f"\n{_processor_s() - before:.0f} s of one core for the unit tests")


@pytest.fixture(scope="module")
def hq(emt: Emt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hq") / "hq.json"
    emt("generate", "hq", "--scale", "1", "-o", path)
    return path


def test_same_bits_within_the_build(emt: Emt, hq: Path, tmp_path: Path) -> None:
    checksums = {
        (ranks, exchange): emt.run(hq, tmp_path, "--steps", STEPS, "--exchange", exchange, ranks=ranks)["checksum"]
        for ranks in (1, 2)
        for exchange in ("step", "slack")
    }
    assert len(set(checksums.values())) == 1, checksums


def test_the_build_is_what_was_asked_for(name: str, emt: Emt, hq: Path, tmp_path: Path) -> None:
    result = emt.run(hq, tmp_path, "--steps", "1", "--no-replay", ranks=2)
    made_by = result["provenance"]
    print(f"\n{made_by['compiler']}, {made_by['mpi']}")
    assert made_by["compiler"].startswith(BUILDS[name].compiler)
    assert made_by["mpi"].startswith(BUILDS[name].mpi)
    assert result["ranks"] == 2
    assert name != "portable" or result["isa"] == "portable"
    for runtime in (b"__asan_init", b"__ubsan_handle"):
        assert (runtime in emt.program.read_bytes()) == (name == "sanitized"), runtime
