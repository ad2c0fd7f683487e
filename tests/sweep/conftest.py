"""Runs ``kappa-measure``, built with the sanitizers, on ranks that take themselves for nodes."""

import copy
import os
import subprocess

import pytest

from tests.mpi_environment import MPI_ENVIRONMENT
from tests.programs import built
from tests.waiting import PATIENCE_S

# RANKS_PER_NODE ranks take themselves for one node.
AS_NODE = 'SLURMD_NODENAME=node$((OMPI_COMM_WORLD_RANK / RANKS_PER_NODE)) exec "$0" "$@"'


class Program:
    """A subcommand; its words come before all arguments."""

    def __init__(self, *subcommand: str) -> None:
        self.subcommand, self.folder = subcommand, built("measure")
        self.path = self.folder / "kappa-measure"

    def __call__(self, *arguments, ranks, ranks_per_node=1, cwd, ok=True):
        environment = os.environ | MPI_ENVIRONMENT | {"RANKS_PER_NODE": str(ranks_per_node)}
        command = ["mpirun", "-n", str(ranks), "sh", "-c", AS_NODE, self.path, *self.subcommand, *arguments]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment,
            cwd=cwd,
        )  # fmt: skip
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done

    def planted(self, kind: str) -> "Program":
        """The same of a program with planted faults."""
        other = copy.copy(self)
        other.path = self.folder / f"kappa-measure-planted-{kind}"
        return other


@pytest.fixture(scope="session")
def build():
    """``build(*words)`` is the subcommand of these words."""
    return Program
