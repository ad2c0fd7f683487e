"""Keep ReFrame's sessions alive if Slurm refuses, is slow or does not answer, and never take a running job for ended.

ReFrame 4.10 without these changes (docs/slurm.md):

- ends without a report and leaves its jobs, if ``sacct`` fails four times in a row;
- takes all jobs for completed, if ``squeue`` fails;
- waits forever for a job that was preempted.
"""

import contextlib
import re
import time
from collections.abc import Callable

from reframe.core import runtime
from reframe.core.exceptions import JobBlockedError, JobError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import slurm
from reframe.frontend.executors import policies
from reframe.utility import osext

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.vocabulary.slurm_refusals import at_limit, never_starts

#: Limit of one question; time between two while Slurm does not answer; time after which jobs are given up. All in s.
ANSWER_S, ASK_AGAIN_S, GIVE_UP_S = 120, 10, 1800
#: Time between two questions to the controller about jobs without an end in accounting; time after which jobs that the
#: controller does not list either are given up. Both in s.
DOUBT_S, FORGOTTEN_S = 60, 300
#: How long nodes of a waiting job may be unavailable before the job is cancelled, as after a controller restart, s.
NODES_BACK_S = 30
#: How Slurm's reason begins if a job waits for unavailable nodes.
_OF_NODES = ("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown")
_COLUMNS = "JobID:|,State:|,exit_code:|,NodeList:|,Reason:|"
_ROW = re.compile(r"([0-9]+)\|([A-Z_]+)[^|]*\|([0-9]*)(?::[0-9]+)?\|([^|]*)\|([^|]*)\|")


class UntoldError(JobError):
    """Slurm no longer reports the state of the job. The verdict identifies the error by this name."""


class _SilenceError(Exception):
    """The controller does not answer; the text gives the reason."""


_completed, _ask_accounting = slurm.slurm_state_completed, slurm.SlurmJobScheduler.poll


def outlast_slurm() -> None:
    """Make ReFrame's schedulers ``slurm`` and ``squeue`` poll with the functions of this module."""
    slurm.slurm_state_completed = lambda state: _completed(state) or state == "PREEMPTED"
    slurm._run_strict.keywords.setdefault("timeout", ANSWER_S)
    slurm.SlurmJobScheduler.poll = _poll_accounting
    slurm.SqueueJobScheduler.poll = _poll_controller
    slurm.SlurmJobScheduler._cancel_if_blocked = _cancel_blocked
    slurm.SlurmJobScheduler._cancel_if_pending_too_long = _cancel_late


def _poll_accounting(self, *jobs) -> None:
    """Take the states of the jobs from ``sacct``, or from ``squeue`` while ``sacct`` fails."""
    jobs = [job for job in jobs if job is not None]
    if not jobs or time.monotonic() < _since(self, "asks_again"):
        return
    self._max_sacct_failures = 0
    try:
        _ask_accounting(self, *jobs)
    except (SpawnedProcessError, OSError) as err:
        if not _since(self, "no_accounting"):
            self.no_accounting = time.monotonic()
            getlogger().warning(f"sacct failed: {_said(err)}; Kappa asks squeue instead")
        _poll_controller(self, *jobs)
        self.asks_again = time.monotonic() + ASK_AGAIN_S
    else:
        self.no_accounting = 0.0
        _doubt(self, jobs)


def _doubt(self, jobs) -> None:
    """Ask the controller about jobs where accounting may be wrong.

    A controller that was killed forgets jobs that it had not yet saved. In accounting, a forgotten job runs forever or
    never existed. A later job gets its number, and seems at first to have ended with the forgotten job.
    """
    late_s = time.time() - DOUBT_S
    # A job array goes on when the one job that has the array's number has ended. The suite submits none.
    unended = [job for job in jobs if not (_completed(job.state) or job.is_array) and job.submit_time < late_s]
    stale = [job for job in jobs if _completed(job.state) and (job._completion_time or float("inf")) < job.submit_time]
    now_s = time.monotonic()
    if not unended:
        self.no_answer = 0.0
    if not stale and (not unended or now_s < _since(self, "doubts_again")):
        return
    self.doubts_again = now_s + DOUBT_S
    try:
        rows = _rows(self, [*stale, *unended])
    except _SilenceError as silence:
        return _unanswered(self, unended, str(silence))
    self.no_answer = 0.0
    _take([job for job in (*stale, *unended) if job in stale or job.state is None], rows)
    gone, before = [job for job in unended if job.jobid not in rows], getattr(self, "gone_s", {})
    self.gone_s = {job.jobid: before.get(job.jobid, now_s) for job in gone}
    for job in gone:
        if now_s - self.gone_s[job.jobid] >= FORGOTTEN_S:
            give_up(job, f"{_nothing_for(FORGOTTEN_S)}: squeue no longer lists it, and sacct does not list its end")


def _poll_controller(self, *jobs) -> None:
    """Take the states of the jobs from ``squeue``.

    ``squeue`` lists jobs for ``MinJobAge`` after their end (slurm.conf, 300 s by default).
    """
    jobs = [job for job in jobs if job is not None]
    if not jobs or time.monotonic() < _since(self, "asks_again"):
        return
    try:
        rows = _rows(self, jobs)
    except _SilenceError as silence:
        return _unanswered(self, jobs, str(silence))
    by_accounting = not isinstance(self, slurm.SqueueJobScheduler)
    gone = [job for job in jobs if job.jobid not in rows]
    if by_accounting and gone:
        # Only accounting knows how they ended, and accounting may come back.
        _unanswered(self, gone, "squeue no longer lists the job")
    else:
        self.no_answer = 0.0
    _take(jobs, rows)
    if not by_accounting:
        for job in gone:
            job._state, job.end_unseen = "CANCELLED" if job.is_cancelling else "COMPLETED", not job.is_array
    # The next poll finds a job again that cannot be cancelled now.
    with contextlib.suppress(SpawnedProcessError, OSError):
        self._cancel_if_blocked(jobs, {number: row[5] for number, row in rows.items()})
        self._cancel_if_pending_too_long(jobs)


def end_unseen(job) -> bool:
    """Tell whether the job ended or was forgotten between two polls; ``squeue`` alone cannot distinguish the two."""
    return getattr(job, "end_unseen", False)


def ended_with(job, said: str) -> bool:
    """Take a job's exit code from the text that its script wrote at its end; return False if it is no exit code."""
    if not re.fullmatch(r"\d{1,3}\n", said):
        return False
    job._exitcode = int(said)
    return True


def _rows(self, jobs) -> dict[str, re.Match]:
    """Return the rows of ``squeue`` for the jobs: job number -> match of ``_ROW``.

    :raises _SilenceError: ``squeue`` does not answer.
    """
    command = f'{self._squeue} -h -t all -j {",".join(job.jobid for job in jobs)} -O "{_COLUMNS}"'
    try:
        done = osext.run_command(command, timeout=ANSWER_S, log=False)
    except (SpawnedProcessError, OSError) as err:
        raise _SilenceError(_said(err)) from err
    # squeue fails for a single unknown job; of several jobs, it leaves unknown ones out.
    if done.returncode and "Invalid job id" not in done.stderr:
        raise _SilenceError(one_line(clean(done.stderr), 200))
    return {row[1]: row for row in map(_ROW.match, done.stdout.splitlines()) if row}


def _take(jobs, rows) -> None:
    for job, row in [(job, rows[job.jobid]) for job in jobs if job.jobid in rows]:
        job._state, job._nodespec, job._exitcode, job._completion_time = row[2], row[4], None, None
        if slurm.slurm_state_completed(job.state) and row[3]:
            # CODE:SIGNAL, or since Slurm 22.05 the status of wait(2).
            job._exitcode = int(row[3]) if ":" in row[0].split("|")[2] else int(row[3]) >> 8


def _unanswered(self, jobs, said) -> None:
    """Keep the last known states of the jobs, and give the jobs up after ``GIVE_UP_S``."""
    now_s = time.monotonic()
    self.asks_again = now_s + ASK_AGAIN_S
    if not _since(self, "no_answer"):
        self.no_answer = now_s
        getlogger().warning(f"Slurm does not report the state of {len(jobs)} jobs: {said}; Kappa asks again")
    if now_s - self.no_answer < GIVE_UP_S:
        return
    for job in jobs:
        give_up(job, f"{_nothing_for(GIVE_UP_S)}: {said}")


def _nothing_for(time_s: int) -> str:
    return f"Slurm has not reported the job's state for {time_s // 60} min"


def give_up(job, said) -> None:
    """End the job for ReFrame; the verdict is INCOMPLETE with ``said`` as the reason."""
    job._state, job._exception = "CANCELLED", UntoldError(said, job.jobid)


def _since(self, name) -> float:
    """Return a time that this scheduler has noted under ``name``; 0 for never."""
    return getattr(self, name, 0.0)


def _cancel_blocked(self, jobs, reasons=None) -> None:
    """Cancel jobs that wait for a reason that does not end without an intervention.

    :param reasons: job id -> reason, if the caller knows them.
    """
    pending = _pending(jobs)
    if not pending:
        return
    reasons = reasons or _reasons(self, pending)
    blocked = {job: said for job in pending if never_starts(said := reasons.get(job.jobid, ""), self._cancel_reasons)}
    now_s, before = time.monotonic(), getattr(self, "away_s", {})
    away = [job for job, said in blocked.items() if said.startswith(_OF_NODES)]
    self.away_s = {job.jobid: before.get(job.jobid, now_s) for job in away}
    for job in away:
        if now_s - self.away_s[job.jobid] < NODES_BACK_S:
            del blocked[job]
    _cancel(self, {job: f"Slurm would not have started the job: {said}" for job, said in blocked.items()})


def _cancel_late(self, jobs) -> None:
    """Cancel jobs that wait longer than ``max_pending_time``. ReFrame would also cancel jobs that have run and end."""
    waited_s = {job: time.time() - job.submit_time for job in _pending(jobs)}
    late = [job for job in waited_s if waited_s[job] >= (job.max_pending_time or float("inf"))]
    reasons = _reasons(self, late) if late else {}
    _cancel(
        self,
        {
            job: f"Slurm did not start the job for {waited_s[job]:.0f} s: {reasons.get(job.jobid, 'no reason given')}"
            for job in late
        },
    )


def _pending(jobs) -> list:
    return [job for job in jobs if job.state == "PENDING" and not job.is_cancelling]


def _reasons(self, jobs) -> dict[str, str]:
    """Return the reason why each of the jobs waits, by its id."""
    command = f'{self._squeue} -h -j {",".join(job.jobid for job in jobs)} -o "%i|%r"'
    told = osext.run_command(command, timeout=ANSWER_S, log=False).stdout.splitlines()
    return dict(line.split("|", 1) for line in told if "|" in line)


def _cancel(self, why) -> None:
    self.cancel_many([*why])
    for job, said in why.items():
        job._exception = JobBlockedError(said, job.jobid)


def _said(err: Exception) -> str:
    return one_line(clean(str(getattr(err, "stderr", "") or err)), 200)


# At the limit of a user's jobs, a case waits until other jobs have ended. In ReFrame 4.10 it would fail.

#: Time between two submissions of a job at the user's limit; time after which the case is given up. Both in s.
SUBMIT_AGAIN_S, SUBMIT_S = 5, 1800

_submit, _advance = slurm.SlurmJobScheduler.submit, policies.AsynchronousExecutionPolicy._advance_ready_run


def wait_at_limit() -> None:
    """Make ReFrame submit to Slurm with the functions of this module."""
    slurm.SlurmJobScheduler.submit = _submit_at_limit
    policies.AsynchronousExecutionPolicy._advance_ready_run = _advance_unless_at_limit


class AtATime:
    """The number of jobs that this user can have at a time, learnt from Slurm's refusals."""

    def __init__(self) -> None:
        self._jobs: list = []
        self._most: int | None = None
        self._given_up = False
        self.meanwhile: Callable[[], None] = lambda: None
        """Called while a job waits for its submission."""

    @property
    def is_full(self) -> bool:
        return self._most is not None and len(self._running()) >= self._most

    def _running(self) -> list:
        self._jobs = [job for job in self._jobs if not slurm.slurm_state_completed(job.state)]
        return self._jobs

    def submit(self, scheduler, job) -> None:
        """Submit the job; at the limit, try again until other jobs have ended.

        :raises SpawnedProcessError: Slurm refuses the job for another reason, or for ``SUBMIT_S``. After such a long
            refusal, later jobs do not wait.
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
                    give_up(forgotten, "Slurm has forgotten the job: another job has its number now")
                self._jobs.append(job)
                return

    def _say(self, limit: str) -> None:
        ours = max(1, len(self._running()))
        if self._most is None or ours < self._most:
            self._most = ours
            getlogger().warning(
                f"Slurm refuses more jobs of this user ({limit}); Kappa now submits at most {self._most} at a time. "
                f"To avoid this, set `max_jobs: {self._most}` in site.yaml"
            )


AT_A_TIME = AtATime()


def _submit_at_limit(self, job) -> None:
    AT_A_TIME.submit(self, job)


def _advance_unless_at_limit(self, task) -> int:
    """Submit only below the known limit, because ReFrame does little else while ``submit`` waits."""
    AT_A_TIME.meanwhile = lambda: _answer_held_jobs(self)
    return 0 if AT_A_TIME.is_full and not task.check.is_local() else _advance(self, task)


def _answer_held_jobs(policy) -> None:
    """Answer running jobs that wait for a judgement of their figures, so that they release their nodes."""
    for task in (task for tasks in policy._partition_tasks.values() for task in tasks if task.state == "running"):
        if hasattr(task.check, "answer_held_job"):
            with runtime.temp_config(task.testcase.partition.fullname):
                task.check.answer_held_job()
