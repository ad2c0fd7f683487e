"""At the limit of a user's jobs a case waits until others have ended, instead of failing as ReFrame 4.10 has it."""

import time
from collections.abc import Callable

from reframe.core import runtime
from reframe.core.exceptions import SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import slurm
from reframe.frontend.executors import policies

from kappa.core.vocabulary.slurm_refusals import at_limit
from reframe_checks.base.patient_slurm import give_up

#: Between two tries to submit a job at the user's limit, and after which the case is given up, s.
SUBMIT_AGAIN_S, SUBMIT_S = 5, 1800

_submit, _advance = slurm.SlurmJobScheduler.submit, policies.AsynchronousExecutionPolicy._advance_ready_run


def wait_at_limit() -> None:
    """Have ReFrame submit to Slurm as this module does."""
    slurm.SlurmJobScheduler.submit = _submit_at_limit
    policies.AsynchronousExecutionPolicy._advance_ready_run = _advance_unless_at_limit


class AtATime:
    """How many jobs Slurm lets this user have at a time, as far as it has refused more."""

    def __init__(self) -> None:
        self._jobs: list = []
        self._most: int | None = None
        self._given_up = False
        self.meanwhile: Callable[[], None] = lambda: None
        """What goes on while a job waits to be submitted."""

    @property
    def is_full(self) -> bool:
        return self._most is not None and len(self._running()) >= self._most

    def _running(self) -> list:
        self._jobs = [job for job in self._jobs if not slurm.slurm_state_completed(job.state)]
        return self._jobs

    def submit(self, scheduler, job) -> None:
        """Submit the job, and at the limit try again until others have ended.

        :raises SpawnedProcessError: Slurm refuses it for another reason, or for ``SUBMIT_S``; no later job waits then.
        """
        deadline_s = time.monotonic() + (0 if self._given_up else SUBMIT_S)
        while True:
            try:
                _submit(scheduler, job)
            except SpawnedProcessError as err:
                limit = at_limit(str(err.stderr))
                if not limit:
                    raise
                self._say(limit)
                if time.monotonic() >= deadline_s:
                    self._given_up = True
                    raise
                self.meanwhile()
                time.sleep(SUBMIT_AGAIN_S)
            else:
                self._given_up = False
                for forgotten in (other for other in self._running() if other.jobid == job.jobid):
                    give_up(forgotten, "Slurm has forgotten the job: its number is another's now")
                self._jobs.append(job)
                return

    def _say(self, limit: str) -> None:
        ours = max(1, len(self._running()))
        if self._most is None or ours < self._most:
            self._most = ours
            getlogger().warning(
                f"Slurm takes no more jobs of this user now ({limit}): {self._most} at a time from here on;"
                f" `max_jobs: {self._most}` in site.yaml"
            )


AT_A_TIME = AtATime()


def _submit_at_limit(self, job) -> None:
    AT_A_TIME.submit(self, job)


def _advance_unless_at_limit(self, task) -> int:
    """Not to wait in ``submit``, where little else goes on, more often than to learn the limit."""
    AT_A_TIME.meanwhile = lambda: _answer_held_jobs(self)
    return 0 if AT_A_TIME.is_full and not task.check.is_local() else _advance(self, task)


def _answer_held_jobs(policy) -> None:
    """Jobs that wait for their figures to be judged would else keep their nodes until they give up waiting."""
    for task in (task for tasks in policy._partition_tasks.values() for task in tasks if task.state == "running"):
        if hasattr(task.check, "answer_held_job"):
            with runtime.temp_config(task.testcase.partition.fullname):
                task.check.answer_held_job()
