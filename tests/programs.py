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
_SANITIZED = ("-DCMAKE_BUILD_TYPE=Debug", "-DMEASURE_SANITIZE=ON", "-DMEASURE_WERROR=ON", "-DMEASURE_TESTS=ON")
# All files in a few, as the checks build it; `test_new_element.py` compiles the files one by one.
_UNITY = tuple(option for option in EmtProgram.cmake_options if "UNITY" in option)


@dataclass(frozen=True)
class Build:
    """A CMake project below the repository, the programs that it builds, relative to its folder, and its options."""

    source: str
    programs: tuple[str, ...]
    options: tuple[str, ...]

    def command(self, folder: Path) -> list[str]:
        programs = ",".join(self.programs)
        return ["bash", str(KEPT_BUILD), str(REPOSITORY / self.source), str(folder), programs, *self.options]


_MEASURE = "reframe_checks/src"
#: Programs with faults, which tests plant.
PLANTED = tuple(f"kappa-measure-planted-{fault}" for fault in ("sender", "receiver", "bits", "kernels"))
_EMT_TESTS = ("emt_unit_tests", "emt_planted", "emt_same_bits", "emt_ring_threads")
BUILDS = {
    "emt": Build(
        "emt_app", ("emt", *(f"tests/{one}" for one in _EMT_TESTS)),
        ("-DCMAKE_BUILD_TYPE=Release", "-DEMT_WERROR=ON", *_UNITY),
    ),
    "emt-smpi": Build("emt_app", ("emt",), ("-DCMAKE_CXX_COMPILER=smpicxx", "-DEMT_TESTS=OFF", *_UNITY)),
    "measure": Build(_MEASURE, ("kappa-measure", "kappa-measure-test", *PLANTED), _SANITIZED),
    # As the checks build it.
    "release/kappa-measure": Build(_MEASURE, ("kappa-measure",), ("-DCMAKE_BUILD_TYPE=Release",)),
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
