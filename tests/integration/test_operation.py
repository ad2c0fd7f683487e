"""Clauses about operation for real: a short mix of jobs, and a restart of slurmctld under load."""

import json
import subprocess
import sys

import pytest

from tests.integration.conftest import REPOSITORY, SITE
from tests.integration.test_slurm_settings import started
from tests.tiers import long
from tests.waiting import PATIENCE_S

CONTRACT = """\
contract:
  title: Operation
  system: embedded
  date: 2026-11-26
  parties: {buyer: B}
clauses:
  - id: M1
    text: A mix of jobs keeps the machine busy.
    mix:
      nodes: 4
      options: [--partition=scratch]
      efficiency: 0.01
      limit_s: 600
      jobs:
        - {nodes: 1, seconds: 3, count: 2}
        - {nodes: 2, seconds: 1, count: 1, command: [echo, "it's here"]}
        - {share: 1, seconds: 2, count: 1}
    mandatory: true
  - id: T1
    text: slurmctld is back soon.
    duration: {of: restart, at_most_s: 3600, load: 2, options: [--partition=scratch]}
    mandatory: true
"""
NOT_MET, INCOMPLETE = 1, 2


@pytest.fixture
def call(suite):
    contract = suite.results / "operation.yaml"
    contract.write_text(CONTRACT)

    def run(*arguments, stop=()):
        command = [sys.executable, "-m", "kappa.app.command.main", "acceptance", *map(str, arguments)]
        if arguments[0] != "report":
            command += ["--contract", str(contract)]
        return subprocess.run(
            [*command, *(["--", *stop] if stop else [])],
            env=suite.environment(), cwd=REPOSITORY,
            capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False,
        )  # fmt: skip

    return run


@long
def test_mix_and_restart(suite, call, tmp_path):
    folder = suite.results / "operation"
    planned = call("plan", SITE)
    assert planned.returncode == 0, planned.stderr
    assert "4 jobs, 16 node-seconds on 4 nodes" in planned.stdout

    ran = call("run", SITE, folder)
    assert ran.returncode == INCOMPLETE, ran.stdout + ran.stderr
    assert "T1       repeat 1 is not finished" in ran.stdout
    [mix] = (folder / "operations").iterdir()
    assert [path.read_text() for path in mix.glob("job-*.out")] == ["it's here\n"]

    manager = str(SITE / "cluster")
    restart = ["sh", "-c", '"$0" exec login pkill slurmctld && "$0" up', manager]
    timed = call("time", SITE, folder, "T1", stop=restart)
    assert timed.returncode == 0, timed.stdout + timed.stderr
    again = call("time", SITE, folder, "T1", stop=["true"])
    assert (again.returncode, "all 1 repeats are measured" in again.stderr) == (INCOMPLETE, True)
    assert not suite.jobs(), "its jobs are cancelled"

    reported = call("report", folder, "-o", tmp_path / "dossier", "--no-pdf")
    assert reported.returncode == 0, reported.stdout + reported.stderr
    clauses = json.loads((tmp_path / "dossier/verdict.json").read_text())["clauses"]
    assert [clause["outcome"] for clause in clauses] == ["met", "met"]
    assert 0 < clauses[0]["value"] <= 1 and clauses[1]["operations"][0]["lost_jobs"] == 0


@pytest.fixture
def drained(suite):
    """Drain node4."""

    def update(*settings):
        suite.cluster("exec", "login", "scontrol", "update", "nodename=node4", *settings)

    update("state=drain", "reason=test")
    yield
    update("state=resume")


@long
@pytest.mark.usefixtures("drained")
def test_job_that_cannot_start_leaves_the_mix_incomplete(suite, call):
    contract = suite.results / "operation.yaml"
    contract.write_text(CONTRACT.replace("limit_s: 600", "limit_s: 30"))
    ran = call("run", SITE, suite.results / "operation-drained")
    assert ran.returncode == INCOMPLETE, ran.stdout + ran.stderr
    assert "did not start on 4 nodes (Nodes required for job are DOWN, DRAINED" in ran.stdout
    assert not suite.jobs()


@long
def test_backup_controller_takes_over(tmp_path):
    with started(tmp_path, "--backup-controller") as suite:
        contract = tmp_path / "failover.yaml"
        head, _, _ = CONTRACT.partition("  - id: M1")
        duration = "{of: failover, at_most_s: 3600, load: 1, options: [--partition=scratch]}"
        contract.write_text(f"{head}  - id: F1\n    text: It goes on.\n    duration: {duration}\n    mandatory: true\n")
        arguments = ["acceptance", "time", str(SITE), str(tmp_path / "failover"), "F1", "--contract", str(contract)]
        takeover = [str(SITE / "cluster"), "exec", "login", "scontrol", "takeover"]
        done = subprocess.run(
            [sys.executable, "-m", "kappa.app.command.main", *arguments, "--", *takeover],
            env=suite.environment(), cwd=REPOSITORY,
            capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "lost_jobs 0" in done.stdout
