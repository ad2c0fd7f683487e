"""The plan of a run: nodes, seconds, node-hours and bytes of each case, from stored runs or from what its check says.

Below: what single nodes in their turn add to a night, and a plan compared with what its run then took.
"""

import pathlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from reports.acceptance.campaign import CaseSeries

REPORT = "run-report.json"
# The newest runs that are read.
REPORTS_READ = 40
# A plan may be off by this share.
TOLERANCE = 0.2


@dataclass(frozen=True)
class Took:
    """A job: ``seconds`` for which it held ``nodes``, and the bytes that it wrote to the storage it measured."""

    seconds: float
    nodes: int
    written_bytes: int

    @property
    def node_hours(self) -> float:
        return self.seconds * self.nodes / 3600


def took(case: Case) -> Took | None:
    """By Slurm's accounting; ``None`` where that did not tell, or nothing ran."""
    if case.job_s is None or not case.job_nodes:
        return None
    return Took(case.job_s, case.job_nodes, case.written_bytes)


def stored_reports(results: pathlib.Path) -> list[pathlib.Path]:
    """The reports of a site's runs and nights, newest first; their folders are named after the time."""
    found = [*results.glob(f"runs/*/{REPORT}"), *results.glob(f"nights/*/{REPORT}")]
    return sorted(found, key=lambda path: path.parent.name, reverse=True)


def stored_sessions(results: pathlib.Path, before: str = "") -> list[Session]:
    """The newest sessions of a site, newest first.

    :param before: ReFrame's start time of a session: only older ones.
    """
    sessions: list[Session] = []
    for path in stored_reports(results):
        if len(sessions) == REPORTS_READ:
            break
        try:
            session = load_session(path)
        except InputError:
            continue  # one that is being written, or was cut off
        if not before or session.time_start < before:
            sessions.append(session)
    return sessions


def past_of(sessions: Iterable[Session]) -> dict[CaseSeries, Sequence[Took]]:
    """By series what each job took that passed, newest first as the sessions are."""
    found: dict[CaseSeries, list[Took]] = {}
    for case in (case for session in sessions for run in session.runs for case in run if case.result == "pass"):
        # Measured twice in the job, it took twice as long as it usually does.
        if case.first is None and (of_case := took(case)):
            found.setdefault(CaseSeries.of(case), []).append(of_case)
    return dict(found)


@dataclass(frozen=True)
class Offered:
    """A case that the site offers, with what its check says of it. ``nodes`` is 0 for one that takes no job;
    ``partition_nodes`` are those that the partition has."""

    series: CaseSeries
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
class RunPlan:
    cases: tuple[PlannedCase, ...]

    @property
    def node_hours(self) -> float:
        return sum(planned.node_hours for planned in self.cases)

    @property
    def seconds(self) -> float:
        """The sum over all jobs, one after the other."""
        return sum(planned.seconds for planned in self.cases if planned.case.nodes)

    @property
    def written_bytes(self) -> int:
        return sum(planned.written_bytes for planned in self.cases)

    @property
    def most_bytes(self) -> int:
        """The bytes that the checks write at most."""
        return sum(planned.case.stated_bytes for planned in self.cases)

    @property
    def sums(self) -> dict[str, float]:
        """For machines."""
        return {key: getattr(self, key) for key in ("seconds", "node_hours", "written_bytes", "most_bytes")}

    @property
    def by_check(self) -> dict[str, "RunPlan"]:
        """Most node-hours first, equal ones by name."""
        groups: dict[str, list[PlannedCase]] = {}
        for planned in self.cases:
            groups.setdefault(planned.case.check, []).append(planned)
        plans = {check: RunPlan(tuple(cases)) for check, cases in groups.items()}
        return dict(sorted(plans.items(), key=lambda one: (-one[1].node_hours, one[0])))


def plan(offered: Sequence[Offered], past: Mapping[CaseSeries, Sequence[Took]]) -> RunPlan:
    """A case takes and writes the median of what it did on as many nodes before, else what its check says."""
    return RunPlan(tuple(_planned(case, past.get(case.series, ())) for case in offered))


def _planned(case: Offered, past: Sequence[Took]) -> PlannedCase:
    same = [of_run for of_run in past if of_run.nodes == case.nodes]
    if not same:
        return PlannedCase(case, case.stated_s, case.stated_bytes, 0)
    seconds = statistics.median(of_run.seconds for of_run in same)
    written = round(statistics.median(of_run.written_bytes for of_run in same))
    return PlannedCase(case, seconds, written, len(same))


def plan_document(planned: RunPlan) -> dict[str, Any]:
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
        **planned.sums,
    }


@dataclass(frozen=True)
class PlannedTurns:
    """``nodes``: how many of each partition; ``plan`` holds each case as often as it runs."""

    nodes: Mapping[str, int]
    repeats: int
    plan: RunPlan


def partitions_of(planned: RunPlan) -> dict[str, int]:
    """Partitions on which a case of one node runs -> their number of nodes."""
    return {one.case.series.partition: one.case.partition_nodes for one in planned.cases if one.case.of_one_node}


def turns_of(planned: RunPlan, nodes: Mapping[str, int], repeats: int) -> PlannedTurns:
    """The turns of a night whose mode is ``planned``: a node takes for a case what any node of its partition does."""
    times = {partition: repeats * count for partition, count in nodes.items()}
    cases = [
        one
        for one in planned.cases
        if one.case.of_one_node
        for _ in range(times.get(one.case.series.partition, 0))
    ]
    return PlannedTurns(nodes, repeats, RunPlan(tuple(cases)))


def turns_document(turns: PlannedTurns) -> dict[str, Any]:
    """For machines: seconds, node-hours, bytes."""
    return {
        "nodes": dict(turns.nodes),
        "repeats": turns.repeats,
        "cases": len(turns.plan.cases),
        **turns.plan.sums,
    }


@dataclass(frozen=True)
class PlanCheck:
    """``pairs``: what was planned and then ran, of which the accounting tells; the others by name."""

    pairs: tuple[tuple[PlannedCase, Took], ...]
    not_run: tuple[CaseSeries, ...]
    not_planned: tuple[CaseSeries, ...]

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


def hold(planned: RunPlan, session: Session) -> PlanCheck:
    """Hold ``planned`` against the first attempt of each case in ``session``."""
    ran = {CaseSeries.of(case): found for run in session.runs[:1] for case in run if (found := took(case))}
    of_plan = {one.case.series: one for one in planned.cases if one.case.nodes}
    return PlanCheck(
        pairs=tuple((one, ran[series]) for series, one in of_plan.items() if series in ran),
        not_run=tuple(sorted(of_plan.keys() - ran.keys())),
        not_planned=tuple(sorted(ran.keys() - of_plan.keys())),
    )


def check_document(held: PlanCheck) -> dict[str, Any]:
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
