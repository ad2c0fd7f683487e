"""Builds a program with the sanitizers and runs it on ranks that take themselves for nodes."""

import os
import pathlib
import subprocess

import pytest

from tests.kept_build import kept_build
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]

# RANKS_PER_NODE ranks take themselves for one node.
AS_NODE = 'SLURMD_NODENAME=node$((OMPI_COMM_WORLD_RANK / RANKS_PER_NODE)) exec "$0" "$@"'


class Program:
    def __init__(self, source: str) -> None:
        name = pathlib.Path(source).name
        options = ["-DSWEEP_SANITIZE=ON", "-DSWEEP_WERROR=ON", "-DSWEEP_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
        with kept_build(name) as self.folder:
            self._run("cmake", "-S", REPOSITORY / source, "-B", self.folder, *options)
            self._run("cmake", "--build", self.folder)
        self.path = self.folder / name

    def __call__(self, *arguments, ranks, ranks_per_node=1, cwd, ok=True):
        environment = os.environ | MPI_ENVIRONMENT | {"RANKS_PER_NODE": str(ranks_per_node)}
        command = ["mpirun", "-n", str(ranks), "sh", "-c", AS_NODE, self.path, *arguments]
        return self._run(*command, env=environment, cwd=cwd, ok=ok)

    def unit_tests(self):
        self._run("ctest", "--test-dir", self.folder, "--no-tests=error", "--output-on-failure")

    def _run(self, *command, ok=True, **options):
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
        )
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture(scope="session")
def build():
    """``build(folder)`` is the program of the CMake project in that folder of the repository."""
    return Program
