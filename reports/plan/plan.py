"""Plan a run: nodes, seconds, node-hours and bytes of each case, from stored runs or from its check's own figures.

This module also plans the rotation of a night, and compares a plan with its run.
"""

import pathlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from kappa.core.record.series import CaseSeries

REPORT = "run-report.json"
# The most runs to read, newest first.
REPORTS_READ = 40
# The allowed deviation of a plan, as a share.
TOLERANCE = 0.2


@dataclass(frozen=True)
class Took:
    """Hold the cost of a job: the ``seconds`` for which it held ``nodes``, and the bytes that it wrote to storage."""

    seconds: float
    nodes: int
    written_bytes: int

    @property
    def node_hours(self) -> float:
        return self.seconds * self.nodes / 3600


def took(case: Case) -> Took | None:
    """Return the cost of a case from Slurm's accounting; ``None`` without accounting or a job."""
    if case.job_s is None or not case.job_nodes:
        return None
    return Took(case.job_s, case.job_nodes, case.written_bytes)


def stored_reports(results: pathlib.Path) -> list[pathlib.Path]:
    """Return the reports of a site's runs and nights, newest first; their folders are named by the time."""
    found = [*results.glob(f"runs/*/{REPORT}"), *results.glob(f"nights/*/{REPORT}")]
    return sorted(found, key=lambda path: path.parent.name, reverse=True)


def stored_sessions(results: pathlib.Path, before: str = "") -> list[Session]:
    """Return the newest sessions of a site, newest first.

    :param before: the start time of a session as ReFrame writes it; only older sessions count.
    """
    return read_sessions(stored_reports(results), before)


def read_sessions(reports: Iterable[pathlib.Path], before: str = "") -> list[Session]:
    """Return the first sessions of ``reports``; leave out those that are still being written, or were cut off."""
    sessions: list[Session] = []
    for path in reports:
        if len(sessions) == REPORTS_READ:
            break
        try:
            session = load_session(path)
        except InputError:
            continue
        if not before or session.time_start < before:
            sessions.append(session)
    return sessions


def past_of(sessions: Iterable[Session]) -> dict[CaseSeries, Sequence[Took]]:
    """Return series -> cost of each passed job, in the order of the sessions (newest first)."""
    found: dict[CaseSeries, list[Took]] = {}
    for case in (case for session in sessions for run in session.runs for case in run if case.result == "pass"):
        # A job that re-measured took twice as long as usual.
        if case.first is None and (of_case := took(case)):
            found.setdefault(CaseSeries.of(case), []).append(of_case)
    return dict(found)


@dataclass(frozen=True)
class Offered:
    """Describe a case that the site offers, with the check's own figures.

    ``nodes``: 0 for a case without a job. ``stated_s``, ``stated_bytes``: time and bytes by the check.
    ``partition_nodes``: number of nodes of the partition.
    """

    series: CaseSeries
    check: str
    family: str
    nodes: int
    stated_s: float
    stated_bytes: int
    of_one_node: bool = False
    """Whether the rotation over single nodes runs it, too."""
    partition_nodes: int = 0


@dataclass(frozen=True)
class PlannedCase:
    """Hold the planned cost of a case.

    ``runs``: number of stored runs behind the medians; 0 if seconds and bytes are the check's own figures.
    """

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
    """Hold the plan of a run."""

    cases: tuple[PlannedCase, ...]

    @property
    def node_hours(self) -> float:
        return sum(planned.node_hours for planned in self.cases)

    @property
    def seconds(self) -> float:
        """Return the time of all jobs, one after the other."""
        return sum(planned.seconds for planned in self.cases if planned.case.nodes)

    @property
    def written_bytes(self) -> int:
        return sum(planned.written_bytes for planned in self.cases)

    @property
    def most_bytes(self) -> int:
        """Return the bytes that the checks write at most."""
        return sum(planned.case.stated_bytes for planned in self.cases)

    @property
    def sums(self) -> dict[str, float]:
        """Return the sums for JSON."""
        return {key: getattr(self, key) for key in ("seconds", "node_hours", "written_bytes", "most_bytes")}

    @property
    def by_check(self) -> dict[str, "RunPlan"]:
        """Return check -> plan, most node-hours first, equal ones by name."""
        groups: dict[str, list[PlannedCase]] = {}
        for planned in self.cases:
            groups.setdefault(planned.case.check, []).append(planned)
        plans = {check: RunPlan(tuple(cases)) for check, cases in groups.items()}
        return dict(sorted(plans.items(), key=lambda one: (-one[1].node_hours, one[0])))


def plan(offered: Sequence[Offered], past: Mapping[CaseSeries, Sequence[Took]]) -> RunPlan:
    """Plan each case with the medians of earlier runs on as many nodes, or else with the check's own figures."""
    return RunPlan(tuple(_planned(case, past.get(case.series, ())) for case in offered))


def _planned(case: Offered, past: Sequence[Took]) -> PlannedCase:
    same = [of_run for of_run in past if of_run.nodes == case.nodes]
    if not same:
        return PlannedCase(case, case.stated_s, case.stated_bytes, 0)
    seconds = statistics.median(of_run.seconds for of_run in same)
    written = round(statistics.median(of_run.written_bytes for of_run in same))
    return PlannedCase(case, seconds, written, len(same))


def plan_document(planned: RunPlan) -> dict[str, Any]:
    """Return the plan as a document for JSON, in seconds, node-hours and bytes."""
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
    """Hold the plan of a rotation. ``nodes``: partition -> number of nodes; ``plan``: each case as often as it runs."""

    nodes: Mapping[str, int]
    repeats: int
    plan: RunPlan


def partitions_of(planned: RunPlan) -> dict[str, int]:
    """Return partition -> number of nodes, for partitions on which a case of one node runs."""
    return {one.case.series.partition: one.case.partition_nodes for one in planned.cases if one.case.of_one_node}


def turns_of(planned: RunPlan, nodes: Mapping[str, int], repeats: int) -> PlannedTurns:
    """Plan the rotation of a night whose mode is ``planned``; a case costs the same on all nodes of a partition."""
    times = {partition: repeats * count for partition, count in nodes.items()}
    cases = [
        one
        for one in planned.cases
        if one.case.of_one_node
        for _ in range(times.get(one.case.series.partition, 0))
    ]
    return PlannedTurns(nodes, repeats, RunPlan(tuple(cases)))


def turns_document(turns: PlannedTurns) -> dict[str, Any]:
    """Return the rotation as a document for JSON, in seconds, node-hours and bytes."""
    return {
        "nodes": dict(turns.nodes),
        "repeats": turns.repeats,
        "cases": len(turns.plan.cases),
        **turns.plan.sums,
    }


@dataclass(frozen=True)
class PlanCheck:
    """Compare a plan with its run. ``pairs``: cases in both, with accounting; the others are listed by name."""

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
        """Return whether the planned node-hours and bytes are within ``TOLERANCE`` of the real ones."""
        sums = ((self.planned_node_hours, self.took_node_hours), (self.planned_bytes, self.took_bytes))
        return bool(self.pairs) and all(abs(said - found) <= TOLERANCE * found for said, found in sums)


def hold(planned: RunPlan, session: Session) -> PlanCheck:
    """Compare ``planned`` with the first attempt of each case in ``session``."""
    ran = {CaseSeries.of(case): found for run in session.runs[:1] for case in run if (found := took(case))}
    of_plan = {one.case.series: one for one in planned.cases if one.case.nodes}
    return PlanCheck(
        pairs=tuple((one, ran[series]) for series, one in of_plan.items() if series in ran),
        not_run=tuple(sorted(of_plan.keys() - ran.keys())),
        not_planned=tuple(sorted(ran.keys() - of_plan.keys())),
    )


def check_document(held: PlanCheck) -> dict[str, Any]:
    """Return the comparison as a document for JSON, in node-hours and bytes."""
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
