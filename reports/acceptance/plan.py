"""Plan the runs that a contract needs: series, repeats, nodes and approximate time."""

import pathlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.folder import Families
from reports.acceptance.kinds.clause import Clause, ClausePlan, Contract, MeasuredSeries, Planning

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
    """Hold the plan of an acceptance run. ``unresolved``: id of a clause without a series -> reason.

    ``clauses``: (clause, its plan) of those that say more than their series.
    """

    items: tuple[PlannedSeries, ...]
    unresolved: dict[str, str]
    families: Families = Families()
    clauses: tuple[tuple[Clause, ClausePlan], ...] = ()


def plan(
    planning: Planning,
    wanted: Sequence[MeasuredSeries],
    offered: Sequence[Offer],
    times: dict[CaseSeries, list[float]],
) -> AcceptancePlan:
    """Find each series of the contract among the cases that the site offers, in the contract's order.

    :param wanted: see ``wanted_series``.
    :param times: series -> run times in seconds.
    """
    clauses: dict[CaseSeries, list[MeasuredSeries]] = {}
    unresolved: dict[str, str] = {}
    offers = {offer.series: offer for offer in offered}
    for clause in wanted:
        matching = [offer for offer in offered if clause.selects(offer.case)]
        problem = _problem(clause, matching)
        if problem:
            unresolved[clause.id] = problem
        else:
            clauses.setdefault(matching[0].series, []).append(clause)
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
        clauses=tuple((clause, plan) for clause in planning.contract.clauses if (plan := clause.plan(planning))),
    )


def wanted_series(planning: Planning) -> list[MeasuredSeries]:
    """Return every series that the clauses of the contract need.

    :raises InputError: an input of a clause is not usable.
    """
    return [series for clause in planning.contract.clauses for series in clause.series(planning)]


def _families(asked: Iterable[Case], offered: Iterable[Offer]) -> Families:
    census = next((offer.case.census for offer in offered if offer.case.census), None)
    could = {check.family for check in census.checks if check.offered} if census else set()
    return Families(tuple(sorted({case.family for case in asked})), tuple(sorted(could)))


def _problem(clause: MeasuredSeries, matching: list[Offer]) -> str:
    if not matching:
        return f"the selector matches no case of the site ({clause})"
    if len(matching) > 1:
        names = ", ".join(str(offer.series) for offer in matching)
        return f"the selector matches {len(matching)} series instead of one: {names}"
    return clause.misfit(matching[0].case)


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
    """Return the plan as a document for JSON, with times in seconds.

    The plans of clauses are in lists by their kind.
    """
    document: dict[str, Any] = {
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
    }
    for clause, clause_plan in planned.clauses:
        kind = str(clause.__struct_config__.tag)
        document.setdefault(kind, []).append({"clause": clause.id, **clause_plan.document})
    return document
