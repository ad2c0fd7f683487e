"""Summarise a night from its reports."""

import dataclasses
import pathlib
from collections import Counter, defaultdict
from collections.abc import Sequence

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from kappa.core.sites.load import Site
from kappa.core.vocabulary.scales import ONE_NODE, PLACEMENTS, SCALES
from reports.nightly.night import MAIN, Night, NightRecord, Problem, rotation_reports
from reports.quarantine.decide import told
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.judge import speaking
from reports.verdict.state import Gap, State, grouped
from reports.verdict.stored import verdict_of
from reports.verdict.suspects import drain_suggestions, ranked_evidence, suspect_nodes

PLACES_LIMIT = 300
RESCHEDULE = "schedule the nights again: `kappa night schedule SITE sbatch` with the same options"
UNDONE = "correct the command under `quarantine` in site.yaml, or act by hand (docs/quarantine.md)"
RERUN = "read the night's output (`night.log` in its folder); the next night measures the missing nodes"
# Scales and placements of the checks that the rotation selects.
_OF_ONE_NODE = {name for table in (SCALES, PLACEMENTS) for name, scale in table.items() if scale.feature == ONE_NODE}


@dataclasses.dataclass(frozen=True)
class JudgedNight:
    """Hold the full verdict on the reports of a night."""

    main: Session | None
    """The session of the mode; the other sessions measured single nodes in the rotation."""
    sessions: tuple[Session, ...]
    cases: tuple[CaseVerdict, ...]
    gaps: tuple[Gap, ...]
    covered: tuple[str, ...]
    """The nodes with a result in the rotation."""


def judge_night(folder: pathlib.Path, record: NightRecord, site: Site) -> JudgedNight:
    """Judge the reports of a night, complete or not; each missing report is a gap."""
    gaps = []
    if record.unscheduled:
        gaps.append(Gap("the next night is not submitted", RESCHEDULE, record.unscheduled))
    undone = [record.not_acted] if record.not_acted else []
    undone += [told(action) for action in record.actions if action.outcome == "failed"]
    gaps += [Gap("a node could not be drained or resumed", UNDONE, text) for text in undone]
    if record.cut or record.ended is None:
        why = record.cut or "its machine failed, or the night was killed"
        gaps.append(Gap("the night did not end", RERUN, why))
    main, problem = _session(folder / MAIN)
    if main is None:
        gaps.append(Gap("the night left no report", RERUN, problem))
    verdict = verdict_of(main, site, record.mode) if main else None
    cases = list(verdict.cases) if verdict else []
    gaps += verdict.gaps if verdict else ()
    sessions = [main] if main else []
    turn: list[CaseVerdict] = []
    for report in rotation_reports(folder):
        session, problem = _session(report)
        if session:
            sessions.append(session)
            turn += verdict_of(session, site, record.mode).cases
        else:
            gaps.append(Gap("a report of single nodes is unreadable", RERUN, problem))
    gaps += [gap for case in turn for gap in case.gaps]
    came_to_a_result = tuple(covered(turn, cases))
    if missed := set(record.planned) - set(came_to_a_result):
        gaps.append(Gap("nodes due in the rotation have no result", RERUN, folded(missed)))
    return JudgedNight(main, tuple(sessions), (*cases, *turn), tuple(gaps), came_to_a_result)


def _session(report: pathlib.Path) -> tuple[Session | None, str]:
    if not report.exists():
        return None, ""
    try:
        return load_session(report), ""
    except InputError as err:
        return None, one_line(str(err), PLACES_LIMIT)


def covered(turn: Sequence[CaseVerdict], cases: Sequence[CaseVerdict]) -> list[str]:
    """Return the nodes on which every case of the rotation was measured, with or without a reference.

    :param turn: the cases of the rotation.
    :param cases: the cases of the mode. A case of one node that is missing in ``turn`` on a node was not measured
        there: its session left no report, or did not begin.
    """
    due, seen = _due(cases), defaultdict[str, set[tuple[str, ...]]](set)
    measured = defaultdict[str, list[bool]](list)
    for found in turn:
        for node in _on_each_of(found):
            seen[node].add(found.case.selected)
            measured[node].append(_measured(found) and _told_of(node, found))
    return sorted(node for node, ran in measured.items() if all(ran) and due[node] <= seen[node])


def _due(cases: Sequence[CaseVerdict]) -> defaultdict[str, set[tuple[str, ...]]]:
    """Return node -> the cases of one node that the mode ran on its partitions."""
    due = defaultdict[str, set[tuple[str, ...]]](set)
    for partition, nodes in single_nodes(cases, usable=True).items():
        selected = {
            found.case.selected for found in cases if found.case.partition == partition and _of_one_node(found.case)
        }
        for node in nodes:
            due[node] |= selected
    return due


def _of_one_node(case: Case) -> bool:
    return not _OF_ONE_NODE.isdisjoint(case.parameters.values())


def _on_each_of(found: CaseVerdict) -> tuple[str, ...]:
    """Return the nodes of a case that measures each node alone."""
    if found.pinned:
        return (found.pinned,)
    return found.case.nodes if _of_one_node(found.case) else ()


def _told_of(node: str, found: CaseVerdict) -> bool:
    """Return whether the case measured ``node`` or suspects it.

    A failed node has no value. A node on which the job hung keeps other nodes from being measured. If all nodes failed,
    none is a suspect.
    """
    told = {*found.suspects}.union(*(per_node.values for per_node in found.case.per_node.values()))
    return not told or node in told


def _measured(found: CaseVerdict) -> bool:
    if found.state is not State.INCOMPLETE:
        return True
    return executed(found.case) and any(metric.metric.value is not None for metric in found.metrics)


def nodes_of(cases: Sequence[CaseVerdict], usable: bool = False) -> dict[str, list[str]]:
    """Return the nodes of each partition that PartitionState listed; with ``usable`` only those that can take jobs."""
    return {
        found.case.partition: sorted(
            node
            for figures in found.case.per_node.values()
            for node, value in figures.values.items()
            if value or not usable
        )
        for found in cases
        if found.case.check_class == "PartitionState"
    }


def single_nodes(cases: Sequence[CaseVerdict], usable: bool = False) -> dict[str, list[str]]:
    """Return ``nodes_of`` for the partitions on which the mode ran a check of one node."""
    partitions = {found.case.partition for found in cases if _of_one_node(found.case)}
    return {partition: nodes for partition, nodes in nodes_of(cases, usable).items() if partition in partitions}


def summarise(folder: pathlib.Path, record: NightRecord, site: Site) -> Night:
    """Return the summary of the night in ``folder``."""
    judged = judge_night(folder, record, site)
    main = judged.main
    left_out = tuple(filter(None, main.left_out.split(":"))) if main else ()
    gaps = list(judged.gaps)
    gaps += [gap for case in judged.cases for gap in case.gaps if gap not in gaps]
    failed = [case for case in judged.cases if case.state is State.FAIL]
    state = State.FAIL if failed else State.INCOMPLETE if gaps else State.PASS
    suspects = suspect_nodes([attempt for case in judged.cases for attempt in speaking(case)])
    counts = Counter(case.state.word for case in judged.cases)
    counts["unstable"] = sum(case.unstable for case in judged.cases)
    return Night(
        folder=folder.name,
        night=record.night,
        started=record.started,
        ended=record.ended,
        mode=record.mode,
        state=state,
        headline=_headline(judged.cases, failed, gaps, [one.node for one in suspects], len(left_out)),
        sessions=tuple(session.uuid for session in judged.sessions),
        counts=dict(counts),
        problems=tuple(_problem(case) for case in judged.cases if case.state is State.FAIL or case.unstable),
        gaps=tuple(
            f"{gap.what}: {one_line('; '.join(places), PLACES_LIMIT)}" if places else gap.what
            for gap, places in grouped(tuple(gaps))
        ),
        suspects={
            one.node: tuple(f"{title}: {evidence}" for title, evidence in one.evidence) for one in suspects
        },
        planned=record.planned,
        covered=tuple(node for node in record.planned if node in judged.covered),
        nodes=tuple(sorted({node for nodes in nodes_of(judged.cases).values() for node in nodes})),
        nights=record.nights,
        drain=tuple(drain_suggestions(ranked_evidence(judged.cases), {one.node for one in record.actions})),
        actions=tuple(told(action) for action in record.actions),
        passed=tuple(case.title for case in judged.cases if case.state is State.PASS),
        budget=main.budget if main else "",
        left_out=left_out,
        single=tuple(sorted({node for nodes in single_nodes(judged.cases).values() for node in nodes})),
    )  # fmt: skip


def _problem(case: CaseVerdict) -> Problem:
    failed = case if case.state is State.FAIL else case.failed_attempts[-1]
    line = operator_line(failed)
    return Problem(case.title, case.state, line.finding, line.hint)


def _headline(
    cases: Sequence[CaseVerdict], failed: Sequence[CaseVerdict], gaps: Sequence[Gap], suspects: Sequence[str], left: int
) -> str:
    kinds = len(grouped(tuple(gaps)))
    missing = f"{counted(kinds, 'reason')} why the night is incomplete" if kinds else ""
    what = f"{len(failed)} of {counted(len(cases), 'case')} failed" if failed else ""
    blamed = f"suspect: {folded(suspects)}" if suspects else ""
    found = "; ".join(filter(None, (what, blamed, missing))) or f"all {counted(len(cases), 'case')} passed"
    # The headline names them, so that a reader does not count them as passed.
    return f"{found}; {counted(left, 'check')} left out by the budget" if left else found
