"""Judge a contract: the verdict is a pure function of the contract and of a campaign's results."""

import contextlib
import gc
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from msgspec import structs

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted, figure
from kappa.core.record.model import Case, Metric
from kappa.core.sites.contract import Clause, Contract
from kappa.core.sites.energy_clause import PER, RUN
from reports.acceptance.campaign import Attempt, Campaign, CaseSeries, Families, selects
from reports.acceptance.clause_statistics import Interval, interval_of, value_of
from reports.acceptance.energy import EnergyUnknownError, JobEnergy, job_energy
from reports.acceptance.energy_readings import Meters
from reports.acceptance.index_verdict import IndexVerdict, judge_index
from reports.acceptance.measured import WITHOUT_CHAIN, Measured, load_measured
from reports.acceptance.operation_verdict import OperationSample, judge_operation
from reports.acceptance.operations import operation_attempts
from reports.acceptance.outage_log import OutageLog, load_log
from reports.acceptance.outage_verdict import OutageVerdict, judge_outages
from reports.acceptance.outage_weeks import signers
from reports.acceptance.reliability import CONFIDENCE
from reports.acceptance.retained import (
    RetainedJudgement,
    RetainedVerdict,
    copy_of,
    damage_of,
    figures_of,
    judge_retained,
    rerun_clause,
    unusable,
)
from reports.acceptance.set_aside import set_aside
from reports.verdict.advice import used_by_others
from reports.verdict.case_verdict import executed


class ClauseOutcome(Enum):
    """Name the outcome of a clause, with a symbol that needs no colour."""

    MET = ("met", "✔")
    WAIVED = ("waived", "◆")
    INCOMPLETE = ("incomplete", "○")
    NOT_MET = ("not met", "✘")

    def __init__(self, word: str, symbol: str) -> None:
        self.word = word
        self.symbol = symbol


class Acceptance(Enum):
    """Name the outcome of the contract, with the exit status."""

    ACCEPTED = ("ACCEPTED", "✔", 0)
    NOT_ACCEPTED = ("NOT ACCEPTED", "✘", 1)
    INCOMPLETE = ("INCOMPLETE", "○", 2)

    def __init__(self, word: str, symbol: str, exit_status: int) -> None:
        self.word = word
        self.symbol = symbol
        self.exit_status = exit_status


@dataclass(frozen=True)
class ClauseSample:
    """Hold one value in the clause's unit. ``node`` is set if each node has a value of its own."""

    value: float
    repeat: int
    nodes: tuple[str, ...]
    node: str | None
    job_id: str
    attempt: str
    """Name of the attempt's folder."""
    load: str = ""
    """Use of these nodes by other processes during the measurement; empty if it is negligible."""
    energy: JobEnergy | None = None
    """Energy of the job, for a clause about energy."""


@dataclass(frozen=True)
class ClauseVerdict:
    """Hold the verdict on a clause.

    ``without_waiver``: the outcome without regard to a waiver. ``problems``: the reasons why it is incomplete.
    """

    clause: Clause
    outcome: ClauseOutcome
    without_waiver: ClauseOutcome
    samples: tuple[ClauseSample, ...]
    value: float | None
    interval: Interval | None
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    series: tuple[CaseSeries, ...]
    outages: OutageVerdict | None = None
    """For a clause about outages, once its period has begun."""
    retained: RetainedVerdict | None = None
    """For a retained clause with a usable accepted dossier."""
    index: IndexVerdict | None = None
    operations: tuple[OperationSample, ...] = ()
    """For a clause about operation: the repeats behind ``samples``, with further figures."""
    broken: tuple[str, ...] = ()
    """Reasons, besides the value, why a clause about operation is not met."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return reasons to doubt the value; they do not change the verdict."""
        disturbed = sum(bool(sample.load) for sample in self.samples)
        terms = self.clause.energy
        unsure = sum(_unsure(self.clause, sample) for sample in self.samples)
        return (
            *((terms.declared,) if terms and not terms.level else ()),
            *((f"the readings around {counted(unsure, 'job')} leave the threshold open",) if unsure else ()),
            *(("the interval crosses the threshold",) if _crosses(self.clause, self.interval) else ()),
            *((f"{disturbed} of {counted(len(self.samples), 'sample')} disturbed",) if disturbed else ()),
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({node for sample in self.samples for node in sample.nodes}))


@dataclass(frozen=True)
class ContractVerdict:
    """Hold the verdict on a contract and its clauses."""

    contract: Contract
    acceptance: Acceptance
    clauses: tuple[ClauseVerdict, ...]
    attempts: tuple[Attempt, ...]
    earlier_contracts: tuple[str, ...]
    """Names of the contract's versions before waivers were given, changed or withdrawn."""
    families: Families = field(default_factory=Families)
    weeks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Weeks of the outage log, each with the parties whose signature is there."""
    measured: Measured | None = None

    def count(self, outcome: ClauseOutcome) -> int:
        return sum(verdict.outcome is outcome for verdict in self.clauses)


def judge(campaign: Campaign) -> ContractVerdict:
    """Judge the results in ``campaign``.

    - NOT ACCEPTED: a mandatory clause is not met.
    - INCOMPLETE: otherwise, if a mandatory clause is incomplete or no clause is met.
    - ACCEPTED: otherwise.

    A waiver excuses a clause that is not met or incomplete.
    """
    contract, attempts, unresolved = campaign.contract, campaign.attempts(), campaign.unresolved()
    earlier = campaign.earlier_contracts()
    begun = next(iter(earlier.values()), contract)
    meters, chain = Meters(campaign.folder), load_measured(campaign.folder)
    with _without_collection():
        log = load_log(campaign.folder) if any(clause.outages for clause in contract.clauses) else OutageLog()
        remarks = {
            clause.id: _waiver_remark(clause, before)
            for clause, before in zip(contract.clauses, begun.clauses, strict=True)
        }
        of_series = [
            judge_clause(clause, attempts, unresolved.get(clause.id, ""), remarks[clause.id], meters, chain)
            for clause in contract.clauses
            if not clause.block
        ]
        judged = {verdict.clause.id: verdict for verdict in of_series}
        for clause in contract.clauses:
            if clause.outages:
                judged[clause.id] = judge_outage_clause(clause, contract, log, remarks[clause.id])
            elif clause.operation:
                judged[clause.id] = judge_operation_clause(clause, campaign, remarks[clause.id], chain)
            elif clause.retained:
                judged[clause.id] = judge_retained_clause(
                    clause, campaign, attempts, unresolved, remarks[clause.id], meters, chain
                )
            elif clause.index:
                judged[clause.id] = judge_index_clause(clause, of_series, remarks[clause.id])
        clauses = tuple(judged[clause.id] for clause in contract.clauses)
    binding = {verdict.outcome for verdict in clauses if verdict.clause.mandatory}
    if ClauseOutcome.NOT_MET in binding:
        acceptance = Acceptance.NOT_ACCEPTED
    elif ClauseOutcome.INCOMPLETE in binding or not any(verdict.outcome is ClauseOutcome.MET for verdict in clauses):
        acceptance = Acceptance.INCOMPLETE
    else:
        acceptance = Acceptance.ACCEPTED
    weeks = signers(campaign.folder, log, list(contract.parties))
    return ContractVerdict(
        contract, acceptance, clauses, tuple(attempts), tuple(earlier), campaign.families(), weeks, chain
    )


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """A million entries have no cycles, and looking for some again and again doubles the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def judge_clause(
    clause: Clause,
    attempts: Sequence[Attempt],
    unresolved: str,
    about_waiver: list[str],
    meters: Meters,
    chain: Measured,
) -> ClauseVerdict:
    """Compare one clause with the attempts at the series that it selects.

    :param chain: the chain of measurements; what differs from it leaves the clause incomplete.
    """
    matching = [
        (attempt, case)
        for attempt in attempts
        for case in attempt.cases
        if CaseSeries.of(case) == attempt.series and selects(clause.selector, case)
    ]
    series = tuple(sorted({attempt.series for attempt, _ in matching}))
    samples: list[ClauseSample] = []
    if len(series) == 1:
        samples, problems = _samples(clause, matching, meters)
    elif series:
        problems = [f"the selector matches {len(series)} series instead of one: {', '.join(map(str, series))}"]
    else:
        problems = [unresolved or "the selector matches no series of the run"]
    # Also of an attempt whose report was cut afterwards, so that it would count as interrupted.
    problems += chain.problems(attempt.folder for attempt in attempts if attempt.series in series)
    values = [sample.value for sample in samples]
    at_least = clause.comparison == "at_least"
    value = value_of(clause.statistic, values, at_least) if values else None
    interval = interval_of(clause.statistic, values) if values else None
    if problems or value is None:
        outcome = ClauseOutcome.INCOMPLETE
    else:
        outcome = ClauseOutcome.MET if clause.holds(value) else ClauseOutcome.NOT_MET
    return ClauseVerdict(
        clause=clause,
        outcome=_excused(clause, outcome),
        without_waiver=outcome,
        samples=tuple(samples),
        value=value,
        interval=interval,
        problems=tuple(problems),
        remarks=(
            *about_waiver,
            *_remarks(clause, attempts, matching, interval),
            *_disturbed(samples),
            *_without_chain(samples, chain),
        ),
        series=series,
    )


def _without_chain(samples: Sequence[object], chain: Measured) -> list[str]:
    return [WITHOUT_CHAIN] if samples and not chain.kept else []


_OUTCOMES = {True: ClauseOutcome.MET, False: ClauseOutcome.NOT_MET, None: ClauseOutcome.INCOMPLETE}


def judge_operation_clause(
    clause: Clause, campaign: Campaign, about_waiver: list[str], chain: Measured
) -> ClauseVerdict:
    """Judge a clause about operation by the answers that the campaign keeps."""
    judgement = judge_operation(clause, campaign.folder)
    altered = chain.problems(attempt.folder for attempt in operation_attempts(campaign.folder, clause.id))
    outcome = _OUTCOMES[None if altered else judgement.met]
    values = [sample.value for sample in judgement.samples]
    return ClauseVerdict(
        clause=clause,
        outcome=_excused(clause, outcome),
        without_waiver=outcome,
        samples=tuple(
            ClauseSample(one.value, one.repeat, one.nodes, None, one.jobs, one.attempt) for one in judgement.samples
        ),
        value=judgement.value,
        interval=interval_of(clause.statistic, values) if values else None,
        problems=(*judgement.problems, *altered),
        remarks=(*about_waiver, *judgement.remarks, *_without_chain(judgement.samples, chain)),
        series=(),
        operations=judgement.samples,
        broken=judgement.broken,
    )


def judge_outage_clause(
    clause: Clause, contract: Contract, log: OutageLog, about_waiver: list[str]
) -> ClauseVerdict:
    """Judge a clause about outages by the campaign's outage log."""
    judgement = judge_outages(clause, contract, log)
    outcome = _OUTCOMES[judgement.met]
    return ClauseVerdict(
        clause=clause,
        outcome=_excused(clause, outcome),
        without_waiver=outcome,
        samples=(),
        value=judgement.found.value if judgement.found else None,
        interval=_outage_interval(judgement.found) if judgement.found else None,
        problems=judgement.problems,
        remarks=(*about_waiver, *judgement.remarks),
        series=(),
        outages=judgement.found,
    )


def judge_retained_clause(
    clause: Clause,
    campaign: Campaign,
    attempts: Sequence[Attempt],
    unresolved: dict[str, str],
    about_waiver: list[str],
    meters: Meters,
    chain: Measured,
) -> ClauseVerdict:
    """Compare the rerun in the campaign with the campaign's copy of the accepted dossier."""
    dossier = copy_of(campaign.folder, clause)
    problems = damage_of(dossier)
    accepted = None if problems else judge(Campaign(dossier))
    if accepted:
        problems = unusable(accepted)
    if accepted and not problems:
        clauses = [rerun_clause(clause, before) for before in figures_of(accepted)]
        reruns = [judge_clause(one, attempts, unresolved.get(one.id, ""), [], meters, chain) for one in clauses]
        found = judge_retained(clause, campaign.contract, accepted, reruns, attempts)
    else:
        found = RetainedJudgement(None, None, tuple(problems))
    return _derived(clause, found.met, found.found, None, found.problems, (*about_waiver, *found.remarks))


def judge_index_clause(clause: Clause, of_series: Sequence[ClauseVerdict], about_waiver: list[str]) -> ClauseVerdict:
    found = judge_index(clause, of_series)
    met = None if found.value is None else clause.holds(found.value)
    return _derived(clause, met, None, found, found.problems, tuple(about_waiver))


def _derived(
    clause: Clause,
    met: bool | None,
    retained: RetainedVerdict | None,
    index: IndexVerdict | None,
    problems: tuple[str, ...],
    remarks: tuple[str, ...],
) -> ClauseVerdict:
    outcome = _OUTCOMES[met]
    found = retained or index
    return ClauseVerdict(
        clause=clause,
        outcome=_excused(clause, outcome),
        without_waiver=outcome,
        samples=(),
        value=found.value if found else None,
        interval=None,
        problems=problems,
        remarks=remarks,
        series=(),
        retained=retained,
        index=index,
    )


def _outage_interval(found: OutageVerdict) -> Interval:
    if found.test:
        high = found.mtbf.high if math.isfinite(found.mtbf.high) else None
        if high is None:
            return Interval(None, None, f"no interrupt: MTBF ≥ {figure(found.mtbf.low)} h with 90 % confidence")
        return Interval(found.mtbf.low, high, f"{100 * CONFIDENCE:g} % confidence, chi-square, test ended by time")
    if found.interval is None:
        return Interval(None, None, "without downtime there is no interval")
    return Interval(*found.interval, f"{100 * CONFIDENCE:g} % confidence, F with 2n and 2n degrees of freedom")


def _excused(clause: Clause, outcome: ClauseOutcome) -> ClauseOutcome:
    return ClauseOutcome.WAIVED if clause.waiver is not None and outcome is not ClauseOutcome.MET else outcome


def _waiver_remark(clause: Clause, begun: Clause) -> list[str]:
    """Return a remark on the change of the waiver since the run began."""
    if clause.waiver == begun.waiver:
        return []
    done = "withdrawn" if clause.waiver is None else "changed" if begun.waiver else "given"
    had = f"; before: {begun.waiver.reason} ({begun.waiver.name}, {begun.waiver.date})" if begun.waiver else ""
    return [f"the waiver was {done} after the run began{had}"]


def _samples(
    clause: Clause, matching: list[tuple[Attempt, Case]], meters: Meters
) -> tuple[list[ClauseSample], list[str]]:
    """Return the samples of the required repeats, from the last finished attempt at each, and the problems."""
    latest = {attempt.repeat: (attempt, case) for attempt, case in matching}
    samples, problems, sessions = [], [], set[str]()
    for repeat in range(1, clause.repeats + 1):
        if repeat not in latest:
            problems.append(f"repeat {repeat} is not finished")
            continue
        attempt, case = latest[repeat]
        uuid = attempt.session.uuid if attempt.session else ""
        if uuid in sessions:
            problems.append(f"repeat {repeat} has the same session as another repeat")
            continue
        sessions.add(uuid)
        figures, problem = _figures(clause, case)
        energy = None
        if clause.energy and figures:
            energy, problem = _energy(clause, case, meters)
            figures = [(None, energy.joules / figures[0][1])] if energy else []
        if problem:
            problems.append(f"repeat {repeat}: {problem}")
        samples += [
            ClauseSample(value, repeat, (node,) if node else case.nodes, node, case.job_id or "", attempt.folder.name,
                   _load(case, node), energy)
            for node, value in figures
        ]  # fmt: skip
    return samples, problems


def _energy(clause: Clause, case: Case, meters: Meters) -> tuple[JobEnergy | None, str]:
    """Return the energy of the case's job, or the reason why it is not known."""
    assert clause.energy
    try:
        return job_energy(case, clause.energy, meters), ""
    except EnergyUnknownError as err:
        return None, str(err)


def _unsure(clause: Clause, sample: ClauseSample) -> bool:
    """Return whether the least and the most energy of a sample are on two sides of the threshold."""
    if sample.energy is None:
        return False
    bounds = (sample.energy.low_j, sample.energy.high_j)
    return len({clause.holds(sample.value * bound / sample.energy.joules) for bound in bounds}) > 1


def _load(case: Case, node: str | None) -> str:
    """Return the load of ``node``, or else the load of all nodes or of the machine that they share."""
    mine = {place: load for place, load in case.load_by_others.items() if place == node} or case.load_by_others
    return used_by_others(structs.replace(case, load_by_others=mine)) or case.robbed


def _figures(clause: Clause, case: Case) -> tuple[list[tuple[str | None, float]], str]:
    """Return the values of one repeat as (node, value), or the reason why it does not count."""
    if not executed(case):
        return [], "no job ran"
    # A value outside the site's references still counts, because the contract's threshold decides.
    if case.result not in ("pass", "xpass") and case.fail_phase != "performance":
        phase = case.fail_phase or "unknown"
        return [], f"the check failed in phase {phase}: {one_line(case.fail_reason, 200)}"
    if clause.statistic.kind == "every_node":
        return _figures_of_nodes(clause, case)
    if clause.energy and clause.selector.metric == RUN:
        return [(None, 1.0)], ""
    metric = next((metric for metric in case.metrics if metric.name == clause.selector.metric), None)
    problem = _metric_problem(clause, metric)
    return ([], problem) if problem or metric is None or metric.value is None else ([(None, metric.value)], "")


def _metric_problem(clause: Clause, metric: Metric | None) -> str:
    if metric is None:
        return f"the check did not measure {clause.selector.metric}"
    if metric.value is None or not math.isfinite(metric.value):
        return f"{metric.name} is {metric.raw}, not a finite number"
    if clause.energy and metric.value <= 0:
        return f"{metric.name} is {metric.raw}: expected a number of results above 0"
    return _unit_problem(clause, metric.unit)


def _unit_problem(clause: Clause, unit: str) -> str:
    if clause.energy:
        unit = f"{PER}{unit}"
    return "" if unit == clause.unit else f"the unit is {unit or 'no unit'!r}, but the threshold is in {clause.unit!r}"


def _figures_of_nodes(clause: Clause, case: Case) -> tuple[list[tuple[str | None, float]], str]:
    measured = case.per_node.get(clause.selector.metric)
    if measured is None:
        return [], f"the check has no {clause.selector.metric} per node"
    problem = _unit_problem(clause, measured.unit)
    if not problem and len(measured.values) != clause.statistic.nodes:
        problem = f"{counted(len(measured.values), 'node')} measured instead of {clause.statistic.nodes}"
    if not problem and not all(map(math.isfinite, measured.values.values())):
        problem = "the value of a node is not finite"
    return ([], problem) if problem else (sorted(measured.values.items()), "")


def _crosses(clause: Clause, interval: Interval | None) -> bool:
    ends = [end for end in (interval.low, interval.high) if end is not None] if interval else []
    return len({clause.holds(end) for end in ends}) > 1


def _disturbed(samples: Sequence[ClauseSample]) -> list[str]:
    count = sum(bool(sample.load) for sample in samples)
    return [f"other processes used the nodes during {count} of {counted(len(samples), 'sample')}"] if count else []


def _remarks(
    clause: Clause, attempts: Sequence[Attempt], matching: list[tuple[Attempt, Case]], interval: Interval | None
) -> list[str]:
    """Return remarks for the parties that sign; they do not change the verdict."""
    found = []
    series = {attempt.series for attempt, _ in matching}
    mine = [attempt for attempt in attempts if attempt.series in series and attempt.repeat <= clause.repeats]
    aside = set_aside(mine)
    if interrupted := sum(one.kind == "interrupted" for one in aside):
        found.append(f"{counted(interrupted, 'interrupted attempt')} repeated")
    if superseded := sum(one.kind == "superseded" for one in aside):
        found.append(f"{counted(superseded, 'finished attempt')} superseded by a later one")
    found += [one.place for one in aside if one.doubtful]
    if _crosses(clause, interval):
        found.append("the confidence interval crosses the threshold")
    for key, what in (("sha256", "program"), ("suite_revision", "revision of the suite")):
        if len({getattr(case.provenance, key) for _, case in matching}) > 1:
            found.append(f"not all repeats ran the same {what}")
    if not all(case.provenance for _, case in matching):
        found.append("a repeat has no provenance")
    if any(clause.selector.metric in case.relative for _, case in matching):
        found.append("relative: the metric compares nodes with the median of their equals and proves no absolute speed")
    return found
