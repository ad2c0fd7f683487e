"""Figures of a mix of jobs, from the rows of its jobs: efficiency, waits, starts and idle nodes; and its bounds.

The efficiency is the least possible time of the mix over its actual time, as in NERSC's ESP (A. T. Wong et al., ESP: A
System Utilization Benchmark, SC 2000, doi 10.1109/SC.2000.10056).
"""

import heapq
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, counted, duration, figure
from kappa.core.sites.operation_clauses import JobMix, QueuedJob
from reports.acceptance.job_rows import ENDED, JobRow, SchedulerStatistics

_LISTED = 5
# Slurm's times are whole seconds.
_ROUNDING_S = 1


@dataclass(frozen=True)
class MixFigures:
    """The figures of one run of a mix; times in seconds.

    ``idle_before_full``: of each job of the whole machine, the idle node-seconds from the last start of another job
    before it until its start, and the length of that time.
    """

    efficiency: float
    makespan_s: int
    median_wait_s: float
    p95_wait_s: float
    starts_per_minute: float
    idle_before_full: tuple[tuple[int, int], ...]
    nodes: tuple[str, ...]

    @property
    def idle_node_s(self) -> float:
        """The most idle node-seconds before a job of the whole machine; 0 without such a job."""
        return max((idle for idle, _ in self.idle_before_full), default=0)


def mix_figures(
    block: JobMix, jobs: Sequence[str], rows: Iterable[JobRow], queued: Sequence[JobRow] = ()
) -> MixFigures:
    """Return the figures of one run of a mix.

    :param jobs: ids in the order of ``block.queue``.
    :param rows: every job that Slurm told of, also those of others.
    :param queued: the same jobs as ``squeue`` saw them; it knows why a job waited, and which jobs are alive.
    :raises InputError: there are none, because a job did not run, was cancelled, failed or was not alone; names it.
    """
    queue, listed = block.queue, [*rows]
    by_id: dict[str, list[JobRow]] = {}
    for row in listed:
        by_id.setdefault(row.job, []).append(row)
    if len(jobs) != len(queue):
        raise InputError(f"{len(jobs)} of {counted(len(queue), 'job')} were submitted")
    reasons = {row.job: row.reason for row in queued if row.start is None and row.state not in ENDED}
    problems = [
        problem
        for job, asked in zip(jobs, queue, strict=True)
        if (problem := _problem(job, asked, by_id.get(job, []), reasons.get(job, "")))
    ]
    if problems:
        listed_words = "; ".join(problems[:_LISTED]) + ("; …" if len(problems) > _LISTED else "")
        raise InputError(f"{len(problems)} of {counted(len(queue), 'job')} did not run as agreed: {listed_words}")
    own = [by_id[job][0] for job in jobs]
    begin, end = min(row.submit for row in own), max(row.end or 0 for row in own)
    nodes = {node for row in own for node in row.nodes}
    if len(nodes) > block.nodes:
        raise InputError(f"the jobs ran on {len(nodes)} nodes, the contract's machine has {block.nodes}")
    # The accounting may keep a job alive for ever that slurmctld forgot.
    alive = {(row.job, row.submit) for row in queued}
    others = [
        row
        for row in listed
        if row.job not in set(jobs)
        and (row.end is not None or (row.job, row.submit) in alive)
        and _overlaps(row, nodes, begin, end)
    ]
    if others:
        raise InputError(f"other jobs used the nodes meanwhile: {', '.join(row.job for row in others[:_LISTED])}")
    waits = sorted((row.start or 0) - row.submit for row in own)
    starts = max(row.start or 0 for row in own) - begin
    return MixFigures(
        efficiency=node_seconds(queue) / (block.nodes * max(1, end - begin)),
        makespan_s=end - begin,
        median_wait_s=statistics.median(waits),
        p95_wait_s=waits[math.ceil(0.95 * len(waits)) - 1],
        starts_per_minute=60 * len(own) / max(1, starts),
        idle_before_full=tuple(
            _idle_before(row, own, begin, block.nodes)
            for row in sorted(own, key=lambda row: row.start or 0)
            if row.node_count == block.nodes
        ),
        nodes=tuple(sorted(nodes)),
    )


def _problem(job: str, asked: QueuedJob, rows: Sequence[JobRow], reason: str) -> str:
    """Return why a job does not count; empty if it does."""
    if len(rows) != 1:
        return f"job {job}: " + ("it was requeued" if rows else "Slurm does not know it any more")
    [row] = rows
    on, problem = ",".join(row.nodes), ""
    if row.start is None:
        why = reason or row.reason
        told = f" ({why})" if why not in ("", "None") else ""
        problem = f"{row.state}, did not start on {counted(asked.nodes, 'node')}{told}"
    elif row.state != "COMPLETED" or row.end is None:
        problem = f"{row.state} on {on}"
    elif len(row.nodes) != asked.nodes:
        problem = f"it had {on} instead of {counted(asked.nodes, 'node')}"
    elif not asked.command and row.end - row.start < asked.seconds - _ROUNDING_S:
        problem = f"it ended after {row.end - row.start} of {asked.seconds} s on {on}"
    return f"job {job}: {problem}" if problem else ""


def _overlaps(row: JobRow, nodes: set[str], begin: int, end: int) -> bool:
    if row.start is None or nodes.isdisjoint(row.nodes):
        return False
    return row.start < end and (row.end is None or row.end > begin)


def _idle_before(full: JobRow, own: Sequence[JobRow], begin: int, machine: int) -> tuple[int, int]:
    """Return idle node-seconds and seconds between the last start of another job and the start of ``full``."""
    start = full.start or 0
    others = [row for row in own if row is not full and row.start is not None and row.start <= start]
    since = max([begin, *(row.start or 0 for row in others)])
    busy = sum(row.node_count * max(0, min(row.end or start, start) - since) for row in others)
    return machine * (start - since) - busy, start - since


def scheduler_cycles(before: SchedulerStatistics, after: SchedulerStatistics) -> float | None:
    """Return the mean cycle between two answers in microseconds; ``None``: no cycle, or slurmctld counted anew."""
    cycles = after.cycles - before.cycles
    if before.since != after.since or cycles <= 0:
        return None
    return (after.cycles * (after.mean_us or 0) - before.cycles * (before.mean_us or 0)) / cycles


def node_seconds(queue: Iterable[QueuedJob]) -> int:
    return sum(job.nodes * job.seconds for job in queue)


@dataclass(frozen=True)
class MixPlan:
    """Cost and limits of a mix. ``least_s``: no schedule is shorter. ``packed_s``: a simple schedule."""

    jobs: int
    node_seconds: int
    area_s: float
    full_s: float
    packed_s: float
    nodes: int

    @property
    def least_s(self) -> float:
        return max(self.area_s, self.full_s)

    @property
    def highest(self) -> float:
        """The highest efficiency that a schedule could reach."""
        return self.node_seconds / (self.nodes * self.least_s)

    @property
    def packed(self) -> float:
        return self.node_seconds / (self.nodes * self.packed_s)


def mix_plan(block: JobMix) -> MixPlan:
    """Return bounds of a mix.

    No two jobs of more than half of the machine run at once, and nothing runs beside a job of the whole machine. So
    the time is at least the sum of the full jobs' times and the largest of three bounds of the rest.
    """
    queue = block.queue
    full = sum(job.seconds for job in queue if job.nodes == block.nodes)
    rest = [job for job in queue if job.nodes < block.nodes]
    large = sum(job.seconds for job in rest if 2 * job.nodes > block.nodes)
    longest = max((job.seconds for job in rest), default=0)
    total = node_seconds(queue)
    return MixPlan(
        len(queue), total, total / block.nodes, full + max(large, longest, node_seconds(rest) / block.nodes),
        _packed(queue, block.nodes), block.nodes,
    )  # fmt: skip


def _packed(queue: Sequence[QueuedJob], nodes: int) -> float:
    """Return the makespan with the largest and longest jobs first, each as soon as enough nodes are free."""
    free = [0] * nodes
    for job in sorted(queue, key=lambda job: (-job.nodes, -job.seconds)):
        taken = [heapq.heappop(free) for _ in range(job.nodes)]
        for _ in taken:
            heapq.heappush(free, taken[-1] + job.seconds)
    return max(free)


def plan_lines(block: JobMix) -> list[str]:
    """A mix in words, before anybody signs."""
    plan = mix_plan(block)
    verdict = "" if block.efficiency <= plan.highest else ", so the clause cannot be met"
    hours = figure(block.repeats * block.nodes * plan.packed_s / 3600)
    return [
        f"{counted(plan.jobs, 'job')}, {figure(plan.node_seconds)} node-seconds on {counted(block.nodes, 'node')}, "
        f"order by seed {block.seed}",
        f"least time: {duration(plan.area_s)} by area, {duration(plan.full_s)} with the jobs of the whole machine; "
        f"highest efficiency: {figure(plan.highest)}{verdict}",
        f"largest jobs first: {duration(plan.packed_s)}, efficiency {figure(plan.packed)}",
        f"cost: {counted(block.repeats, 'repeat')}, at least {hours} node-hours; Kappa gives up a repeat after "
        f"{duration(block.limit_s)}",
    ]


def facts(found: MixFigures, cycles: Sequence[tuple[str, SchedulerStatistics]]) -> list[tuple[str, str]]:
    """Return what the dossier shows of one run of a mix, as (title, words)."""
    idle = ", ".join(f"{figure(one)} node-s in {span} s" for one, span in found.idle_before_full)
    main = "; ".join(
        f"{name}: mean {NOTHING if one.mean_us is None else figure(one.mean_us)}, longest {figure(one.longest_us)}"
        for name, one in cycles
    )
    mean = scheduler_cycles(cycles[0][1], cycles[-1][1]) if len(cycles) > 1 else None
    within = f"; in the mix: mean {figure(mean)}" if mean is not None else ""
    return [
        ("Time", f"{duration(found.makespan_s)} from the first submission to the last end"),
        ("Wait", f"median {figure(found.median_wait_s)} s, 95th percentile {figure(found.p95_wait_s)} s"),
        ("Starts", f"{figure(found.starts_per_minute)} per minute until the last start"),
        ("Idle before full jobs", idle or "no job of the whole machine"),
        ("Scheduler cycles (µs)", (main or NOTHING) + within),
    ]
