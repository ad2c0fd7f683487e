"""A dead Slurm is said in a line, before any job, and no run is left of it."""

import subprocess

from tests.waiting import PATIENCE_S

from .conftest import KAPPA

INCOMPLETE = 2


def test_a_dead_controller_is_said_before_any_job(suite):
    runs = set(suite.results.glob("runs/*"))
    suite.cluster("exec", "login", "pkill", "-9", "slurmctld")
    try:
        done = subprocess.run(
            [KAPPA, "validate", "embedded", "smoke"],
            env=suite.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    finally:
        suite.cluster("up")
    assert done.returncode == INCOMPLETE, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert "Slurm takes no job in cpu, gpu, scratch, switches: " in line and "`kappa cluster up`" in line
    assert set(suite.results.glob("runs/*")) == runs
