"""A clause about the time from a stop to the first new job that runs, from Slurm's answers and jobs that Kappa sends.

An operator stops the part, by hand or by a command on Kappa's command line. The contract contains no command.
"""

import contextlib
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, duration, figure
from kappa.core.ground.order_statistics import Statistic
from reports.acceptance.campaign.job_rows import SQUEUE_COMMAND, JobRow, parse_jobs
from reports.acceptance.campaign.measured import note_earlier
from reports.acceptance.campaign.operations import OperationAttempt, OperationBench, ProbeJob, begin_operation
from reports.acceptance.campaign.slurm_answers import CONFIG_COMMAND, NODE_COMMAND, NodeStart, parse_config, parse_nodes
from reports.acceptance.kinds import operations
from reports.acceptance.kinds.clause import (
    Clause,
    ClauseEvidence,
    ClausePlan,
    ClauseVerdict,
    OperatorStop,
    Planning,
    TimedRepeat,
)
from reports.acceptance.kinds.contract_head import Comparison
from reports.acceptance.kinds.operations import Nodes, OperationRepeat, OperationTerms, QueuedJob

# Names of the kept answers.
CONFIG_BEFORE, CONFIG_AFTER = "config-before", "config-after"
NODES_BEFORE, NODES_AFTER = "nodes-before", "nodes-after"
JOBS, LOAD_BEFORE, PING = "squeue", "load-before", "ping-after"
# Slurm's times are whole seconds, and an answer takes a moment.
_MOST_OFFSET_S = 3
# States of a job that is alive.
_ALIVE = ("RUNNING", "COMPLETING")
# Until the load runs, and until the first small job was accepted.
_READY_S = 300.0
# slurmctld saves its state every few seconds: killed before, it forgets newer jobs.
_SAVED_S = 20.0
# After a restart, nodes tell slurmctld within seconds which jobs they have.
_SETTLE_S = 15.0
_LIMIT_S = 3600
_PRIMARY_DOWN = re.compile(r"^Slurmctld\(primary\).*\bDOWN\b", re.MULTILINE)


class DurationTerms(OperationTerms, frozen=True, kw_only=True):
    """The time from a stop to the first new job that runs, in seconds.

    ``of``: ``restart`` of slurmctld, ``failover`` to a backup controller (the bound holds ``SlurmctldTimeout``),
    ``reboot`` of a node, ``start`` of the whole system. Kappa submits a job of ``nodes`` nodes each second. ``load``
    jobs of a node run meanwhile, and have to go on.
    """

    of: Literal["restart", "failover", "reboot", "start"]
    at_most_s: Annotated[float, Meta(gt=0, le=30 * 86_400, description="seconds above 0")]
    nodes: Nodes = 1
    load: Annotated[int, Meta(ge=0, le=1000)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.load and self.of in ("reboot", "start"):
            raise ValueError(f"load: expected jobs that go on with restart or failover only, found {self.of}")
        if self.of == "reboot" and self.nodes != 1:
            raise ValueError("nodes: expected 1 for the reboot of a node")


class TimeRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """The measurement of a time; times by Kappa's clock, in seconds since 1970.

    ``began``: when Kappa started the operator's ``command``, or the time that the operator named; ``None``: at the
    last job that slurmctld accepted before its start. ``asked``: when slurmctld answered with its time, in
    ``config-after.txt``. ``down``: when ``scontrol ping`` first said that the primary controller is down. ``load``: ids
    of the jobs that have to go on. ``gave_up``: why no job was seen to run.
    """

    began: float | None
    command: Sequence[str] = ()
    node: str = ""
    probes: Sequence[ProbeJob] = ()
    load: Sequence[str] = ()
    asked: float | None = None
    down: float | None = None
    gave_up: str = ""


class Duration(Clause, frozen=True, kw_only=True, tag="duration"):
    """A clause about the time of a restart, failover, reboot or start."""

    duration: DurationTerms

    timed: ClassVar[bool] = True
    comparison: ClassVar[Comparison] = "at_most"
    unit: ClassVar[str] = "s"

    @property
    def statistic(self) -> Statistic:
        return Statistic(self.duration.statistic)

    @property
    def threshold(self) -> float:
        return self.duration.at_most_s

    @property
    def repeats(self) -> int:
        return self.duration.repeats

    @property
    def required(self) -> str:
        going_on = f", {self.duration.load} running jobs go on" if self.duration.load else ""
        return f"{self.evidence} {self.limit}{going_on}"

    @property
    def evidence(self) -> str:
        return f"time of {self.duration.of}"

    # Plan and measurement.

    def plan(self, planning: Planning) -> ClausePlan:
        load, nodes = counted(self.duration.load, "job"), counted(self.duration.nodes, "node")
        loaded = f", while {load} of a node run" if self.duration.load else ""
        lines = (
            f"{counted(self.repeats, 'repeat')}{loaded}; a job of {nodes} is sent each second",
            f"an operator stops the part: `kappa acceptance time SITE DIR {self.id}` (once for each repeat)",
        )
        return ClausePlan(lines, {})

    def measure_stop(self, bench: OperationBench, stop: OperatorStop) -> TimedRepeat:
        """Measure the next repeat.

        :raises InputError: the stop is not usable, nothing is left to measure, Slurm does not answer before the stop,
            or the operator's command failed.
        """
        of = self.duration.of
        if (of == "reboot") != bool(stop.node):
            raise InputError(f"{self.id}: expected --node NODE with the reboot of a node, and only then")
        if of in ("reboot", "start") and not stop.command and stop.began is None:
            raise InputError(f"{self.id}: expected --since TIME or a COMMAND after `--`")
        # The controller may be down already.
        left = operations.repeats_left(self, bench, self.read, cancel=of != "start" and stop.began is None)
        if not left:
            raise InputError(f"{self.id}: all {self.repeats} repeats are measured")
        note_earlier(bench.campaign)
        attempt = begin_operation(bench.campaign, self.id, left[0])
        bench.say(f"{self.id}: time of {of}, repeat {left[0]} of {self.repeats}")
        _Timing(bench, attempt, self.duration, stop).run()
        try:
            repeat = self.read(attempt)
        except InputError as err:
            return TimedRepeat(f"repeat {left[0]}: {err}", None)
        description = "; ".join((*repeat.facts, *filter(None, [repeat.broken])))
        return TimedRepeat(description, self.holds(repeat.value) and not repeat.broken)

    # The verdict.

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        return operations.judge_repeats(self, evidence, self.read)

    def read(self, attempt: OperationAttempt) -> OperationRepeat:
        """Return the times of one measurement.

        :raises InputError: the time was not measured; says why.
        """
        record, of = attempt.record(TimeRecord), self.duration.of
        if record.gave_up:
            raise InputError(record.gave_up)
        after = parse_config(attempt.answer(CONFIG_AFTER))
        if after.answered is None or record.asked is None:
            raise InputError("slurmctld did not answer with its time")
        offset_s = after.answered - record.asked
        if abs(offset_s) > _MOST_OFFSET_S:
            most = f"more than {_MOST_OFFSET_S} s"
            raise InputError(f"slurmctld's clock differs from the clock here by {figure(offset_s, 3)} s, {most}")
        up, first = _new_job(of, attempt, record)
        began, seen_by = _began(record, up)
        if began >= up + 1:
            raise InputError("the part started before the stop that was named")
        lost = _lost(attempt, record)
        # To the end of the second in which the first job started.
        value = first.start + 1 - began
        step = {"reboot": "the node started", "failover": "the primary was seen down"}.get(of, "slurmctld started")
        refused = sum(not probe.job for probe in record.probes)
        facts = [
            f"Time: {figure(value)} s from the stop ({seen_by}) to job {first.job}, resolution 1 s",
            f"Steps: {step} {duration(max(0.0, up - began))} after the stop, "
            f"the first job {duration(max(0, first.start - up))} later",
            f"Jobs sent: {len(record.probes)}; {refused} not accepted",
        ]
        if self.duration.load:
            facts.append(f"Running jobs: {len(record.load) - len(lost)} of {self.duration.load} went on")
        if of == "failover":
            facts.append(f"SlurmctldTimeout: {after.failover_s} s; the time holds it unless a takeover was ordered")
        broken = f"lost running jobs: {'; '.join(lost)}" if lost else ""
        figures = {"up_s": up - began, "lost_jobs": len(lost)}
        return OperationRepeat(attempt, value, first.nodes, [first.job], figures, facts, broken)

    # The dossier.

    measured, section, document = operations.measured_of, operations.section_of, operations.document_of


def _new_job(of: str, attempt: OperationAttempt, record: TimeRecord) -> tuple[int, JobRow]:
    """Return when the part started anew, and the first job that started since.

    A job that the old slurmctld started does not count.

    :raises InputError: there is none so far; says why.
    """
    if of == "reboot":
        up, since = _booted(attempt, record.node), 0.0
    elif of == "failover":
        if record.down is None or not _PRIMARY_DOWN.search(attempt.answer(PING)):
            raise InputError("the primary controller answers, so no backup took over")
        # A backup does not tell when it took over: what counts is what it accepted.
        up, since = math.floor(record.down), record.down
    else:
        up, since = _controller_started(attempt, record), 0.0
    own = {probe.job for probe in record.probes if probe.answered is not None and probe.answered > since}
    rows = parse_jobs(attempt.answer(JOBS), JOBS)
    started = [row for row in rows if row.job in own and up <= row.start < math.inf]
    if not started:
        raise InputError("no new job was seen to run")
    return up, min(started, key=lambda row: (row.start, row.submit))


def _booted(attempt: OperationAttempt, node: str) -> int:
    before, after = (_node(attempt.answer(name), node) for name in (NODES_BEFORE, NODES_AFTER))
    if before.boot is None or after.boot is None or after.daemon is None:
        raise InputError(f"Slurm does not tell when {node} was booted")
    if after.boot <= before.boot:
        raise InputError(f"{node} was not booted anew")
    return max(after.boot, after.daemon)


def _node(answer: str, node: str) -> NodeStart:
    """Return the times of a node; unknown ones if the answer has no such node."""
    starts = {start.node: start for start in parse_nodes(answer)}
    return starts.get(node, NodeStart(node, None, None))


def _controller_started(attempt: OperationAttempt, record: TimeRecord) -> int:
    before, after = (parse_config(attempt.answer(name)).started for name in (CONFIG_BEFORE, CONFIG_AFTER))
    if after is None:
        raise InputError("slurmctld did not answer with its time of start")
    if record.began is not None and (before is None or not record.command):
        # slurmctld was off, or up again before Kappa asked: the time that was named decides.
        before = math.floor(record.began) - 1
    if before is None or after <= before:
        raise InputError("slurmctld did not start anew")
    return after


def _began(record: TimeRecord, up: int) -> tuple[float, str]:
    """Return when the part was stopped, and how that is known."""
    if record.began is not None:
        return record.began, "the start of the command" if record.command else "as the operator said"
    accepted = [one.answered for one in record.probes if one.job and one.answered is not None and one.answered <= up]
    if not accepted:
        raise InputError("no job was accepted before the stop, so the stop was not seen")
    return max(accepted), "the last job that was accepted before"


def _lost(attempt: OperationAttempt, record: TimeRecord) -> list[str]:
    """Return the jobs of the load that did not go on."""
    before, now = ({row.job: row for row in parse_jobs(attempt.answer(name), JOBS)} for name in (LOAD_BEFORE, JOBS))
    lost = []
    for job in record.load:
        was, row = before.get(job), now.get(job)
        if was is None or was.state != "RUNNING":
            raise InputError(f"job {job} of the load did not run before the stop")
        on = ",".join(was.nodes)
        if row is None or row.submit != was.submit:
            # slurmctld may give the id of a job that it forgot to another.
            lost.append(f"{job} on {on}: forgotten")
        elif row.state == "CANCELLED":
            # A person did it, not the machine.
            raise InputError(f"job {job} of the load was cancelled")
        elif row.state not in _ALIVE or row.start != was.start:
            lost.append(f"{job} on {on}: {'started again' if row.state in _ALIVE else row.state}")
    return lost


class _Timing:
    """One measurement of a time. ``record`` grows meanwhile."""

    def __init__(self, bench: OperationBench, attempt: OperationAttempt, terms: DurationTerms, stop: OperatorStop):
        self.bench, self.attempt, self.terms = bench, attempt, terms
        self.record = TimeRecord(began=stop.began, command=stop.command, node=stop.node)
        self.limit_s = _LIMIT_S + 3 * terms.at_most_s
        self.status: Callable[[], int | None] = lambda: 0

    def run(self) -> None:
        on_node = [f"--nodelist={self.record.node}"] if self.record.node else []
        try:
            self._prepare()
            with self.bench.probe(self._sbatch(self.terms.nodes, 1, ("true",), *on_node)) as self.record.probes:
                if self.record.began is None:
                    self._stop()
                self._watch()
            # The operator's command is never cut off.
            self.bench.until(lambda: self.status() is not None, math.inf)
            self.attempt.finish(self.record, self.bench)
        finally:
            # After the measurement slurmctld may be gone for good.
            with contextlib.suppress(InputError):
                operations.cancel_jobs(self.bench, self.attempt)

    def _sbatch(self, nodes: int, seconds: int, command: tuple[str, ...], *options: str) -> list[str]:
        job = QueuedJob(nodes, seconds, command)
        return job.submission(self.attempt, *self.terms.options, operations.SILENT, *options)

    def _prepare(self) -> None:
        """Keep Slurm's answers before the stop, and start the load."""
        # After a named time, and before a start, the controller may be down.
        may_be_down = self.terms.of == "start" or self.record.began is not None
        with contextlib.suppress(*([InputError] if may_be_down else [])):
            self._keep(CONFIG_BEFORE, CONFIG_COMMAND)
        node = self.record.node
        if node and _node(self._keep(NODES_BEFORE, NODE_COMMAND), node).boot is None:
            raise InputError(f"--node {clean(node)}: Slurm does not tell when it was booted; see `scontrol show node`")
        if self.terms.load:
            sbatch = self._sbatch(1, round(self.limit_s), ())
            self.record.load = [self.bench.submit(sbatch) for _ in range(self.terms.load)]
            if not self.bench.until(self._load_runs, _READY_S):
                raise InputError(f"not all {self.terms.load} jobs of the load have started in {_READY_S:g} s")
            self.bench.pause(_SAVED_S)

    def _load_runs(self) -> bool:
        rows = parse_jobs(self._keep(LOAD_BEFORE, SQUEUE_COMMAND), JOBS)
        return {row.job for row in rows if row.state == "RUNNING"}.issuperset(self.record.load)

    def _stop(self) -> None:
        """Start the operator's command, or ask for the stop, once a job was accepted, so that the stop is seen."""
        record, of = self.record, self.terms.of
        if of != "start" and not self.bench.until(lambda: any(one.job for one in record.probes), _READY_S):
            raise InputError("Slurm accepts no job before the stop; look at `sbatch`'s message with these options")
        if record.command:
            self.bench.say(f"  running: {clean(' '.join(record.command))}")
            record.began, self.status = time.time(), self.bench.start(record.command)
        else:
            self.bench.say(f"  Kappa sends a job each second; begin the {of} now")

    def _watch(self) -> None:
        """Wait for the first new job, or give up."""
        ran = self.bench.until(self._new_job_runs, self.limit_s)
        if ran and self.terms.load:
            self.bench.pause(_SETTLE_S)
            ran = self.bench.until(self._new_job_runs, self.limit_s)
        self.record.gave_up = "" if ran else f"no new job ran within {duration(self.limit_s)}"

    def _new_job_runs(self) -> bool:
        if self.status():
            command = clean(self.record.command[0])
            raise InputError(f"`{command}` ended with status {self.status()}; nothing was measured")
        try:
            if self.terms.of == "failover":
                if not _PRIMARY_DOWN.search(self._keep(PING, ("scontrol", "ping"))):
                    return False
                self.record.down = self.record.down or time.time()
            self._keep(CONFIG_AFTER, CONFIG_COMMAND)
            self.record.asked = time.time()
            if self.record.node:
                self._keep(NODES_AFTER, NODE_COMMAND)
            self._keep(JOBS, SQUEUE_COMMAND)
            _new_job(self.terms.of, self.attempt, self.record)
        except InputError:
            return False
        return True

    def _keep(self, name: str, command: Sequence[str]) -> str:
        return self.attempt.keep(name, self.bench.run(command))
