"""A Slurm that is slow, refuses or does not answer: nothing is concluded of jobs, and nothing waits for ever.

Slurm's output was recorded on the embedded cluster (22.05); output of newer versions is from its manuals.
"""

import contextlib
import dataclasses
import time
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import JobBlockedError, SpawnedProcessError
from reframe.core.schedulers import slurm
from reframe.utility import osext

from reframe_checks.base import patient_slurm


@dataclasses.dataclass(eq=False)
class Job:
    jobid: str
    _state: str | None = "RUNNING"
    max_pending_time: float | None = None
    submit_time: float = dataclasses.field(default_factory=time.time)
    is_cancelling: bool = False
    is_array: bool = False
    _nodespec: str = ""
    _exitcode: int | None = None
    _exception: Exception | None = None
    _completion_time: float | None = None

    @property
    def state(self):
        return self._state


patient_slurm.outlast_slurm()


class Answers:
    """Answers of Slurm's commands by name, a text or an error, and their arguments."""

    def __init__(self, monkeypatch):
        self.asked, self.said, self.now_s = [], {}, 1000.0
        monkeypatch.setattr(osext, "run_command", self)
        monkeypatch.setattr(slurm, "_run_strict", lambda command, **_: self(command, check=True))
        # Which takes a site's settings.
        monkeypatch.setattr(slurm.rt, "temp_environment", lambda **_: contextlib.nullcontext())
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)

    def __call__(self, command, check=False, **_):
        self.asked.append(command)
        said = self.said.get(command.split()[0], "")
        if isinstance(said, Exception):
            raise said
        code = int("error" in said)
        if check and code:
            raise SpawnedProcessError(command, "", said, code)
        return SimpleNamespace(returncode=code, stdout="" if code else said, stderr=said if code else "")

    def of(self, name):
        return sum(command.startswith(name) for command in self.asked)


@pytest.fixture
def answers(monkeypatch):
    return Answers(monkeypatch)


def scheduler(cls):
    found = cls.__new__(cls)
    found._sacct, found._squeue, found._cancel_reasons = "sacct", "squeue", []
    found._num_sacct_failures = found._max_sacct_failures = found._update_state_count = 0
    found._pending_job_reason_poll_freq, found._submit_timeout = 1, None
    return found


def with_squeue():
    return scheduler(slurm.SqueueJobScheduler)


def test_one_question_tells_of_all_jobs(answers):
    answers.said["squeue"] = (
        "4|FAILED|768|node1|NonZeroExitCode|\n7|PENDING|0||Resources|\n6|RUNNING|0|node2|None|\n"
        "8|COMPLETED|0|node[1-2]|None|\n9|TIMEOUT|0:15|node3|TimeLimit|\n"
    )
    jobs = [Job(number) for number in ("4", "7", "6", "8", "9", "99")]
    with_squeue().poll(*jobs, None)
    assert [job.state for job in jobs] == ["FAILED", "PENDING", "RUNNING", "COMPLETED", "TIMEOUT", "COMPLETED"]
    assert [job._exitcode for job in jobs] == [3, None, None, 0, 0, None]
    assert jobs[3]._nodespec == "node[1-2]"
    assert answers.of("squeue") == 1


def test_nothing_is_concluded_from_a_controller_that_does_not_answer_until_it_is_given_up(answers):
    answers.said["squeue"] = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    asking, job = with_squeue(), Job("6")
    for _ in range(5):
        asking.poll(job)
    assert (job.state, answers.of("squeue")) == ("RUNNING", 1)
    answers.now_s += patient_slurm.ASK_AGAIN_S
    asking.poll(job)
    assert (job.state, answers.of("squeue")) == ("RUNNING", 2)
    answers.now_s += patient_slurm.GIVE_UP_S
    asking.poll(job)
    assert isinstance(job._exception, patient_slurm.UntoldError) and "connect failure" in str(job._exception)
    assert asking.finished(job)


def test_a_job_that_the_controller_alone_knows_no_more_has_ended(answers):
    answers.said["squeue"] = "slurm_load_jobs error: Invalid job id specified"
    jobs = [Job("6"), Job("7", is_cancelling=True)]
    with_squeue().poll(*jobs)
    assert [job.state for job in jobs] == ["COMPLETED", "CANCELLED"]
    assert all(map(patient_slurm.end_unseen, jobs))


def test_squeue_stands_in_for_accounting_that_fails(answers):
    answers.said |= {"sacct": "sacct: error: Connection refused", "squeue": "6|RUNNING|0|node2|None|\n"}
    asking, jobs = scheduler(slurm.SlurmJobScheduler), [Job("6", "PENDING"), Job("5")]
    asking.poll(*jobs)
    # A job that the controller has forgotten may have failed: accounting will tell.
    assert [job.state for job in jobs] == ["RUNNING", "RUNNING"]
    answers.now_s += patient_slurm.ASK_AGAIN_S
    end_s = round(time.time()) + 60
    answers.said["sacct"] = f"6|COMPLETED|0:0|{end_s}|node2\n5|FAILED|3:0|{end_s}|node1\n"
    asking.poll(*jobs)
    assert [(job.state, job._exitcode) for job in jobs] == [("COMPLETED", 0), ("FAILED", 3)]
    assert (answers.of("sacct"), answers.of("squeue")) == (2, 1)


def test_a_missing_sacct_is_one_that_fails(answers):
    answers.said |= {"sacct": FileNotFoundError(2, "No such file"), "squeue": "6|COMPLETED|0|node2|None|\n"}
    job = Job("6")
    scheduler(slurm.SlurmJobScheduler).poll(job)
    assert job.state == "COMPLETED"


NEVER = (
    "PartitionTimeLimit", "QOSMinGRES", "AssocMaxNodePerJobLimit", "AssocGrpBillingMinutes", "AccountNotAllowed",
    "QOSMaxWallDurationPerJobLimit", "AssocMaxWallDurationPerJobLimit",
    "Job's account not permitted to use this partition (closed allows nobody not root)",
    "Job's QOS not permitted to use this partition (qonly allows gold not normal)",
    "launch failed requeued held",
)  # fmt: skip
SOME_TIME = (
    "Priority", "AssocGrpCPURunMinutesLimit", "QOSMaxJobsPerUserLimit", "AssocMaxJobsLimit", "Resources",
    "ReqNodeNotAvail, May be reserved for other job",
)  # fmt: skip


def test_what_would_wait_for_ever_is_cancelled(answers):
    reasons = [*NEVER, *SOME_TIME]
    answers.said["squeue"] = "".join(f"{number}|PENDING|0||{reason}|\n" for number, reason in enumerate(reasons))
    jobs = [Job(str(number)) for number in range(len(reasons))]
    with_squeue().poll(*jobs)
    [cancelled] = [command for command in answers.asked if command.startswith("scancel")]
    assert cancelled.split()[1:] == [str(number) for number in range(len(NEVER))]
    for job, reason in zip(jobs, NEVER, strict=False):
        assert isinstance(job._exception, JobBlockedError) and reason in str(job._exception)
    assert not any(job._exception for job in jobs[len(NEVER) :])


@pytest.mark.parametrize("reason", ["ReqNodeNotAvail, UnavailableNodes:node[1-2]", "Nodes required for job are DOWN"])
def test_nodes_may_come_back(answers, reason):
    """As they do after a restart of the controller."""
    asking, job, others = with_squeue(), Job("6"), Job("7", "PENDING")
    asking._cancel_reasons = ["Nodes required for job are DOWN"]
    for said in [reason, "Resources", reason, reason]:
        answers.said["squeue"] = f"6|PENDING|0||{said}|\n7|PENDING|0||Resources|\n"
        asking.poll(job, others)
        assert job._exception is None
        answers.now_s += 0.9 * patient_slurm.NODES_BACK_S
    asking.poll(job, others)
    assert reason in str(job._exception) and others._exception is None
    assert [command for command in answers.asked if command.startswith("scancel")] == ["scancel 6"]


def test_what_waits_for_too_long_is_cancelled_and_what_ends_for_long_is_not(answers):
    answers.said["squeue"] = "6|PENDING|0||Priority|\n7|COMPLETING|0|node1|None|\n"
    jobs = [Job(number, max_pending_time=60, submit_time=time.time() - 90) for number in ("6", "7")]
    with_squeue().poll(*jobs)
    assert [command for command in answers.asked if command.startswith("scancel")] == ["scancel 6"]
    assert "did not start the job for 90 s" in str(jobs[0]._exception)


@pytest.mark.parametrize("listed", ["", "6|RUNNING|0:0|Unknown|node1\n"])
def test_a_job_that_died_with_the_controller_is_given_up(answers, listed):
    """Killed within seconds of its submission it has not kept the job; accounting knows none, or one that runs."""
    answers.said |= {"sacct": listed, "squeue": "slurm_load_jobs error: Invalid job id specified"}
    asking, lost = scheduler(slurm.SlurmJobScheduler), Job("6", None)
    new, late = Job("7", None), time.time() - patient_slurm.DOUBT_S - 1
    asking.poll(lost, new)
    assert answers.of("squeue") == 0
    lost.submit_time = late
    for _ in range(2):
        asking.poll(lost, new)
        assert (lost._exception, new.state) == (None, None) and not asking.finished(lost)
        answers.now_s += patient_slurm.FORGOTTEN_S / 2
    asking.poll(lost, new)
    assert isinstance(lost._exception, patient_slurm.UntoldError) and asking.finished(lost)
    assert new.state is None
    assert answers.of("squeue") == 3


def test_a_job_array_is_not_given_up(answers):
    """When the last of its jobs, which has its number, has ended others may run."""
    answers.said |= {"sacct": "6_1|RUNNING|0:0|Unknown|node1\n", "squeue": ""}
    asking, job = scheduler(slurm.SlurmJobScheduler), Job("6", submit_time=0, is_array=True)
    for _ in range(3):
        asking.poll(job)
        answers.now_s += patient_slurm.FORGOTTEN_S
    assert (job.state, job._exception) == ("RUNNING", None)
    with_squeue().poll(job)
    assert not patient_slurm.end_unseen(job)


def test_a_job_that_squeue_lists_again_is_not_given_up(answers):
    answers.said |= {"sacct": "6|RUNNING|0:0|Unknown|node1\n"}
    asking, job = scheduler(slurm.SlurmJobScheduler), Job("6", submit_time=time.time() - 1000)
    for listed in ["", "6|RUNNING|0|node1|None|\n", "", ""]:
        answers.said["squeue"] = listed
        asking.poll(job)
        answers.now_s += 0.9 * patient_slurm.FORGOTTEN_S
    assert (job.state, job._exception, answers.of("squeue")) == ("RUNNING", None, 4)


def test_what_accounting_says_of_an_earlier_job_of_this_number_is_not_believed(answers):
    """A controller that forgot jobs gives their numbers again."""
    earlier = f"6|NODE_FAIL|1:0|{time.time() - 60:.0f}|node3\n"
    answers.said |= {"sacct": earlier, "squeue": "6|RUNNING|0|node1|None|\n"}
    asking, job = scheduler(slurm.SlurmJobScheduler), Job("6", None)
    asking.poll(job)
    assert (job.state, job._nodespec, job._exitcode) == ("RUNNING", "node1", None)
    answers.said |= {"sacct": f"6|COMPLETED|0:0|{time.time() + 60:.0f}|node1\n"}
    asking.poll(job)
    assert (job.state, job._exitcode, answers.of("squeue")) == ("COMPLETED", 0, 1)


def test_a_job_that_accounting_does_not_list_yet_is_as_squeue_says(answers):
    answers.said["squeue"] = "6|RUNNING|0|node1|None|\n"
    asking, job = scheduler(slurm.SlurmJobScheduler), Job("6", None, submit_time=time.time() - 100)
    asking.poll(job)
    assert (job.state, job._nodespec) == ("RUNNING", "node1")


def test_a_job_that_was_preempted_has_ended():
    assert slurm.slurm_state_completed("PREEMPTED") and slurm.slurm_state_completed("CANCELLED,COMPLETED")
    assert not slurm.slurm_state_completed("RUNNING") and not slurm.slurm_state_completed(None)
