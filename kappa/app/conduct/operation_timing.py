"""Measure the time from a stop to the first new job that runs. Kappa sends a small job each second meanwhile.

An operator stops the part, by hand or by a command on Kappa's command line. The contract contains no command.
"""

import contextlib
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from reports.acceptance.measured import MEASURED, note_earlier
from reports.acceptance.operations import ProbeJob, TimeRecord, begin_operation, operation_attempts
from reports.acceptance.slurm_answers import CONFIG_COMMAND, NODE_COMMAND, parse_nodes

from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.operation_jobs import SILENT, OperationJobs, cancel_left, commands_of, job_id, pause
from kappa.app.conduct.session import Conductor
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import duration
from kappa.core.sites.contract import Clause
from kappa.core.sites.load import Site
from kappa.core.sites.operation_clauses import OperationTime, QueuedJob
from reports.acceptance.campaign import Campaign
from reports.acceptance.duration_figures import new_job
from reports.acceptance.operation_verdict import (
    CONFIG_AFTER,
    CONFIG_BEFORE,
    JOBS,
    LOAD_BEFORE,
    NODES_AFTER,
    NODES_BEFORE,
    PING,
    evidence_of_time,
    is_primary_down,
    judge_operation,
)

_EACH_S, _LOOK_S, _MOST_WAITING = 1.0, 1.0, 100
# Until the load runs, and until the first small job was accepted.
_READY_S = 300.0
# slurmctld saves its state every few seconds: killed before, it forgets newer jobs.
_SAVED_S = 20.0
# After a restart, nodes tell slurmctld within seconds which jobs they have.
_SETTLE_S = 15.0
_LIMIT_S = 3600


class JobProber:
    """Send a small job each second, and note when it was sent and accepted. A thread of its own does so."""

    def __init__(self, jobs: OperationJobs, command: Sequence[str]) -> None:
        self._environment, self._command = jobs.commands.environment, command
        self._waiting: list[tuple[float, subprocess.Popen[str]]] = []
        self._done: list[ProbeJob] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def probes(self) -> tuple[ProbeJob, ...]:
        return tuple(self._done)

    def __enter__(self) -> "JobProber":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for sent, process in self._waiting:
            process.kill()
            process.communicate()
            self._done.append(ProbeJob(sent))

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(0.05):
            self._reap()
            if time.monotonic() >= due and len(self._waiting) < _MOST_WAITING:
                due = max(due + _EACH_S, time.monotonic())
                process = subprocess.Popen(
                    self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
                )  # fmt: skip
                self._waiting.append((time.time(), process))

    def _reap(self) -> None:
        for sent, process in [*self._waiting]:
            if process.poll() is None:
                continue
            self._waiting.remove((sent, process))
            said, answered = process.communicate()[0], time.time()
            try:
                self._done.append(ProbeJob(sent, answered, job_id(said)))
            except CommandError:
                self._done.append(ProbeJob(sent, answered))


@dataclass(frozen=True)
class TimedRepeat:
    """A repeat in words, and whether it alone meets the clause; ``None`` if nothing was measured."""

    words: str
    holds: bool | None


def measure_time(
    campaign: Campaign, clause: Clause, site: Site, conductor: Conductor,
    command: Sequence[str] = (), began: float | None = None, node: str = "",
) -> TimedRepeat:  # fmt: skip
    """Measure the next repeat of a clause.

    :param command: what the operator wants to run as the stop; without it, the operator stops the part by hand.
    :param began: the time of the stop if the operator knows it, in seconds since 1970.
    :param node: the node that is booted.
    :raises StoppedError: there was a reason to stop; the jobs are cancelled.
    :raises InputError: nothing is left to measure, Slurm does not answer before the stop, or the command failed.
    """
    block = clause.duration
    assert block
    measured = {sample.repeat for sample in judge_operation(clause, campaign.folder).samples}
    repeat = next((number for number in range(1, clause.repeats + 1) if number not in measured), None)
    if repeat is None:
        raise InputError(f"{clause.id}: all {clause.repeats} repeats are measured")
    commands = commands_of(site)
    # The controller may be down already.
    if block.of != "start" and began is None:
        cancel_left(commands, operation_attempts(campaign.folder, clause.id))
    note_earlier(campaign.folder)
    attempt = begin_operation(campaign.folder, clause.id, repeat)
    conductor.say(f"{clause.id}: time of {block.of}, repeat {repeat} of {clause.repeats}")
    _Measurement(OperationJobs(commands, attempt, block.options), block, conductor, node).run(command, began)
    judged = judge_operation(clause, campaign.folder)
    found = next((one for one in judged.samples if one.repeat == repeat), None)
    if found is None:
        return TimedRepeat(next(why for why in judged.problems if why.startswith(f"repeat {repeat}: ")), None)
    words = "; ".join(f"{title}: {words}" for title, words in found.facts)
    return TimedRepeat(words, clause.holds(found.value) and not found.broken)


class _Measurement:
    def __init__(self, jobs: OperationJobs, block: OperationTime, conductor: Conductor, node: str) -> None:
        self.jobs, self.block, self.conductor, self.node = jobs, block, conductor, node
        self.attempt = jobs.attempt
        self.limit_s = _LIMIT_S + 3 * block.at_most_s
        self.load: list[str] = []
        self.down: float | None = None

    def run(self, command: Sequence[str], began: float | None) -> None:
        on_node = [f"--nodelist={self.node}"] if self.node else []
        process: subprocess.Popen[bytes] | None = None
        probe = self.jobs.submission(QueuedJob(self.block.nodes, 1, ("true",)), SILENT, *on_node)
        try:
            self._before(may_be_down=self.block.of == "start" or began is not None)
            with JobProber(self.jobs, probe) as prober:
                if began is None:
                    self._until_accepted(prober)
                    if command:
                        self.conductor.say(f"  running: {clean(' '.join(command))}")
                        began, process = time.time(), self._started(command)
                    else:
                        self.conductor.say(f"  Kappa sends a job each second; begin the {self.block.of} now")
                asked, gave_up = self._watch(prober, command, began, process)
            # The operator's command is never cut off.
            while process is not None and process.poll() is None:
                pause(self.conductor.stop, _LOOK_S)
            record = TimeRecord(
                began=began, command=tuple(command), node=self.node, probes=prober.probes, load=tuple(self.load),
                asked=asked, down=self.down, gave_up=gave_up,
            )  # fmt: skip
            self.conductor.say(f"  {MEASURED}: {self.attempt.finish(record)}")
        finally:
            # After the measurement slurmctld may be gone for good.
            with contextlib.suppress(CommandError):
                self.jobs.cancel()

    def _before(self, may_be_down: bool) -> None:
        try:
            self._keep(CONFIG_BEFORE, CONFIG_COMMAND)
            if self.node:
                self._keep_boot_time()
        except CommandError:
            if not may_be_down:
                raise
        if not self.block.load:
            return
        seconds = round(self.limit_s)
        self.load = [self.jobs.submit(QueuedJob(1, seconds), SILENT) for _ in range(self.block.load)]
        until = time.monotonic() + _READY_S
        while True:
            answer, rows = self.jobs.ask()
            running = {row.job for row in rows if row.state == "RUNNING"}
            if running.issuperset(self.load):
                pause(self.conductor.stop, _SAVED_S)
                self.attempt.keep(LOAD_BEFORE, answer)
                return
            if time.monotonic() > until:
                waiting = len({*self.load} - running)
                raise InputError(f"{waiting} of {len(self.load)} jobs of the load have not started in {_READY_S:g} s")
            pause(self.conductor.stop, _LOOK_S)

    def _keep_boot_time(self) -> None:
        """Keep the nodes' times of boot; a slurmctld that was just started does not know them yet."""
        until = time.monotonic() + _READY_S
        while True:
            found = [one for one in parse_nodes(self._keep(NODES_BEFORE, NODE_COMMAND)) if one.node == self.node]
            if not found:
                raise InputError(f"--node {clean(self.node)}: Slurm has no such node")
            if found[0].boot is not None:
                return
            if time.monotonic() > until:
                raise InputError(f"Slurm does not tell when {self.node} was booted; look at `scontrol show node`")
            pause(self.conductor.stop, _LOOK_S)

    def _until_accepted(self, prober: JobProber) -> None:
        """Wait for the first small job, so that the stop is seen."""
        until = time.monotonic() + _READY_S
        while self.block.of != "start" and not any(probe.job for probe in prober.probes):
            if time.monotonic() > until:
                raise InputError("Slurm accepts no job before the stop; look at `sbatch`'s message with these options")
            pause(self.conductor.stop, _LOOK_S)

    def _started(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL)
        except OSError as err:
            raise InputError(f"`{clean(command[0])}`: {err.strerror}") from None

    def _watch(
        self, prober: JobProber, command: Sequence[str], began: float | None, process: "subprocess.Popen[bytes] | None"
    ) -> tuple[float | None, str]:
        """Wait for the first new job. Return when slurmctld told its time, and why Kappa gave up, if it did."""
        until = time.monotonic() + self.limit_s
        seen = False
        while True:
            pause(self.conductor.stop, _SETTLE_S if seen and self.load else _LOOK_S)
            if process is not None and process.poll():
                raise InputError(f"`{clean(command[0])}` ended with status {process.returncode}; nothing was measured")
            asked = None
            with contextlib.suppress(InputError):
                if self.block.of == "failover":
                    primary_down = is_primary_down(self._keep(PING, ("scontrol", "ping")))
                    self.down = self.down or (time.time() if primary_down else None)
                    if not primary_down and time.monotonic() < until:
                        continue
                self._keep(CONFIG_AFTER, CONFIG_COMMAND)
                asked = time.time()
                if self.node:
                    self._keep(NODES_AFTER, NODE_COMMAND)
                self.attempt.keep(JOBS, self.jobs.ask()[0])
                record = TimeRecord(
                    began=began, command=tuple(command), node=self.node, probes=prober.probes, asked=asked,
                    down=self.down,
                )  # fmt: skip
                new_job(self.block, record, evidence_of_time(self.attempt, record))
                if seen or not self.load:
                    return asked, ""
                # Look again once the nodes have told which jobs they have.
                seen = True
                continue
            if time.monotonic() > until:
                return asked, f"no new job ran within {duration(self.limit_s)}"

    def _keep(self, name: str, command: Sequence[str]) -> str:
        return self.attempt.keep(name, self.jobs.commands.run(command))
