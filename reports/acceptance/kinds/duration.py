"""A clause about the time from a stop to the first new job that runs, from Slurm's answers and jobs that Kappa sends.

An operator stops the part, by hand or by a command on Kappa's command line. The contract contains no command.
"""

import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, duration, figure
from reports.acceptance.campaign.job_rows import SQUEUE_COMMAND, JobRow, parse_jobs
from reports.acceptance.campaign.measured import note_earlier
from reports.acceptance.campaign.operations import OperationAttempt, OperationBench, ProbeJob
from reports.acceptance.campaign.slurm_answers import CONFIG_COMMAND, NODE_COMMAND, NodeStart, parse_config, parse_nodes
from reports.acceptance.kinds.clause import ClausePlan, OperatorStop, Planning
from reports.acceptance.kinds.contract_head import Comparison
from reports.acceptance.kinds.operations import Nodes, OperationClause, OperationRepeat, OperationTerms

# Names of the kept answers about the time after the stop, and before it.
CONFIG, NODES, PING, JOBS = "config-after", "nodes-after", "ping-after", "squeue"
LOAD_BEFORE = "load-before"
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


class Duration(OperationClause, frozen=True, kw_only=True, tag="duration"):
    duration: DurationTerms

    timed: ClassVar[bool] = True
    comparison: ClassVar[Comparison] = "at_most"
    unit: ClassVar[str] = "s"

    @property
    def terms(self) -> DurationTerms:
        return self.duration

    @property
    def threshold(self) -> float:
        return self.duration.at_most_s

    @property
    def required(self) -> str:
        going_on = f", {self.duration.load} running jobs go on" if self.duration.load else ""
        return f"{self.evidence} {self.limit}{going_on}"

    @property
    def evidence(self) -> str:
        return f"time of {self.duration.of}"

    # Plan and measurement.

    def plan(self, planning: Planning) -> ClausePlan:
        command = f"kappa acceptance time SITE DIR {self.id}"
        return ClausePlan((f"{counted(self.repeats, 'repeat')}, each with an operator's stop: `{command}`",), {})

    def measure_stop(self, bench: OperationBench, stop: OperatorStop) -> bool | None:
        """:raises InputError: the stop is not usable, or nothing is left to measure; or as ``run``."""
        of = self.duration.of
        if (of == "reboot") != bool(stop.node):
            raise InputError(f"{self.id}: expected --node NODE with the reboot of a node, and only then")
        if of in ("reboot", "start") and not stop.command and stop.began is None:
            raise InputError(f"{self.id}: expected --since TIME or a COMMAND after `--`")
        left = self.repeats_left(bench, again=True)
        if not left:
            raise InputError(f"{self.id}: all {self.repeats} repeats are measured")
        note_earlier(bench.campaign)
        return self.measure_repeat(bench, left[0], stop)

    def run(self, bench: OperationBench, attempt: OperationAttempt, stop: OperatorStop) -> TimeRecord:
        return _Timing(self.duration, bench, attempt, stop).run()

    # The verdict.

    def read(self, attempt: OperationAttempt) -> OperationRepeat:
        record, of = attempt.record(TimeRecord), self.duration.of
        if record.gave_up:
            raise InputError(record.gave_up)
        after = parse_config(attempt.answer(CONFIG))
        if after.answered is None or record.asked is None:
            raise InputError("slurmctld did not answer with its time")
        offset_s = after.answered - record.asked
        if abs(offset_s) > _MOST_OFFSET_S:
            most = f"more than {_MOST_OFFSET_S} s"
            raise InputError(f"slurmctld's clock differs from the clock here by {figure(offset_s, 3)} s, {most}")
        began, up, first = _times(of, attempt, record)
        if began >= up + 1:
            raise InputError("the part started before the stop")
        lost = _lost(attempt, record)
        # To the end of the second in which the first job started.
        value = first.start + 1 - began
        refused = sum(not probe.job for probe in record.probes)
        facts = [
            f"{figure(value)} s from the stop to job {first.job}",
            f"{counted(len(record.probes), 'job')} sent, {refused} not accepted",
        ]
        if of == "failover":
            facts.append(f"SlurmctldTimeout: {after.failover_s} s; the time holds it unless a takeover was ordered")
        broken = f"lost running jobs: {'; '.join(lost)}" if lost else ""
        figures = {"up_s": up - began, "lost_jobs": len(lost)}
        return OperationRepeat(attempt, value, first.nodes, [first.job], figures, facts, broken)


def _times(of: str, attempt: OperationAttempt, record: TimeRecord) -> tuple[float, int, JobRow]:
    """Return when the part was stopped, and when it was up again; and the first job that started since.

    :raises InputError: there is none so far; says why.
    """
    accepted_after = 0.0
    if of == "reboot":
        node = _node(attempt.answer(NODES), record.node)
        started, up = node.boot, max(node.boot or 0, node.daemon or 0)
    elif of == "failover":
        if record.down is None or not _PRIMARY_DOWN.search(attempt.answer(PING)):
            raise InputError("the primary controller answers, so no backup took over")
        # A backup does not tell when it took over: what counts is what it accepted.
        started = up = math.floor(record.down)
        accepted_after = record.down
    else:
        started = parse_config(attempt.answer(CONFIG)).started
        up = started or 0
    if started is None:
        raise InputError("Slurm does not tell when the part started")
    began = _began(record, up)
    if began >= started + 1 + _MOST_OFFSET_S:
        raise InputError("the part did not start anew after the stop")
    own = {probe.job for probe in record.probes if probe.answered and probe.answered > accepted_after}
    rows = parse_jobs(attempt.answer(JOBS), JOBS)
    ran = [row for row in rows if row.job in own and up <= row.start < math.inf]
    if not ran:
        raise InputError("no new job was seen to run")
    return began, up, min(ran, key=lambda row: (row.start, row.submit))


def _node(answer: str, node: str) -> NodeStart:
    """Return the times of a node; unknown ones if the answer has no such node."""
    starts = {start.node: start for start in parse_nodes(answer)}
    return starts.get(node, NodeStart(node, None, None))


def _began(record: TimeRecord, up: int) -> float:
    """Return when the part was stopped; after a stop by hand, when the last job was accepted before."""
    if record.began is not None:
        return record.began
    accepted = [probe.answered for probe in record.probes if probe.job and probe.answered and probe.answered <= up]
    if not accepted:
        raise InputError("no job was accepted before the stop, so the stop was not seen")
    return max(accepted)


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

    def __init__(self, terms: DurationTerms, bench: OperationBench, attempt: OperationAttempt, stop: OperatorStop):
        self.terms, self.bench, self.attempt = terms, bench, attempt
        self.record = TimeRecord(began=stop.began, command=stop.command, node=stop.node)
        self.options = (*terms.options, "--output=/dev/null")
        self.limit_s = _LIMIT_S + 3 * self.terms.at_most_s
        self.status: Callable[[], int | None] = lambda: 0

    def run(self) -> TimeRecord:
        self._prepare()
        options = [*self.options, f"--nodelist={self.record.node}"] if self.record.node else self.options
        probe = self.attempt.sbatch(self.terms.nodes, 1, ("true",), *options)
        with self.bench.probe(probe) as self.record.probes:
            if self.record.began is None:
                self._stop()
            self._watch()
        # The operator's command is never cut off.
        self.bench.until(lambda: self.status() is not None, math.inf)
        return self.record

    def _prepare(self) -> None:
        """Test that Slurm knows the node, and start the load."""
        node = self.record.node
        if node and _node(self.bench.run(NODE_COMMAND), node).boot is None:
            raise InputError(f"--node {clean(node)}: Slurm does not tell when it was booted; see `scontrol show node`")
        if self.terms.load:
            load = self.attempt.sbatch(1, round(self.limit_s), (), *self.options)
            self.record.load = [self.bench.submit(load) for _ in range(self.terms.load)]
            if not self.bench.until(self._load_runs, _READY_S):
                raise InputError(f"not all {self.terms.load} jobs of the load have started in {_READY_S:g} s")
            self.bench.pause(_SAVED_S)

    def _load_runs(self) -> bool:
        rows = parse_jobs(self._keep(LOAD_BEFORE, SQUEUE_COMMAND), JOBS)
        return {row.job for row in rows if row.state == "RUNNING"}.issuperset(self.record.load)

    def _stop(self) -> None:
        """Start the operator's command, or ask for the stop, once a job was accepted, so that the stop is seen."""
        record, of = self.record, self.terms.of
        if of != "start" and not self.bench.until(lambda: any(probe.job for probe in record.probes), _READY_S):
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
            self._keep(CONFIG, CONFIG_COMMAND)
            self.record.asked = time.time()
            if self.record.node:
                self._keep(NODES, NODE_COMMAND)
            self._keep(JOBS, SQUEUE_COMMAND)
            _times(self.terms.of, self.attempt, self.record)
        except InputError:
            return False
        return True

    def _keep(self, name: str, command: Sequence[str]) -> str:
        return self.attempt.keep(name, self.bench.run(command))
