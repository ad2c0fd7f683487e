"""A clause about a mix of jobs: how well Slurm keeps the machine busy, and how long jobs wait.

The efficiency is the least possible time of the mix over its actual time, as in NERSC's ESP (A. T. Wong et al., ESP: A
System Utilization Benchmark, SC 2000, doi 10.1109/SC.2000.10056).
"""

import contextlib
import functools
import hashlib
import heapq
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, duration, figure
from kappa.core.ground.order_statistics import value_of
from reports.acceptance.campaign.job_rows import ENDED, SACCT_OPTIONS, SQUEUE_COMMAND, JobRow, parse_jobs, parse_sdiag
from reports.acceptance.campaign.operations import OperationAttempt, OperationBench
from reports.acceptance.kinds.clause import ClausePlan, OperatorStop, Planning
from reports.acceptance.kinds.operations import Nodes, OperationClause, OperationRepeat, OperationTerms, Seconds

_MOST_JOBS = 10_000
_LISTED = 5
# Slurm's times are whole seconds.
_ROUNDING_S = 1
# Slurm's accounting lags, and a cancelled job ends when its nodes confirm it.
_SETTLE_S = 60.0
# The first jobs were submitted before sacct's first second of interest.
_BACK_S = 300
_AT_LEAST = "starts_per_minute"
_Bounded = Literal[
    "median_wait_s", "p95_wait_s", "idle_node_s", "mean_cycle_us", "longest_cycle_us", "starts_per_minute"
]


class QueuedJob(NamedTuple):
    nodes: int
    seconds: int
    command: tuple[str, ...]


class MixJob(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``count`` equal jobs of ``nodes``, or of a ``share`` of the machine's nodes.

    A job with ``command`` runs this program, on its first node; it has to end with status 0. ``seconds`` is its run
    time as the parties agreed, so that the efficiency does not depend on the speed of the processors.
    """

    nodes: Nodes | None = None
    share: Annotated[float, Meta(gt=0, le=1, description="a share above 0 and at most 1")] | None = None
    seconds: Seconds
    count: Annotated[int, Meta(ge=1, le=_MOST_JOBS)]
    command: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=1000)], ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.share is None):
            raise ValueError("expected either nodes or share")

    def queued(self, machine: int) -> QueuedJob:
        nodes = self.nodes or max(1, round((self.share or 0) * machine))
        return QueuedJob(nodes, self.seconds, self.command)


class MixTerms(OperationTerms, frozen=True, kw_only=True):
    """A mix of jobs, submitted at once in an order that ``seed`` fixes, on a machine of ``nodes``.

    ``efficiency`` is the least Σ nodes·seconds / (``nodes`` · makespan). After ``limit_s`` Kappa cancels the rest.
    ``bounds`` are on further figures (docs/acceptance.md).
    """

    nodes: Nodes
    jobs: Annotated[tuple[MixJob, ...], Meta(min_length=1, max_length=100)]
    efficiency: Annotated[float, Meta(gt=0, le=1, description="an efficiency above 0 and at most 1")]
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 1
    bounds: dict[_Bounded, Annotated[float, Meta(ge=0, le=1e12)]] = {}
    limit_s: Seconds

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(job.count for job in self.jobs) > _MOST_JOBS:
            raise ValueError(f"expected at most {_MOST_JOBS} jobs")
        for job in self.jobs:
            if job.nodes and job.nodes > self.nodes:
                raise ValueError(f"jobs: expected at most the {self.nodes} nodes of the machine, found {job.nodes}")

    @property
    def queue(self) -> list[QueuedJob]:
        """Return the jobs in the order of submission: by the SHA-256 of seed and number, so that anyone can check."""
        jobs = [job.queued(self.nodes) for job in self.jobs for _ in range(job.count)]
        order = sorted(range(len(jobs)), key=lambda i: hashlib.sha256(f"{self.seed} {i}".encode()).digest())
        return [jobs[i] for i in order]


class MixRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """``jobs``: ids in the order of submission; ``source``: whose answer about the jobs is in ``SOURCE.txt``."""

    jobs: tuple[str, ...]
    source: Literal["sacct", "squeue"]


class Mix(OperationClause, frozen=True, kw_only=True, tag="mix"):
    mix: MixTerms

    @property
    def terms(self) -> MixTerms:
        return self.mix

    @property
    def threshold(self) -> float:
        return self.mix.efficiency

    @property
    def required(self) -> str:
        bounds = (_bound(name, value) for name, value in self.mix.bounds.items())
        return ", ".join((f"efficiency {self.limit}", *bounds))

    @property
    def evidence(self) -> str:
        return f"mix of {counted(len(self.mix.queue), 'job')}"

    # Plan and measurement.

    def plan(self, planning: Planning) -> ClausePlan:
        """Return costs and limits of the mix.

        No two jobs of more than half of the machine run at once, and nothing runs beside a job of the whole machine.
        So the time is at least the sum of the full jobs' times and the largest of three bounds of the rest.
        """
        queue, machine, total = self.mix.queue, self.mix.nodes, _node_seconds(self.mix.queue)
        rest = [job for job in queue if job.nodes < machine]
        full_s = sum(job.seconds for job in queue if job.nodes == machine)
        large_s = sum(job.seconds for job in rest if 2 * job.nodes > machine)
        longest_s = max((job.seconds for job in rest), default=0)
        least_s = full_s + max(large_s, longest_s, _node_seconds(rest) / machine)
        packed_s, highest = _packed_s(queue, machine), total / (machine * least_s)
        unreachable = "" if self.threshold <= highest else ", so the clause cannot be met"
        document = {
            "repeats": self.repeats,
            "jobs": len(queue),
            "node_seconds": total,
            "least_s": least_s,
            "packed_s": packed_s,
            "highest_efficiency": highest,
        }
        lines = (
            f"{counted(len(queue), 'job')}, {figure(total)} node-seconds on {counted(machine, 'node')}, "
            f"order by seed {self.mix.seed}",
            f"least time: {duration(total / machine)} by area, {duration(least_s)} with the jobs of the whole machine; "
            f"highest efficiency: {figure(highest)}{unreachable}",
            f"largest jobs first: {duration(packed_s)}, efficiency {figure(total / (machine * packed_s))}",
            f"cost: {counted(self.repeats, 'repeat')}, at least {figure(self.repeats * machine * packed_s / 3600)} "
            f"node-hours; Kappa gives up a repeat after {duration(self.mix.limit_s)}",
        )
        return ClausePlan(lines, document)

    def measure(self, bench: OperationBench) -> None:
        for number in self.repeats_left(bench, bench.again):
            self.measure_repeat(bench, number, OperatorStop())

    def run(self, bench: OperationBench, attempt: OperationAttempt, stop: OperatorStop) -> MixRecord:
        """Submit the jobs, wait for their end, and keep Slurm's answers."""
        _keep_sdiag(bench, attempt, "before")
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - _BACK_S))
        ids, lines = list[str](), dict[str, str]()
        all_ended = functools.partial(_all_ended, bench, attempt, ids, lines)
        for job in self.mix.queue:
            bench.pause(0)
            # A sleeping job writes nothing; a program's output is evidence.
            output = attempt.folder.resolve() / "job-%j.out" if job.command else "/dev/null"
            ids.append(bench.submit(attempt.sbatch(*job, *self.mix.options, "--exclusive", f"--output={output}")))
        if not bench.until(all_ended, self.mix.limit_s):
            bench.say(f"  jobs have not ended after {duration(self.mix.limit_s)}; cancelled")
            attempt.cancel_jobs(bench)
        _keep_sdiag(bench, attempt, "after")
        attempt.keep("squeue", "".join(lines.values()))
        return MixRecord(tuple(ids), _source(bench, attempt, ids, since))

    # The verdict.

    def read(self, attempt: OperationAttempt) -> OperationRepeat:
        record, machine = attempt.record(MixRecord), self.mix.nodes
        rows = parse_jobs(attempt.answer(record.source), record.source)
        queued = parse_jobs(attempt.answer("squeue"), "squeue")
        own = sorted(self._own_jobs(record.jobs, rows, queued), key=lambda row: row.start)
        begin, end = min(row.submit for row in own), max(row.end for row in own)
        nodes = {node for row in own for node in row.nodes}
        if len(nodes) > machine:
            raise InputError(f"the jobs ran on {len(nodes)} nodes, the contract's machine has {machine}")
        mine = set(record.jobs)
        # The accounting may keep a job alive for ever that slurmctld forgot.
        alive = {(row.job, row.submit) for row in queued}
        others = [
            row.job
            for row in rows
            if row.job not in mine
            and (row.end < math.inf or (row.job, row.submit) in alive)
            and (row.start < end and row.end > begin and not nodes.isdisjoint(row.nodes))
        ]
        if others:
            raise InputError(f"other jobs used the nodes meanwhile: {', '.join(others[:_LISTED])}")
        efficiency = _node_seconds(self.mix.queue) / (machine * max(1, end - begin))
        waits = sorted(row.start - row.submit for row in own)
        after = parse_sdiag(attempt.answer("sdiag-after"))
        figures = {
            "makespan_s": end - begin,
            "median_wait_s": statistics.median(waits),
            "p95_wait_s": waits[math.ceil(0.95 * len(waits)) - 1],
            "idle_node_s": _idle_before_full(own, begin, machine),
            "starts_per_minute": 60 * len(own) / max(1, own[-1].start - begin),
            "mean_cycle_us": after.get("Mean"),
            "longest_cycle_us": after.get("Max"),
        }
        facts = (f"efficiency {figure(efficiency)} in {duration(end - begin)}", *_cycles(attempt))
        missing = ", ".join(name for name in self.mix.bounds if figures[name] is None)
        problem = f"{missing} is missing" if missing else ""
        return OperationRepeat(attempt, efficiency, nodes, record.jobs, figures, facts, problem=problem)

    def _own_jobs(self, jobs: Sequence[str], rows: Sequence[JobRow], queued: Sequence[JobRow]) -> list[JobRow]:
        """Return the rows of the mix among those of all jobs.

        :param queued: the jobs as ``squeue`` last saw them; it knows why a job waited.
        :raises InputError: a job did not run as agreed.
        """
        queue, by_id = self.mix.queue, defaultdict[str, list[JobRow]](list)
        for row in rows:
            by_id[row.job].append(row)
        if len(jobs) != len(queue):
            raise InputError(f"{len(jobs)} of {counted(len(queue), 'job')} were submitted")
        reasons = {row.job: row.reason for row in queued}
        problems = [
            f"job {job}: {problem}"
            for job, asked in zip(jobs, queue, strict=True)
            if (problem := _problem(asked, by_id[job], reasons.get(job, "")))
        ]
        if problems:
            listed = "; ".join(problems[:_LISTED]) + ("; …" if len(problems) > _LISTED else "")
            raise InputError(f"{len(problems)} of {counted(len(queue), 'job')} did not run as agreed: {listed}")
        return [by_id[job][0] for job in jobs]

    def broken(self, repeats: Sequence[OperationRepeat]) -> list[str]:
        """Return the figures beyond their bounds, by the statistic over all repeats."""
        beyond = []
        for name, bound in self.mix.bounds.items():
            values = [value for repeat in repeats if (value := repeat.figures[name]) is not None]
            if len(values) == self.repeats:
                value = value_of(self.statistic, values, name == _AT_LEAST)
                if value < bound if name == _AT_LEAST else value > bound:
                    beyond.append(f"required {_bound(name, bound)}, measured {figure(value)}")
        return beyond


def _bound(name: str, value: float) -> str:
    return f"{name} {'≥' if name == _AT_LEAST else '≤'} {figure(value)}"


def _node_seconds(queue: Iterable[QueuedJob]) -> int:
    return sum(job.nodes * job.seconds for job in queue)


def _packed_s(queue: Sequence[QueuedJob], machine: int) -> float:
    """Return the makespan with the largest and longest jobs first, each as soon as enough nodes are free."""
    free = [0] * machine
    for job in sorted(queue, key=lambda job: (-job.nodes, -job.seconds)):
        taken = [heapq.heappop(free) for _ in range(job.nodes)]
        for _ in taken:
            heapq.heappush(free, taken[-1] + job.seconds)
    return max(free)


def _problem(asked: QueuedJob, rows: Sequence[JobRow], reason: str) -> str:
    """Return why a job does not count; empty if it does."""
    if len(rows) != 1:
        return "it was requeued" if rows else "Slurm does not know it any more"
    [row] = rows
    on = ",".join(row.nodes)
    if row.start == math.inf:
        stated = f" ({reason})" if reason not in ("", "None") else ""
        return f"{row.state}, did not start on {counted(asked.nodes, 'node')}{stated}"
    if row.state != "COMPLETED" or row.end == math.inf:
        return f"{row.state} on {on}"
    if len(row.nodes) != asked.nodes:
        return f"it had {on} instead of {counted(asked.nodes, 'node')}"
    if not asked.command and row.end - row.start < asked.seconds - _ROUNDING_S:
        return f"it ended after {row.end - row.start} of {asked.seconds} s on {on}"
    return ""


def _idle_before_full(own: Sequence[JobRow], begin: float, machine: int) -> float:
    """Return the most idle node-seconds between the last start of another job and a job of the whole machine."""
    most: float = 0
    for full in own:
        if len(full.nodes) == machine:
            others = [row for row in own if row is not full and row.start <= full.start]
            since = max([begin, *(row.start for row in others)])
            busy = sum(len(row.nodes) * max(0, min(row.end, full.start) - since) for row in others)
            most = max(most, machine * (full.start - since) - busy)
    return most


def _cycles(attempt: OperationAttempt) -> Iterator[str]:
    """Yield the scheduler's cycles at each answer of ``sdiag``, and their mean within the mix."""
    cycles = {when: parse_sdiag(attempt.answer(f"sdiag-{when}")) for when in ("before", "during", "after")}
    for when, figures in cycles.items():
        if shown := [f"{name} {figure(value)}" for name, value in figures.items() if name != "since"]:
            yield f"scheduler cycles {when} (µs): {', '.join(shown)}"
    before, after = cycles["before"], cycles["after"]
    # slurmctld counts anew at midnight, and after a restart.
    if before and after and before["since"] == after["since"] and (number := after["Total"] - before["Total"]) > 0:
        spent_us = after["Total"] * after.get("Mean", 0) - before["Total"] * before.get("Mean", 0)
        yield f"mean cycle in the mix (µs): {figure(spent_us / number)}"


def _all_ended(bench: OperationBench, attempt: OperationAttempt, ids: list[str], lines: dict[str, str]) -> bool:
    """Return whether all jobs ended, by squeue. ``lines`` gets its last line of each job."""
    try:
        answer = bench.run(SQUEUE_COMMAND)
        rows = parse_jobs(answer, "squeue")
    except InputError:
        # A controller that does not answer now may answer later.
        return False
    lines |= {line.partition("|")[0]: f"{line}\n" for line in answer.split("\n") if line.strip()}
    # slurmctld forgets a job that ended `MinJobAge` ago.
    alive = {row.job for row in rows if row.state not in ENDED}
    ended = sum(job in lines and job not in alive for job in ids)
    if 2 * ended >= len(ids) and not attempt.answer("sdiag-during"):
        _keep_sdiag(bench, attempt, "during")
    return ended == len(ids)


def _keep_sdiag(bench: OperationBench, attempt: OperationAttempt, when: str) -> None:
    # A user may not be allowed to ask; the figures are then missing.
    with contextlib.suppress(InputError):
        attempt.keep(f"sdiag-{when}", bench.run(("sdiag",)))


def _source(bench: OperationBench, attempt: OperationAttempt, ids: list[str], since: str) -> Literal["sacct", "squeue"]:
    """Keep the accounting's answer about all jobs. Without accounting, squeue's answers count."""

    def complete() -> bool:
        answer = attempt.keep("sacct", bench.run(("sacct", *SACCT_OPTIONS, "-S", since)))
        return {row.job for row in parse_jobs(answer, "sacct") if row.state in ENDED}.issuperset(ids)

    with contextlib.suppress(InputError):
        if bench.until(complete, _SETTLE_S):
            return "sacct"
    return "squeue"
