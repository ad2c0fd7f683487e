"""A mix of jobs on a Slurm that answers as it is told: without accounting, beyond its limit, and stopped."""

import contextlib
import types

import pytest
from kappa.core.sites.contract import load_contract
from reports.acceptance.operations import begin_operation, operation_attempts

from kappa.app.conduct import mix_running, operation_jobs
from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.operation_jobs import OperationJobs, job_id
from kappa.app.conduct.session import Conductor
from kappa.core.ground.processes import Stop, StoppedError
from kappa.core.sites.operation_clauses import QueuedJob
from reports.acceptance.judge import judge
from tests.unit.acceptance.conftest import Filled

ROW = "{job}|{state}|2026-11-26T19:29:06|{start}|{end}|1|{node}|{reason}\n"


class FakeSlurm:
    """Two jobs; ``waits``: the second never starts. ``said`` are the commands."""

    def __init__(self, waits=False, accounting=True):
        self.sacct, self.environment = ("sacct",), {}
        self.waits, self.accounting = waits, accounting
        self.said, self.submitted, self.cancelled = [], 0, False

    def run(self, command):
        self.said.append(command)
        match command[0]:
            case "sbatch":
                self.submitted += 1
                return f"{self.submitted}\n"
            case "scancel":
                self.cancelled = True
                return ""
            case "squeue":
                return self._rows(ended=self.cancelled or not self.waits)
            case "sacct" if self.accounting:
                return self._rows(ended=True)
        raise CommandError(f"`{command[0]}`: there is no such program")

    def _rows(self, ended):
        times = {"start": "2026-11-26T19:29:06", "end": "2026-11-26T19:29:08"}
        first = ROW.format(job=1, state="COMPLETED", node="node1", reason="None", **times)
        if not self.waits:
            return first + first.replace("1|COMP", "2|COMP", 1).replace("node1", "node2")
        state, end = ("CANCELLED", "2026-11-26T19:30:06") if ended else ("PENDING", "N/A")
        reason = "None" if ended else "Resources"
        return first + ROW.format(job=2, state=state, start="N/A", end=end, node="", reason=reason)


@pytest.fixture
def campaign(tmp_path):
    return Filled(tmp_path / "campaign").demand(
        {
            "id": "M1",
            "text": "busy",
            "mix": {
                "nodes": 2, "efficiency": 0.5, "limit_s": 1, "jobs": [{"nodes": 1, "seconds": 2, "count": 2}],
                "options": ["--partition=batch"],
            },
            "mandatory": True,
        }
    )  # fmt: skip


def run(campaign, slurm, monkeypatch, stop=None, again=False):
    monkeypatch.setattr(mix_running, "_POLL_S", 0.01)
    monkeypatch.setattr(mix_running, "_SETTLE_S", 0.1)
    monkeypatch.setattr(mix_running, "commands_of", lambda _: slurm)
    contract = load_contract(campaign.folder / "contract.yaml")
    mix_running.run_mixes(campaign, contract, None, Conductor(stop or Stop()), again)
    return judge(campaign).clauses[0]


@pytest.mark.parametrize("accounting", [True, False])
def test_all_jobs_end(campaign, monkeypatch, accounting):
    slurm = FakeSlurm(accounting=accounting)
    found = run(campaign, slurm, monkeypatch)
    assert (found.outcome.word, found.value) == ("met", 1)
    [sbatch, _] = [command for command in slurm.said if command[0] == "sbatch"]
    assert {"--partition=batch", "--exclusive", "--nodes=1", "--wrap=exec sleep 2"} <= {*sbatch}
    assert not slurm.cancelled
    done = len(slurm.said)
    run(campaign, slurm, monkeypatch)
    assert len(slurm.said) == done, "nothing is left to run"


def test_what_does_not_start_is_cancelled_and_named(campaign, monkeypatch):
    slurm = FakeSlurm(waits=True)
    found = run(campaign, slurm, monkeypatch)
    [problem] = found.problems
    assert slurm.cancelled and "job 2: CANCELLED, did not start on 1 node (Resources)" in problem
    again = FakeSlurm()
    assert run(campaign, again, monkeypatch, again=True).outcome.word == "met"


def test_a_stop_cancels_the_jobs(campaign, monkeypatch):
    stop, slurm = Stop(), FakeSlurm(waits=True)

    def stopped(*_):
        stop.told(15)
        stop.check()

    monkeypatch.setattr(mix_running, "pause", stopped)
    with pytest.raises(StoppedError):
        run(campaign, slurm, monkeypatch, stop)
    assert slurm.cancelled
    [attempt] = operation_attempts(campaign.folder, "M1")
    assert not attempt.finished


def test_what_a_killed_run_left_is_cancelled(campaign, monkeypatch):
    left = begin_operation(campaign.folder, "M1", 1)
    slurm = FakeSlurm()
    run(campaign, slurm, monkeypatch)
    assert ("scancel", "--quiet", f"--name={left.job_name}") in slurm.said


def test_a_program_is_quoted(campaign):
    jobs = OperationJobs(FakeSlurm(), types.SimpleNamespace(job_name="kappa-x"), ())
    command = jobs.submission(QueuedJob(1, 60, ("echo", "it's $HOME; true")))
    assert command[-1] == """--wrap=exec echo 'it'"'"'s $HOME; true'"""


@pytest.mark.parametrize(("said", "job"), [("12\n", "12"), ("12;cluster\n", "12"), ("", None), ("error\n", None)])
def test_the_id_of_a_job(said, job):
    with contextlib.nullcontext() if job else pytest.raises(CommandError):
        assert job_id(said) == job


def test_a_pause_ends_with_a_stop():
    stop = Stop(deadline=1)
    with pytest.raises(StoppedError):
        operation_jobs.pause(stop, 3600)
