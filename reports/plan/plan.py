"""The plan of a run: for each case nodes, seconds, node-hours and bytes, and their sums."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.acceptance.series import Series
from reports.plan.past import Took


@dataclass(frozen=True)
class Offered:
    """A case that the site offers, with what its check says of it. ``nodes`` is 0 for one that takes no job;
    ``partition_nodes`` are those that the partition has."""

    series: Series
    check: str
    family: str
    nodes: int
    stated_s: float
    stated_bytes: int
    of_one_node: bool = False
    """Whether single nodes in their turn run it, too."""
    partition_nodes: int = 0


@dataclass(frozen=True)
class PlannedCase:
    """``runs``: stored runs of which seconds and bytes are the medians; 0 where they are what the check says."""

    case: Offered
    seconds: float
    written_bytes: int
    runs: int

    @property
    def node_hours(self) -> float:
        return self.seconds * self.case.nodes / 3600

    @property
    def origin(self) -> str:
        return f"median of {self.runs}" if self.runs else "the check"


@dataclass(frozen=True)
class Plan:
    cases: tuple[PlannedCase, ...]

    @property
    def node_hours(self) -> float:
        return sum(planned.node_hours for planned in self.cases)

    @property
    def seconds(self) -> float:
        """Of all jobs, one after the other."""
        return sum(planned.seconds for planned in self.cases if planned.case.nodes)

    @property
    def written_bytes(self) -> int:
        return sum(planned.written_bytes for planned in self.cases)

    @property
    def most_bytes(self) -> int:
        """What the checks write at most."""
        return sum(planned.case.stated_bytes for planned in self.cases)

    @property
    def by_check(self) -> dict[str, "Plan"]:
        """Most node-hours first, equal ones by name."""
        groups: dict[str, list[PlannedCase]] = {}
        for planned in self.cases:
            groups.setdefault(planned.case.check, []).append(planned)
        plans = {check: Plan(tuple(cases)) for check, cases in groups.items()}
        return dict(sorted(plans.items(), key=lambda one: (-one[1].node_hours, one[0])))


def plan(offered: Sequence[Offered], past: Mapping[Series, Sequence[Took]]) -> Plan:
    """A case takes and writes the median of what it did on as many nodes before, else what its check says."""
    return Plan(tuple(_planned(case, past.get(case.series, ())) for case in offered))


def _planned(case: Offered, past: Sequence[Took]) -> PlannedCase:
    same = [of_run for of_run in past if of_run.nodes == case.nodes]
    if not same:
        return PlannedCase(case, case.stated_s, case.stated_bytes, 0)
    seconds = statistics.median(of_run.seconds for of_run in same)
    written = round(statistics.median(of_run.written_bytes for of_run in same))
    return PlannedCase(case, seconds, written, len(same))


def to_document(planned: Plan) -> dict[str, Any]:
    """The plan for machines: seconds, node-hours, bytes."""
    return {
        "cases": [
            {
                "name": one.case.series.name,
                "check": one.case.check,
                "family": one.case.family,
                "partition": one.case.series.partition,
                "environment": one.case.series.environment,
                "nodes": one.case.nodes,
                "seconds": one.seconds,
                "node_hours": one.node_hours,
                "written_bytes": one.written_bytes,
                "most_bytes": one.case.stated_bytes,
                "stored_runs": one.runs,
            }
            for one in planned.cases
        ],
        "seconds": planned.seconds,
        "node_hours": planned.node_hours,
        "written_bytes": planned.written_bytes,
        "most_bytes": planned.most_bytes,
    }
