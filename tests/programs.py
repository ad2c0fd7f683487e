"""The programs that tests run: ``python -m tests.programs`` builds all of them before a test is measured.

They are kept for other checkouts as the checks' own are (``kept_build.sh``).
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kappa.core.ground.folders import SUITE as REPOSITORY
from reframe_checks.application.emt import EmtProgram
from reframe_checks.base.cmake_program import KEPT_BUILD
from reframe_checks.base.programs import run

FOLDER = REPOSITORY / ".kappa/build/tests"
_SANITIZED = ("-DCMAKE_BUILD_TYPE=Debug", "-DSWEEP_SANITIZE=ON", "-DSWEEP_WERROR=ON", "-DSWEEP_TESTS=ON")
# All files in a few, as the checks build it; `test_new_element.py` compiles the files one by one.
_UNITY = tuple(option for option in EmtProgram.cmake_options if "UNITY" in option)


@dataclass(frozen=True)
class Build:
    """A CMake project below the repository, the programs that it builds, relative to its folder, and its options."""

    source: str
    programs: tuple[str, ...]
    options: tuple[str, ...] = _SANITIZED

    def command(self, folder: Path) -> list[str]:
        programs = ",".join(self.programs)
        return ["bash", str(KEPT_BUILD), str(REPOSITORY / self.source), str(folder), programs, *self.options]


_EMT_TESTS = ("emt_unit_tests", "emt_planted", "emt_same_bits", "emt_ring_threads")
BUILDS = {
    "emt": Build(
        "emt_app", ("emt", *(f"tests/{one}" for one in _EMT_TESTS)),
        ("-DCMAKE_BUILD_TYPE=Release", "-DEMT_WERROR=ON", *_UNITY),
    ),
    "emt-smpi": Build("emt_app", ("emt",), ("-DCMAKE_CXX_COMPILER=smpicxx", "-DEMT_TESTS=OFF", *_UNITY)),
    "affinity": Build("reframe_checks/compute/src/affinity", ("affinity",)),
    "bit_sweep": Build(
        "reframe_checks/compute/src/bit_sweep", ("bit_sweep", "bit_sweep_test", "bit_sweep_planted")
    ),
    "node_sweep": Build(
        "reframe_checks/compute/src/node_sweep", ("node_sweep", "node_sweep_test", "node_sweep_planted")
    ),
    "mpi_behaviour": Build("reframe_checks/network/src/mpi_behaviour", ("mpi_behaviour", "mpi_behaviour_planted")),
    "pair_sweep": Build(
        "reframe_checks/network/src/pair_sweep", ("pair_sweep", "pair_sweep_test", "pair_sweep_planted")
    ),
    "pattern": Build("reframe_checks/network/src/patterns", ("pattern", "pattern_planted")),
    # As the check builds it.
    "release/pattern": Build("reframe_checks/network/src/patterns", ("pattern",), ("-DCMAKE_BUILD_TYPE=Release",)),
    "ring_traffic": Build("reframe_checks/network/src/ring_traffic", ("ring_traffic",)),
}  # fmt: skip
# `make test` needs none of these.
_LONG_ONLY = ("emt-smpi",)


def built(name: str) -> Path:
    """The folder of one of ``BUILDS``, up to date."""
    folder = FOLDER / name
    done = subprocess.run(BUILDS[name].command(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


def main() -> int:
    wanted = {name: build for name, build in BUILDS.items() if name not in _LONG_ONLY}
    return run((f"{name} for tests", build.command(FOLDER / name)) for name, build in wanted.items())


if __name__ == "__main__":
    sys.exit(main())
