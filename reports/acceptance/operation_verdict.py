"""Verdict on a clause about operation: a pure function of the contract and of the campaign's raw answers."""

import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.sites.contract import Clause

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, figure
from kappa.core.sites.operation_clauses import JobMix, OperationTime
from reports.acceptance import duration_figures, mix_figures
from reports.acceptance.clause_statistics import value_of
from reports.acceptance.duration_figures import TimeEvidence, operation_times
from reports.acceptance.job_rows import SchedulerStatistics, parse_jobs, parse_sdiag
from reports.acceptance.operations import MixRecord, OperationAttempt, TimeRecord, operation_attempts
from reports.acceptance.slurm_answers import ControllerFacts, NodeStart, parse_config, parse_nodes

#: Names of the kept answers of ``sdiag``, in the order of time.
SDIAG = {"before": "sdiag-before", "during": "sdiag-during", "after": "sdiag-after"}
CONFIG_BEFORE, CONFIG_AFTER = "config-before", "config-after"
NODES_BEFORE, NODES_AFTER = "nodes-before", "nodes-after"
JOBS, LOAD_BEFORE, PING, WAITING = "squeue", "load-before", "ping-after", "waiting"
_PRIMARY_DOWN = re.compile(r"^Slurmctld\(primary\).*\bDOWN\b", re.MULTILINE)


@dataclass(frozen=True)
class OperationSample:
    """One repeat: its value in the clause's unit, further figures by name, and what a page shows, (title, words)."""

    repeat: int
    value: float
    started: str
    attempt: str
    jobs: str
    nodes: tuple[str, ...]
    figures: dict[str, float | None]
    facts: tuple[tuple[str, str], ...]
    broken: tuple[str, ...] = ()
    """Reasons, besides the value, why the clause is not met."""


@dataclass(frozen=True)
class OperationJudgement:
    """``met`` is ``None`` where ``problems`` leave it open. ``broken``: what else than the value breaks the clause."""

    met: bool | None
    value: float | None
    samples: tuple[OperationSample, ...]
    problems: tuple[str, ...]
    broken: tuple[str, ...]
    remarks: tuple[str, ...]


def judge_operation(clause: Clause, campaign: pathlib.Path) -> OperationJudgement:
    """Judge a clause by the last finished attempt at each repeat.

    :raises InputError: an ``attempt.json`` is damaged.
    """
    block = clause.operation
    assert block
    attempts = [one for one in operation_attempts(campaign, clause.id) if one.repeat <= clause.repeats]
    latest = {one.repeat: one for one in attempts if one.finished}
    samples: list[OperationSample] = []
    problems = []
    for repeat in range(1, clause.repeats + 1):
        if repeat not in latest:
            problems.append(f"repeat {repeat} is not finished")
            continue
        attempt = latest[repeat]
        try:
            samples.append(_mix(block, attempt) if isinstance(block, JobMix) else _time(block, attempt))
        except InputError as err:
            problems.append(f"repeat {repeat}: {err}")
    values = [sample.value for sample in samples]
    at_least = clause.comparison == "at_least"
    value = value_of(clause.statistic, values, at_least) if values else None
    broken = [f"repeat {sample.repeat}: {why}" for sample in samples for why in sample.broken]
    if isinstance(block, JobMix) and samples and not problems:
        missing, beyond = _beyond(block, clause, samples)
        problems += missing
        broken += beyond
    met = None if problems or value is None else clause.holds(value) and not broken
    return OperationJudgement(
        met, value, tuple(samples), tuple(problems), tuple(broken), tuple(_remarks(attempts, latest))
    )


def _remarks(attempts: Sequence[OperationAttempt], latest: dict[int, OperationAttempt]) -> list[str]:
    interrupted = sum(not one.finished for one in attempts)
    superseded = len(attempts) - interrupted - len(latest)
    found = [f"{counted(interrupted, 'interrupted attempt')}"] if interrupted else []
    return found + ([f"{counted(superseded, 'finished attempt')} superseded by a later one"] if superseded else [])


def _beyond(block: JobMix, clause: Clause, samples: Sequence[OperationSample]) -> tuple[list[str], list[str]]:
    """Return further figures that are missing, and those beyond their bounds, by the statistic over the repeats."""
    missing, beyond = [], []
    for bound in block.stated_bounds:
        given = [value for sample in samples if (value := sample.figures[bound.name]) is not None]
        if len(given) < len(samples):
            missing.append(f"{bound.words[0]} is missing in {counted(len(samples) - len(given), 'repeat')}")
            continue
        value = value_of(clause.statistic, given, bound.at_least)
        if value < bound.value if bound.at_least else value > bound.value:
            beyond.append(f"required {bound}, measured {figure(value)}")
    return missing, beyond


def _mix(block: JobMix, attempt: OperationAttempt) -> OperationSample:
    record = attempt.record(MixRecord)
    rows = parse_jobs(attempt.answer(record.source) or "", record.source)
    queued = [row for name in (WAITING, JOBS) for row in parse_jobs(attempt.answer(name) or "", JOBS)]
    found = mix_figures.mix_figures(block, record.jobs, rows, queued)
    cycles = _cycles(attempt)
    after = dict(cycles).get("after")
    mean = after.mean_us if after else None
    figures: dict[str, float | None] = {
        "makespan_s": found.makespan_s,
        **{name: getattr(found, name) for name in _MIX_FIGURES},
        "mean_cycle_us": mean,
        "longest_cycle_us": after.longest_us if after else None,
    }
    first, last = record.jobs[0], record.jobs[-1]
    jobs = first if first == last else f"{first}–{last}"
    return OperationSample(
        attempt.repeat, found.efficiency, attempt.started, attempt.folder.name, jobs, found.nodes, figures,
        tuple(mix_figures.facts(found, cycles)),
    )  # fmt: skip


_MIX_FIGURES = ("median_wait_s", "p95_wait_s", "idle_node_s", "starts_per_minute")


def _cycles(attempt: OperationAttempt) -> list[tuple[str, SchedulerStatistics]]:
    """Return the scheduler's statistics; an answer that is missing or odd leaves them out."""
    found = []
    for name, kept in SDIAG.items():
        try:
            found.append((name, parse_sdiag(attempt.answer(kept) or "")))
        except InputError:
            continue
    return found


def is_primary_down(ping: str) -> bool:
    """Return whether `scontrol ping` says that the primary controller does not answer."""
    return _PRIMARY_DOWN.search(ping) is not None


def evidence_of_time(attempt: OperationAttempt, record: TimeRecord) -> TimeEvidence:
    """Return Slurm's answers about a measurement of time, as far as there are any.

    :raises InputError: one cannot be read.
    """
    return TimeEvidence(
        controller_before=_controller(attempt, CONFIG_BEFORE),
        controller_after=_controller(attempt, CONFIG_AFTER),
        node_before=_node(attempt, NODES_BEFORE, record.node),
        node_after=_node(attempt, NODES_AFTER, record.node),
        jobs=parse_jobs(attempt.answer(JOBS) or "", JOBS),
        load_before=parse_jobs(attempt.answer(LOAD_BEFORE) or "", JOBS),
        primary_down=is_primary_down(attempt.answer(PING) or ""),
    )


def _time(block: OperationTime, attempt: OperationAttempt) -> OperationSample:
    record = attempt.record(TimeRecord)
    found = operation_times(block, record, evidence_of_time(attempt, record))
    lost = (f"lost running jobs: {'; '.join(found.lost)}",) if found.lost else ()
    figures: dict[str, float | None] = {"up_s": found.up - found.began, "lost_jobs": len(found.lost)}
    return OperationSample(
        attempt.repeat, found.seconds, attempt.started, attempt.folder.name, found.job, found.nodes, figures,
        tuple(duration_figures.facts(block, found)), lost,
    )  # fmt: skip


def _controller(attempt: OperationAttempt, name: str) -> ControllerFacts | None:
    text = attempt.answer(name)
    return parse_config(text) if text else None


def _node(attempt: OperationAttempt, name: str, node: str) -> NodeStart | None:
    return next((one for one in parse_nodes(attempt.answer(name) or "") if one.node == node), None)


