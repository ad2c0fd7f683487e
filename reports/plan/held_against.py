"""A plan held against a run: what each case was planned to take, and what its job took."""

from dataclasses import dataclass
from typing import Any

from kappa.core.record.model import Session
from reports.acceptance.series import Series
from reports.plan.past import Took, took
from reports.plan.plan import Plan, PlannedCase

# What a plan may be off by.
TOLERANCE = 0.2


@dataclass(frozen=True)
class HeldAgainst:
    """``pairs``: what was planned and then ran, of which the accounting tells; the others by name."""

    pairs: tuple[tuple[PlannedCase, Took], ...]
    not_run: tuple[Series, ...]
    not_planned: tuple[Series, ...]

    @property
    def planned_node_hours(self) -> float:
        return sum(planned.node_hours for planned, _ in self.pairs)

    @property
    def took_node_hours(self) -> float:
        return sum(of_run.node_hours for _, of_run in self.pairs)

    @property
    def planned_bytes(self) -> int:
        return sum(planned.written_bytes for planned, _ in self.pairs)

    @property
    def took_bytes(self) -> int:
        return sum(of_run.written_bytes for _, of_run in self.pairs)

    @property
    def holds(self) -> bool:
        """Whether node-hours and bytes are those planned, within ``TOLERANCE`` of what was taken and written."""
        sums = ((self.planned_node_hours, self.took_node_hours), (self.planned_bytes, self.took_bytes))
        return bool(self.pairs) and all(abs(said - found) <= TOLERANCE * found for said, found in sums)


def hold(planned: Plan, session: Session) -> HeldAgainst:
    """Hold ``planned`` against the first attempt of each case in ``session``."""
    ran = {Series.of(case): found for run in session.runs[:1] for case in run if (found := took(case))}
    of_plan = {one.case.series: one for one in planned.cases if one.case.nodes}
    return HeldAgainst(
        pairs=tuple((one, ran[series]) for series, one in of_plan.items() if series in ran),
        not_run=tuple(sorted(of_plan.keys() - ran.keys())),
        not_planned=tuple(sorted(ran.keys() - of_plan.keys())),
    )


def to_document(held: HeldAgainst) -> dict[str, Any]:
    """For machines: node-hours, bytes."""
    return {
        "cases": len(held.pairs),
        "planned_node_hours": held.planned_node_hours,
        "took_node_hours": held.took_node_hours,
        "planned_bytes": held.planned_bytes,
        "took_bytes": held.took_bytes,
        "within_tolerance": held.holds,
        "not_run": [str(series) for series in held.not_run],
        "not_planned": [str(series) for series in held.not_planned],
    }
