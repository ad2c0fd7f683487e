"""A Slurm that refuses, is slow or does not answer ends no session of ReFrame, and no job looks ended that is not.

Left alone, ReFrame 4.10 ends without a report, and leaves its jobs, when ``sacct`` fails four times in a row; takes all
jobs for completed when ``squeue`` fails; and waits for ever for a job that was preempted (docs/slurm.md).
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

#: For how long one question may take; between two while Slurm does not answer; after which jobs are given up, s.
ANSWER_S, ASK_AGAIN_S, GIVE_UP_S = 120, 10, 1800
#: Between two questions to the controller about jobs of which accounting lists no end; after which those that it does
#: not list either are given up, s.
DOUBT_S, FORGOTTEN_S = 60, 300
#: For how long nodes of a waiting job may be away before it is cancelled, as after a restart of the controller, s.
NODES_BACK_S = 30
#: How Slurm begins to say that it waits for such.
_OF_NODES = ("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown")
_COLUMNS = "JobID:|,State:|,exit_code:|,NodeList:|,Reason:|"
_ROW = re.compile(r"([0-9]+)\|([A-Z_]+)[^|]*\|([0-9]*)(?::[0-9]+)?\|([^|]*)\|([^|]*)\|")


class UntoldError(JobError):
    """Slurm no longer tells what became of the job; the verdict knows it by this name."""


class _SilenceError(Exception):
    """The controller does not answer; says why."""


_completed, _ask_accounting = slurm.slurm_state_completed, slurm.SlurmJobScheduler.poll


def outlast_slurm() -> None:
    """Have ReFrame's schedulers ``slurm`` and ``squeue`` ask as this module does."""
    slurm.slurm_state_completed = lambda state: _completed(state) or state == "PREEMPTED"
    slurm._run_strict.keywords.setdefault("timeout", ANSWER_S)
    slurm.SlurmJobScheduler.poll = _poll_accounting
    slurm.SqueueJobScheduler.poll = _poll_controller
    slurm.SlurmJobScheduler._cancel_if_blocked = _cancel_blocked
    slurm.SlurmJobScheduler._cancel_if_pending_too_long = _cancel_late


def _poll_accounting(self, *jobs) -> None:
    """As ``sacct`` says; as ``squeue`` does while that fails."""
    jobs = [job for job in jobs if job is not None]
    if not jobs or time.monotonic() < _since(self, "asks_again"):
        return
    self._max_sacct_failures = 0
    try:
        _ask_accounting(self, *jobs)
    except (SpawnedProcessError, OSError) as err:
        if not _since(self, "no_accounting"):
            self.no_accounting = time.monotonic()
            getlogger().warning(f"sacct: {_said(err)}: squeue is asked in its place")
        _poll_controller(self, *jobs)
        self.asks_again = time.monotonic() + ASK_AGAIN_S
    else:
        self.no_accounting = 0.0
        _doubt(self, jobs)


def _doubt(self, jobs) -> None:
    """Ask the controller where accounting may be wrong: one that was killed has forgotten what it had not yet kept.

    For accounting a forgotten job runs for ever, or was never there. Its number is given to another job, which looks at
    first as if it had ended when the forgotten one had.
    """
    late_s = time.time() - DOUBT_S
    # A job array, which is none of the suite's, goes on when the one of its jobs that has its number has ended.
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
            give_up(job, f"{_nothing_for(FORGOTTEN_S)}: squeue lists it no more, and sacct not its end")


def _poll_controller(self, *jobs) -> None:
    """As ``squeue`` says, which lists jobs for ``MinJobAge`` after their end (slurm.conf, 300 s by default)."""
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
        # How they ended only accounting knows, which may come back.
        _unanswered(self, gone, "squeue lists the job no more")
    else:
        self.no_answer = 0.0
    _take(jobs, rows)
    if not by_accounting:
        for job in gone:
            job._state, job.end_unseen = "CANCELLED" if job.is_cancelling else "COMPLETED", not job.is_array
    # One that cannot be cancelled now is found again by the next question.
    with contextlib.suppress(SpawnedProcessError, OSError):
        self._cancel_if_blocked(jobs, {number: row[5] for number, row in rows.items()})
        self._cancel_if_pending_too_long(jobs)


def end_unseen(job) -> bool:
    """Whether the job has ended, or was forgotten, while nobody looked: ``squeue`` alone does not tell which."""
    return getattr(job, "end_unseen", False)


def ended_with(job, said: str) -> bool:
    """Take the exit code of a job whose end was unseen from what its script wrote at its end; False if that is none."""
    if not re.fullmatch(r"\d{1,3}\n", said):
        return False
    job._exitcode = int(said)
    return True


def _rows(self, jobs) -> dict[str, re.Match]:
    """Return what ``squeue`` lists of the jobs, by their numbers.

    :raises _SilenceError: it does not answer.
    """
    command = f'{self._squeue} -h -t all -j {",".join(job.jobid for job in jobs)} -O "{_COLUMNS}"'
    try:
        done = osext.run_command(command, timeout=ANSWER_S, log=False)
    except (SpawnedProcessError, OSError) as err:
        raise _SilenceError(_said(err)) from err
    # With one job alone that it does not know it says so; with several it leaves that one out.
    if done.returncode and "Invalid job id" not in done.stderr:
        raise _SilenceError(one_line(clean(done.stderr), 200))
    return {row[1]: row for row in map(_ROW.match, done.stdout.splitlines()) if row}


def _take(jobs, rows) -> None:
    for job, row in [(job, rows[job.jobid]) for job in jobs if job.jobid in rows]:
        job._state, job._nodespec, job._exitcode, job._completion_time = row[2], row[4], None, None
        if slurm.slurm_state_completed(job.state) and row[3]:
            # The exit code with the signal behind it, or as of Slurm 22.05 the status of wait(2).
            job._exitcode = int(row[3]) if ":" in row[0].split("|")[2] else int(row[3]) >> 8


def _unanswered(self, jobs, said) -> None:
    """Jobs stay as they were last known, until they are given up."""
    now_s = time.monotonic()
    self.asks_again = now_s + ASK_AGAIN_S
    if not _since(self, "no_answer"):
        self.no_answer = now_s
        getlogger().warning(f"Slurm does not tell of {len(jobs)} jobs: {said}: it is asked again, nothing is concluded")
    if now_s - self.no_answer < GIVE_UP_S:
        return
    for job in jobs:
        give_up(job, f"{_nothing_for(GIVE_UP_S)}: {said}")


def _nothing_for(time_s: int) -> str:
    return f"Slurm has told nothing of the job for {time_s // 60} min"


def give_up(job, said) -> None:
    """End the job for ReFrame; the verdict is INCOMPLETE for what was ``said``."""
    job._state, job._exception = "CANCELLED", UntoldError(said, job.jobid)


def _since(self, name) -> float:
    """A time of this scheduler; 0 for never."""
    return getattr(self, name, 0.0)


def _cancel_blocked(self, jobs, reasons=None) -> None:
    """What waits for a reason that does not end by itself. ``reasons``: of each job by its id, where they are known."""
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
    """What waits for longer than ``max_pending_time``; not what has run and ends, as ReFrame does."""
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


# At the limit of a user's jobs a case waits until others have ended, instead of failing as ReFrame 4.10 has it.

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
