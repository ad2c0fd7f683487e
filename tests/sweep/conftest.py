"""Runs a program that was built with the sanitizers on ranks that take themselves for nodes."""

import os
import subprocess

import pytest

from tests.mpi_environment import MPI_ENVIRONMENT
from tests.programs import BUILDS, built
from tests.waiting import PATIENCE_S

# RANKS_PER_NODE ranks take themselves for one node.
AS_NODE = 'SLURMD_NODENAME=node$((OMPI_COMM_WORLD_RANK / RANKS_PER_NODE)) exec "$0" "$@"'


class Program:
    def __init__(self, name: str) -> None:
        self.name, self.folder = name, built(name)
        self.path = self.folder / name

    def __call__(self, *arguments, ranks, ranks_per_node=1, cwd, ok=True):
        environment = os.environ | MPI_ENVIRONMENT | {"RANKS_PER_NODE": str(ranks_per_node)}
        command = ["mpirun", "-n", str(ranks), "sh", "-c", AS_NODE, self.path, *arguments]
        return self._run(*command, env=environment, cwd=cwd, ok=ok)

    def unit_tests(self):
        (tests,) = (program for program in BUILDS[self.name].programs if program.endswith("_test"))
        self._run(self.folder / tests)

    def _run(self, *command, ok=True, **options):
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
        )
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture(scope="session")
def build():
    """``build(name)`` is the program of that entry of ``tests.programs.BUILDS``."""
    return Program
