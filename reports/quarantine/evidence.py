"""Collect evidence against nodes: confirmed findings of a run, and the result of a return test."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.node_lists import folded
from kappa.core.record.actions import Evidence
from kappa.core.record.model import Session
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import SIMULATED
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.confirm import Diagnosis, diagnose
from reports.verdict.judge import latest_attempts
from reports.verdict.state import State

TEXT_LIMIT = 300
# The first words of findings that name the node on which a job hung or crashed.
_NO_RESULT = ("hang", "crash")
# This check reports Slurm's state, and for Slurm a node under test is out of service.
_OF_SLURM = "node/partition-state"


def named_nodes(cases: Iterable[CaseVerdict], kinds: Collection[str]) -> dict[str, tuple[Evidence, ...]]:
    """Return node -> the evidence against it of these ``kinds`` (see ``kappa.core.vocabulary.rules``)."""
    found: dict[str, list[Evidence]] = {}
    for verdict in cases:
        kind, nodes = _named(verdict)
        for node in sorted(nodes) if kind in kinds else ():
            found.setdefault(node, []).append(_evidence(kind, verdict))
    return {node: tuple(evidence) for node, evidence in found.items()}


def _named(found: CaseVerdict) -> tuple[str, frozenset[str]]:
    """Return the kind of a case's finding and the nodes that it names; a local case names none."""
    case = found.case
    if found.state is not State.FAIL or case.local:
        return "", frozenset()
    if not found.by_figures_alone:
        hung = any(finding.quantity.startswith(_NO_RESULT) for finding in found.findings)
        return ("hang" if hung else "facts"), frozenset(found.suspects)
    diagnosis = diagnose(found)
    again = _named_each_time(found)
    if diagnosis is Diagnosis.NODE_BOUND:
        alone = frozenset(case.nodes) if len(case.nodes) == 1 else frozenset()
        return "node-bound", again or alone
    return ("confirmed", again) if diagnosis is Diagnosis.CONFIRMED else ("", frozenset())


def _named_each_time(found: CaseVerdict) -> frozenset[str]:
    """Return the nodes that the check's own comparison names in every measurement on the same nodes."""
    if found.case.robbed:
        named = frozenset(found.suspicion.nodes if found.suspicion else ())
        return named.intersection(*(one.suspects for one in found.other_attempts if one.by_figures_alone))
    ran = (one for one in found.other_attempts if executed(one.case))
    measured = [one for one in ran if not one.robbed]
    return frozenset(found.suspects).intersection(*(one.suspects for one in measured))


def _evidence(kind: str, found: CaseVerdict) -> Evidence:
    """Return the evidence of a case; a test covers no other nodes, so it has no diagnosis."""
    case, line = found.case, operator_line(found)
    text = f"{line.what}; {line.where}" if kind == "test" else line.finding
    return Evidence(kind, str(case.check_class), found.title, case.partition, one_line(text, TEXT_LIMIT))


@dataclass(frozen=True)
class Tested:
    """Hold the result of a return test: PASS, FAIL or INCOMPLETE, and in ``why`` the failures or missing parts."""

    state: State
    why: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


def checks_of_test(evidence: Sequence[Evidence], mode: str, left_out: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return partition -> the checks of a return test.

    These are the checks that had named the node there, and their neighbours: checks of the same subject and of the
    nodes themselves that are in ``mode`` and not in ``left_out``.
    """
    found: dict[str, list[str]] = {}
    for partition in sorted({one.partition for one in evidence}):
        named = {one.check for one in evidence if one.partition == partition}
        subjects = {"node"} | {_subject(check) for check in named}
        neighbours = {
            name
            for name, check in catalogue().items()
            if check.family != _OF_SLURM
            and _subject(name) in subjects
            and mode in check.modes
            and name not in left_out
            and not all(SIMULATED in case.features for case in check.cases)
        }
        found[partition] = sorted(named | neighbours)
    return found


def judge_test(node: str, sessions: Mapping[str, Session], evidence: Sequence[Evidence]) -> Tested:
    """Judge a return test.

    PASS means that every check that had named ``node`` measured it again, and nothing failed or is missing.

    :param sessions: partition -> the session of the test.
    """
    cases = {partition: latest_attempts(session) for partition, session in sessions.items()}
    every = [case for of_partition in cases.values() for case in of_partition if not case.case.local]
    failed = [case for case in every if case.state is State.FAIL]
    # A failure that names other nodes is not about this node. A failure that names no node may be.
    against = [case for case in failed if case.suspicion is None or node in case.suspicion.nodes]
    if against:
        found = tuple(_evidence("test", case) for case in against)
        return Tested(State.FAIL, tuple(f"{one.case}: {one.text}" for one in found), found)
    missing = [
        f"{one.check} did not measure {node} on {one.partition}"
        for one in evidence
        if not any(_measured(case, one.check, node) for case in cases.get(one.partition, ()))
    ]
    missing += [] if every else ["no check ran"]
    missing += [_not_passed(case) for case in every if case.state in (State.FAIL, State.INCOMPLETE)]
    return Tested(State.INCOMPLETE if missing else State.PASS, tuple(dict.fromkeys(missing)))


def _subject(check: str) -> str:
    return catalogue()[check].family.partition("/")[0] if check in catalogue() else ""


def _measured(case: CaseVerdict, check: str, node: str) -> bool:
    values = any(metric.metric.value is not None for metric in case.metrics)
    return case.case.check_class == check and node in case.case.involved and values


def _not_passed(case: CaseVerdict) -> str:
    if case.state is State.FAIL and case.suspicion:
        return f"{case.title} failed and names {folded(case.suspicion.nodes)}, so it does not test this node"
    gap = case.gaps[0] if case.gaps else None
    why = "; ".join(part for part in (gap.what, gap.detail) if part) if gap else case.state.word
    return one_line(f"{case.title}: {why}", TEXT_LIMIT)
