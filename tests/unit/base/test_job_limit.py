"""Slurm limits the jobs of a user: cases wait for others, and every wait ends."""

import dataclasses
import time

import pytest
from reframe.core.exceptions import SpawnedProcessError

from reframe_checks.base import patient_slurm


@dataclasses.dataclass(eq=False)
class Job:
    jobid: str
    _state: str = "RUNNING"
    _exception: Exception | None = None

    @property
    def state(self):
        return self._state


def test_a_job_whose_number_another_gets_is_given_up(monkeypatch):
    monkeypatch.setattr(patient_slurm, "_submit", lambda scheduler, job: None)
    at_a_time, jobs = patient_slurm.AtATime(), [Job("6"), Job("7"), Job("6")]
    for job in jobs:
        at_a_time.submit(None, job)
    assert "another job has its number" in str(jobs[0]._exception) and jobs[0].state == "CANCELLED"
    assert [job._exception for job in jobs[1:]] == [None, None]


REFUSED = (
    "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS "
    "policy (job submit limit, user's size and/or time limits)"
)


@pytest.fixture
def refused(monkeypatch):
    """Has sbatch refuse so often, with this; each wait takes its time."""
    now_s = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now_s.append(now_s.pop() + seconds))

    def arrange(times, said=REFUSED):
        left = [times]

        def submit(scheduler, job):
            if left[0]:
                left[0] -= 1
                raise SpawnedProcessError("sbatch", "", said, 1)

        monkeypatch.setattr(patient_slurm, "_submit", submit)
        return left

    return arrange


@pytest.mark.parametrize("limit", ["AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit", "QOSGrpSubmitJobsLimit"])
def test_at_the_limit_jobs_wait_and_fewer_are_submitted_at_a_time(refused, limit):
    at_a_time, jobs = patient_slurm.AtATime(), [Job(number) for number in "123"]
    refused(0)
    at_a_time.submit(None, jobs[0])
    at_a_time.submit(None, jobs[1])
    assert not at_a_time.is_full
    left, waited = refused(3, REFUSED.replace("AssocMaxSubmitJobLimit", limit)), []
    at_a_time.meanwhile = lambda: waited.append(1)
    at_a_time.submit(None, jobs[2])
    assert (left, len(waited)) == ([0], 3)
    assert at_a_time.is_full
    for job in jobs[:2]:
        job._state = "COMPLETED"
    assert not at_a_time.is_full


def test_a_limit_that_does_not_end_is_given_up_once(refused):
    at_a_time = patient_slurm.AtATime()
    left = refused(10_000)
    for _ in range(2):
        with pytest.raises(SpawnedProcessError):
            at_a_time.submit(None, Job("1"))
    assert 10_000 - left[0] == patient_slurm.SUBMIT_S // patient_slurm.SUBMIT_AGAIN_S + 2


def test_another_refusal_is_final(refused):
    left = refused(5, "sbatch: error: Batch job submission failed: Invalid qos specification")
    with pytest.raises(SpawnedProcessError):
        patient_slurm.AtATime().submit(None, Job("1"))
    assert left == [4]
