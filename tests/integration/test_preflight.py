"""A dead Slurm gives one line before any job, and leaves no run."""

import json
import subprocess

import pytest

from tests.tiers import long
from tests.waiting import PATIENCE_S

from .conftest import KAPPA

INCOMPLETE = 2


@pytest.fixture
def dead(suite):
    """A cluster without its controller."""
    suite.cluster("exec", "login", "pkill", "-9", "slurmctld")
    yield suite
    suite.cluster("up")


def test_a_dead_controller_is_said_before_any_job(dead):
    suite = dead
    runs = set(suite.results.glob("runs/*"))
    done = subprocess.run(
        [KAPPA, "validate", "embedded", "smoke"],
        env=suite.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == INCOMPLETE, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert "Slurm accepts no job in cpu, gpu, scratch, switches: " in line and "`kappa cluster up`" in line
    assert set(suite.results.glob("runs/*")) == runs


@long
def test_a_controller_that_dies_meanwhile_is_no_nodes_fault(dead):
    """35 s: each of Slurm's commands asks for ten."""
    status, verdict = dead.run("-n", "PartitionState", "-n", "Fio", "--system=embedded:scratch")
    assert status == INCOMPLETE
    assert (verdict["counts"]["failed"], verdict["suspects"]) == (0, [])
    gaps = json.dumps(verdict["incomplete"])
    assert "no job ran: Unable to contact slurm controller" in gaps and "Slurm does not answer: " in gaps
