"""Plan the runs that a contract needs: series, repeats, nodes and time."""

import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kappa.core.record.model import Case
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.folder import Families
from reports.acceptance.kinds.clause import Clause, ClausePlan, Contract, MeasuredSeries, Planning
from reports.plan.plan import PlannedCase


@dataclass(frozen=True)
class Offer:
    """Describe a case that the site offers. ``checks`` is the path that ReFrame loads to run it."""

    planned: PlannedCase
    case: Case
    checks: pathlib.Path

    @property
    def series(self) -> CaseSeries:
        return self.planned.case.series


@dataclass(frozen=True)
class PlannedSeries:
    """Describe a planned series with the ids of its clauses; ``repeats`` is the largest number that a clause needs."""

    offer: Offer
    clauses: tuple[str, ...]
    repeats: int

    @property
    def series(self) -> CaseSeries:
        return self.offer.series

    @property
    def seconds(self) -> float:
        """Return the time of one repeat."""
        return self.offer.planned.seconds


@dataclass(frozen=True)
class AcceptancePlan:
    """Hold the plan of an acceptance run. ``unresolved``: id of a clause without a series -> reason.

    ``clauses``: (clause, its plan) of those that say more than their series.
    """

    items: tuple[PlannedSeries, ...]
    unresolved: dict[str, str]
    families: Families = field(default_factory=Families)
    clauses: tuple[tuple[Clause, ClausePlan], ...] = ()


def plan(planning: Planning, wanted: Sequence[MeasuredSeries], offered: Sequence[Offer]) -> AcceptancePlan:
    """Find each series of the contract among the cases that the site offers, in the contract's order.

    :param wanted: see ``wanted_series``.
    """
    members: dict[CaseSeries, tuple[Offer, list[MeasuredSeries]]] = {}
    unresolved: dict[str, str] = {}
    for series in wanted:
        matching = [offer for offer in offered if series.selects(offer.case)]
        problem = _problem(series, matching)
        if problem:
            unresolved[series.id] = problem
        else:
            members.setdefault(matching[0].series, (matching[0], []))[1].append(series)
    items = tuple(
        PlannedSeries(offer, tuple(one.id for one in clauses), max(one.repeats for one in clauses))
        for offer, clauses in members.values()
    )
    return AcceptancePlan(
        items,
        unresolved,
        _families(items, offered),
        tuple((clause, plan) for clause in planning.contract.clauses if (plan := clause.plan(planning))),
    )


def wanted_series(planning: Planning) -> list[MeasuredSeries]:
    """Return every series that the clauses of the contract need.

    :raises InputError: an input of a clause is not usable.
    """
    return [series for clause in planning.contract.clauses for series in clause.series(planning)]


def _families(items: Iterable[PlannedSeries], offered: Iterable[Offer]) -> Families:
    census = next((offer.case.census for offer in offered if offer.case.census), None)
    possible = {check.family for check in census.checks if check.offered} if census else set()
    return Families(tuple(sorted({item.offer.case.family for item in items})), tuple(sorted(possible)))


def _problem(series: MeasuredSeries, matching: list[Offer]) -> str:
    if not matching:
        return f"the selector matches no case of the site ({series.evidence})"
    if len(matching) > 1:
        names = ", ".join(str(offer.series) for offer in matching)
        return f"the selector matches {len(matching)} series instead of one: {names}"
    return series.misfit(matching[0].case)


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
                "nodes": item.offer.planned.case.nodes,
                "seconds_each": item.seconds,
                "stored_runs": item.offer.planned.runs,
            }
            for item in planned.items
        ],
        "unresolved": planned.unresolved,
    }
    for clause, clause_plan in planned.clauses:
        kind = str(clause.__struct_config__.tag)
        document.setdefault(kind, []).append({"clause": clause.id, **clause_plan.document})
    return document
