"""The time from a stop to the first new job that runs, from Slurm's answers and the jobs that Kappa sent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, duration, figure
from kappa.core.sites.operation_clauses import OperationTime
from reports.acceptance.job_rows import JobRow
from reports.acceptance.operations import TimeRecord
from reports.acceptance.slurm_answers import ControllerFacts, NodeStart

# Slurm's times are whole seconds, and an answer takes a moment.
_MOST_OFFSET_S = 3
_LISTED = 5
# Slurm tells of these while a job is alive.
_ALIVE = ("RUNNING", "COMPLETING")


@dataclass(frozen=True)
class TimeEvidence:
    """Slurm's answers before and after; ``None`` where there is none. ``node``: of the node that was rebooted."""

    controller_before: ControllerFacts | None
    controller_after: ControllerFacts | None
    node_before: NodeStart | None = None
    node_after: NodeStart | None = None
    jobs: Sequence[JobRow] = ()
    load_before: Sequence[JobRow] = ()
    primary_down: bool = False


@dataclass(frozen=True)
class OperationTimes:
    """Seconds since 1970. ``lost``: jobs that should have gone on and did not, with their states."""

    began: float
    up: int
    first_job: int
    job: str
    nodes: tuple[str, ...]
    lost: tuple[str, ...]
    went_on: int
    seen_by: str
    sent: int
    refused: int
    failover_s: int

    @property
    def seconds(self) -> float:
        """From the stop to the end of the second in which the first job started."""
        return self.first_job + 1 - self.began


def operation_times(block: OperationTime, record: TimeRecord, found: TimeEvidence) -> OperationTimes:
    """Return the times of one measurement.

    A job counts if it started after the part started anew, so a job that the old slurmctld let start does not.

    :raises InputError: the time was not measured; says why.
    """
    after = found.controller_after
    if record.gave_up:
        raise InputError(record.gave_up)
    if after is None or after.answered is None or record.asked is None:
        raise InputError("slurmctld did not answer with its time")
    offset_s = after.answered - record.asked
    if abs(offset_s) > _MOST_OFFSET_S:
        raise InputError(
            f"slurmctld's clock differs from the clock here by {figure(offset_s, 3)} s, more than {_MOST_OFFSET_S} s"
        )
    up, first = new_job(block, record, found)
    began, seen_by = _began(record, up)
    if began >= up + 1:
        raise InputError("the part started before the stop that was named")
    lost = _lost(record, found)
    return OperationTimes(
        began=began, up=up, first_job=first.start or 0, job=first.job, nodes=first.nodes, lost=lost,
        went_on=len(record.load) - len(lost), seen_by=seen_by, sent=len(record.probes),
        refused=sum(not probe.job for probe in record.probes), failover_s=after.failover_s,
    )  # fmt: skip


def new_job(block: OperationTime, record: TimeRecord, found: TimeEvidence) -> tuple[int, JobRow]:
    """Return when the part started anew, and the first job that started since.

    :raises InputError: there is none so far; says why.
    """
    up = _booted(record, found) if block.of == "reboot" else _controller_up(block, record, found)
    # A backup does not tell when it took over: what counts is what it accepted.
    since = record.down if block.of == "failover" and record.down is not None else 0
    own = {probe.job for probe in record.probes if probe.answered is not None and probe.answered > since}
    ran = [row for row in found.jobs if row.job in own and row.start is not None and row.start >= up]
    if not ran:
        raise InputError("no new job was seen to run")
    return up, min(ran, key=lambda row: (row.start or 0, row.submit))


def _booted(record: TimeRecord, found: TimeEvidence) -> int:
    before, after = found.node_before, found.node_after
    if before is None or after is None or before.boot is None or after.boot is None or after.daemon is None:
        raise InputError(f"Slurm does not tell when {record.node} was booted")
    if after.boot <= before.boot:
        raise InputError(f"{record.node} was not booted anew")
    return max(after.boot, after.daemon)


def _controller_up(block: OperationTime, record: TimeRecord, found: TimeEvidence) -> int:
    if block.of == "failover":
        if record.down is None or not found.primary_down:
            raise InputError("the primary controller answers, so no backup took over")
        return math.floor(record.down)
    started = found.controller_after.started if found.controller_after else None
    if started is None:
        raise InputError("slurmctld did not answer with its time of start")
    before_s = found.controller_before.started if found.controller_before else None
    if record.began is not None and (before_s is None or not record.command):
        # slurmctld was off, or up again before Kappa asked: the time that was named decides.
        before_s = math.floor(record.began) - 1
    before_s = started if before_s is None else before_s
    if started <= before_s:
        raise InputError("slurmctld did not start anew")
    return started


def _began(record: TimeRecord, up: int) -> tuple[float, str]:
    """Return when the part was stopped, and how that is known."""
    if record.began is not None:
        return record.began, "the start of the command" if record.command else "as the operator said"
    accepted = [one.answered for one in record.probes if one.job and one.answered is not None and one.answered <= up]
    if not accepted:
        raise InputError("no job was accepted before the stop, so the stop was not seen")
    return max(accepted), "the last job that was accepted before"


def _lost(record: TimeRecord, found: TimeEvidence) -> tuple[str, ...]:
    """Return the jobs of the load that did not go on."""
    before = {row.job: row for row in found.load_before}
    now = {row.job: row for row in found.jobs}
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
    return tuple(lost)


def facts(block: OperationTime, found: OperationTimes) -> list[tuple[str, str]]:
    """Return what the dossier shows of one measurement, as (title, words)."""
    step = {"reboot": "the node started", "failover": "the primary was seen down"}.get(block.of, "slurmctld started")
    rows = [
        ("Time", f"{figure(found.seconds)} s from the stop ({found.seen_by}) to job {found.job}, resolution 1 s"),
        ("Steps", f"{step} {duration(max(0.0, found.up - found.began))} after the stop, "
                  f"the first job {duration(max(0, found.first_job - found.up))} later"),
        ("Jobs sent", f"{found.sent}; {found.refused} not accepted"),
    ]  # fmt: skip
    if block.load:
        words = f"{found.went_on} of {block.load} went on"
        rows.append(("Running jobs", words + (f"; lost: {'; '.join(found.lost[:_LISTED])}" if found.lost else "")))
    if block.of == "failover":
        rows.append(("SlurmctldTimeout", f"{found.failover_s} s; the time holds it unless a takeover was ordered"))
    return rows


def plan_lines(block: OperationTime, clause: str) -> list[str]:
    """A measurement of time in words, before anybody signs."""
    load = f", while {counted(block.load, 'job')} of a node run" if block.load else ""
    return [
        f"{counted(block.repeats, 'repeat')}{load}; a job of {counted(block.nodes, 'node')} is sent each second",
        f"an operator stops the part: `kappa acceptance time SITE DIR {clause}` (once for each repeat)",
    ]
