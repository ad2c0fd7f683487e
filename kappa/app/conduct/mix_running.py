"""Run the mixes of jobs that a contract asks for: submit them to Slurm, wait, and keep what Slurm answers."""

import contextlib
import time
from typing import Literal

from reports.acceptance.job_rows import ENDED, SACCT_OPTIONS, JobRow, parse_jobs
from reports.acceptance.measured import MEASURED
from reports.acceptance.operations import (
    MixRecord,
    OperationAttempt,
    begin_operation,
    operation_attempts,
    unfinished_repeats,
)

from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.operation_jobs import SILENT, OperationJobs, cancel_left, commands_of, pause
from kappa.app.conduct.session import Conductor
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import duration
from kappa.core.sites.contract import Clause, Contract
from kappa.core.sites.load import Site
from kappa.core.sites.operation_clauses import JobMix
from reports.acceptance.campaign import Campaign
from reports.acceptance.operation_verdict import JOBS, SDIAG, WAITING, judge_operation

_POLL_S, _TELL_S = 2.0, 30.0
# Slurm's accounting lags, and a cancelled job ends when its nodes confirm it.
_SETTLE_S = 60.0
# The first jobs were submitted before sacct's first second of interest.
_BACK_S = 300


def run_mixes(campaign: Campaign, contract: Contract, site: Site, conductor: Conductor, again: bool) -> None:
    """Run every repeat of every mix without a finished attempt; with ``again``, also repeats that gave no figure.

    :raises StoppedError: there was a reason to stop. The jobs are cancelled; finished repeats are kept.
    :raises InputError: Slurm refuses a job, or does not answer.
    """
    for clause in contract.clauses:
        if clause.mix is None:
            continue
        commands = commands_of(site)
        attempts = operation_attempts(campaign.folder, clause.id)
        cancel_left(commands, attempts)
        repeats = unfinished_repeats(attempts, clause.repeats)
        if again:
            good = {sample.repeat for sample in judge_operation(clause, campaign.folder).samples}
            repeats = [repeat for repeat in range(1, clause.repeats + 1) if repeat not in good]
        for repeat in repeats:
            conductor.say(f"{clause.id}: mix of jobs, repeat {repeat} of {clause.repeats}")
            attempt = begin_operation(campaign.folder, clause.id, repeat)
            _MixRun(OperationJobs(commands, attempt, clause.mix.options), clause.mix, conductor).run()
            conductor.say(f"{clause.id}: {_result(clause, campaign, attempt)}")


def _result(clause: Clause, campaign: Campaign, attempt: OperationAttempt) -> str:
    judged = judge_operation(clause, campaign.folder)
    found = next((one for one in judged.samples if one.attempt == attempt.folder.name), None)
    if found is None:
        return next((why for why in judged.problems if why.startswith(f"repeat {attempt.repeat}: ")), "no figure")
    return f"efficiency {found.value:.3f}, {', '.join(words for _, words in found.facts[:2])}"


class _MixRun:
    def __init__(self, jobs: OperationJobs, block: JobMix, conductor: Conductor) -> None:
        self.jobs, self.block, self.conductor = jobs, block, conductor
        self.attempt = jobs.attempt
        # The last line that squeue had of each job.
        self.lines: dict[str, str] = {}
        self.rows: dict[str, JobRow] = {}
        self.ids: list[str] = []
        self.forgotten: set[str] = set()

    def run(self) -> None:
        self._keep_sdiag("before")
        began, folder = time.time(), self.attempt.folder.resolve()
        try:
            for job in self.block.queue:
                self.conductor.stop.check()
                # A sleeping job writes nothing; a program's output is evidence.
                output = f"--output={folder / 'job-%j.out'}" if job.command else SILENT
                self.ids.append(self.jobs.submit(job, "--exclusive", output))
            self._wait(time.monotonic() + self.block.limit_s)
            self._keep_sdiag("after")
            source = self._keep_jobs(began)
        except BaseException:
            with contextlib.suppress(CommandError):
                self.jobs.cancel()
            raise
        self.conductor.say(f"  {MEASURED}: {self.attempt.finish(MixRecord(tuple(self.ids), source))}")

    def _wait(self, deadline: float) -> None:
        """Wait until all jobs ended; cancel those that have not at the deadline."""
        told, half = time.monotonic(), False
        while self._left():
            ended = len(self.ids) - len(self._left())
            if not half and 2 * ended >= len(self.ids):
                self._keep_sdiag("during")
                half = True
            if time.monotonic() > deadline:
                self._give_up()
                return
            if time.monotonic() - told > _TELL_S:
                self.conductor.say(f"  {ended} of {len(self.ids)} jobs ended")
                told = time.monotonic()
            pause(self.conductor.stop, _POLL_S)
            # A controller that does not answer now may answer later.
            with contextlib.suppress(InputError):
                self._look()

    def _give_up(self) -> None:
        limit = duration(self.block.limit_s)
        self.conductor.say(f"  {len(self._left())} of {len(self.ids)} jobs have not ended after {limit}; cancelled")
        self.attempt.keep(WAITING, "".join(f"{line}\n" for line in self.lines.values()))
        self.jobs.cancel()
        until = time.monotonic() + _SETTLE_S
        while self._left() and time.monotonic() < until:
            pause(self.conductor.stop, _POLL_S)
            with contextlib.suppress(InputError):
                self._look()

    def _look(self) -> None:
        answer, rows = self.jobs.ask()
        seen = {row.job for row in rows}
        lines = [line for line in answer.split("\n") if line.strip()]
        for line, row in zip(lines, rows, strict=True):
            self.lines[row.job], self.rows[row.job] = line, row
        # slurmctld forgets a job that ended `MinJobAge` ago.
        self.forgotten = {job for job in self.ids if job in self.rows and job not in seen}

    def _left(self) -> list[str]:
        return [
            job
            for job in self.ids
            if job not in self.forgotten and (job not in self.rows or self.rows[job].state not in ENDED)
        ]

    def _keep_sdiag(self, when: str) -> None:
        # A user may not be allowed to ask; the figures are then missing.
        with contextlib.suppress(CommandError):
            self.attempt.keep(SDIAG[when], self.jobs.commands.run(("sdiag",)))

    def _keep_jobs(self, began: float) -> Literal["sacct", "squeue"]:
        """Keep what squeue and the accounting say of all jobs. Without accounting, squeue's answers count."""
        self.attempt.keep(JOBS, "".join(f"{line}\n" for line in self.lines.values()))
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began - _BACK_S))
        until = time.monotonic() + _SETTLE_S
        commands = self.jobs.commands
        while True:
            try:
                answer = commands.run([*commands.sacct, *SACCT_OPTIONS, "-S", since])
            except CommandError as err:
                self.conductor.say(f"  {err}; squeue's answers count instead")
                break
            ended = {row.job for row in parse_jobs(answer, "sacct") if row.state in ENDED}
            if ended.issuperset(self.ids):
                self.attempt.keep("sacct", answer)
                return "sacct"
            if time.monotonic() > until:
                break
            pause(self.conductor.stop, _POLL_S)
        return "squeue"
