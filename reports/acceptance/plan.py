"""Plan the runs that a contract needs: series, repeats, nodes and approximate time."""

from __future__ import annotations

import pathlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.sites.contract import Clause, Contract
from kappa.core.sites.energy_clause import RUN
from reports.acceptance.campaign import CaseSeries, Families, selects
from reports.acceptance.mix_figures import MixPlan, mix_plan
from reports.acceptance.outage_page import planned_tests

if TYPE_CHECKING:
    from reports.acceptance.accepted import PlannedRerun

# The most stored reports to read for run times.
REPORTS_READ = 20


@dataclass(frozen=True)
class Offer:
    """Describe a case that the site offers; ``nodes`` is ``None`` if the scheduler decides.

    ``checks`` is the path that ReFrame loads to run it.
    """

    series: CaseSeries
    case: Case
    nodes: int | None
    expected_s: float | None
    """The check's own estimate."""
    time_limit_s: float | None
    checks: pathlib.Path


@dataclass(frozen=True)
class Estimate:
    """Hold the time of one repeat and its origin; ``at_most``: the time may be much less."""

    seconds: float
    origin: str
    runs: int = 0
    """The number of stored runs behind the median."""
    at_most: bool = False


@dataclass(frozen=True)
class PlannedSeries:
    """Describe a planned series with the ids of its clauses; ``repeats`` is the largest number that a clause needs.

    ``checks`` is the path that ReFrame loads to run it.
    """

    series: CaseSeries
    clauses: tuple[str, ...]
    repeats: int
    nodes: int | None
    estimate: Estimate | None
    checks: pathlib.Path


@dataclass(frozen=True)
class AcceptancePlan:
    """Hold the plan of an acceptance run. ``unresolved``: id of a clause without a series -> reason."""

    items: tuple[PlannedSeries, ...]
    unresolved: dict[str, str]
    families: Families = field(default_factory=Families)
    reruns: tuple[PlannedRerun, ...] = ()
    """Plans of the contract's retained clauses."""


def plan(contract: Contract, offered: Sequence[Offer], times: dict[CaseSeries, list[float]]) -> AcceptancePlan:
    """Find the series of each clause among the cases that the site offers, in the contract's order.

    :param times: series -> run times in seconds.
    """
    clauses: dict[CaseSeries, list[Clause]] = {}
    unresolved: dict[str, str] = {}
    offers = {offer.series: offer for offer in offered}
    for clause in contract.clauses:
        if clause.block:
            continue
        found = [offer for offer in offered if selects(clause.selector, offer.case)]
        problem = _problem(clause, found)
        if problem:
            unresolved[clause.id] = problem
        else:
            clauses.setdefault(found[0].series, []).append(clause)
    return AcceptancePlan(
        items=tuple(
            PlannedSeries(
                series=series,
                clauses=tuple(clause.id for clause in members),
                repeats=max(clause.repeats for clause in members),
                nodes=offers[series].nodes,
                estimate=_estimate(times.get(series, []), offers[series]),
                checks=offers[series].checks,
            )
            for series, members in clauses.items()
        ),
        unresolved=unresolved,
        families=_families([offers[series].case for series in clauses], offered),
    )


def _families(asked: Iterable[Case], offered: Iterable[Offer]) -> Families:
    census = next((offer.case.census for offer in offered if offer.case.census), None)
    could = {check.family for check in census.checks if check.offered} if census else set()
    return Families(tuple(sorted({case.family for case in asked})), tuple(sorted(could)))


def _problem(clause: Clause, found: list[Offer]) -> str:
    if not found:
        return f"the selector matches no case of the site ({clause.selector})"
    if len(found) > 1:
        names = ", ".join(str(offer.series) for offer in found)
        return f"the selector matches {len(found)} series instead of one: {names}"
    declared = found[0].case.declared_metrics
    # Checks do not declare values per node.
    whole_run = clause.energy and clause.selector.metric == RUN
    if not whole_run and clause.statistic.kind != "every_node" and clause.selector.metric not in declared:
        return f"the check has no metric {clause.selector.metric}; its metrics are {', '.join(declared)}"
    return ""


def _estimate(times: list[float], offer: Offer) -> Estimate | None:
    if times:
        return Estimate(statistics.median(times), f"median of {counted(len(times), 'stored run')}", len(times))
    if offer.expected_s:
        return Estimate(offer.expected_s, "the check's own estimate")
    return Estimate(offer.time_limit_s, "time limit", at_most=True) if offer.time_limit_s else None


def stored_times(reports: Iterable[pathlib.Path]) -> dict[CaseSeries, list[float]]:
    """Return the run times in seconds of the passed cases in the newest ``reports``."""
    times: dict[CaseSeries, list[float]] = {}
    newest = sorted(reports, key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[:REPORTS_READ]:
        try:
            session = load_session(path)
        except InputError:
            continue  # the report is still being written, or was cut off
        for case in (case for run in session.runs for case in run):
            if case.result == "pass" and case.job_id is not None and case.took_s is not None:
                times.setdefault(CaseSeries.of(case), []).append(case.took_s)
    return times


def to_document(contract: Contract, planned: AcceptancePlan) -> dict[str, Any]:
    """Return the plan as a document for JSON.

    Times are in seconds, lengths of reliability tests in hours or node-hours.
    """
    return {
        "contract": contract.title,
        "system": contract.system,
        "series": [
            {
                "name": item.series.name,
                "partition": item.series.partition,
                "environment": item.series.environment,
                "clauses": list(item.clauses),
                "repeats": item.repeats,
                "nodes": item.nodes,
                "seconds_each": item.estimate.seconds if item.estimate else None,
                "stored_runs": item.estimate.runs if item.estimate else 0,
            }
            for item in planned.items
        ],
        "unresolved": planned.unresolved,
        "reliability": [
            {
                "clause": one.clause.id,
                "unit": one.clause.unit,
                "length": one.test.length,
                "hours": one.hours,
                "allowed": one.test.allowed,
                "buyer_risk": one.test.buyer_risk,
                "vendor_risk": one.test.vendor_risk,
            }
            for one in planned_tests(contract)
        ],
        "retained": [one.document for one in planned.reruns],
        "mixes": [
            {"clause": clause.id, "repeats": clause.repeats, **_mix(mix_plan(clause.mix))}
            for clause in contract.clauses
            if clause.mix
        ],
    }


def _mix(found: MixPlan) -> dict[str, Any]:
    return {
        "jobs": found.jobs, "node_seconds": found.node_seconds, "least_s": found.least_s, "packed_s": found.packed_s,
        "highest_efficiency": found.highest,
    }  # fmt: skip
