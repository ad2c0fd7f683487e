"""Evidence against nodes: confirmed findings of a run, and the outcome of a return test."""

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
# The beginnings of findings that tell on which node a job hung or crashed.
_NO_RESULT = ("hang", "crash")
# It tells of Slurm, to which a node that is being tested is out of service.
_OF_SLURM = "node/partition-state"


def named_nodes(cases: Iterable[CaseVerdict], kinds: Collection[str]) -> dict[str, tuple[Evidence, ...]]:
    """Node -> the evidence against it, of these ``kinds`` (``kappa.core.vocabulary.rules``)."""
    found: dict[str, list[Evidence]] = {}
    for verdict in cases:
        kind, nodes = _named(verdict)
        for node in sorted(nodes) if kind in kinds else ():
            found.setdefault(node, []).append(_evidence(kind, verdict))
    return {node: tuple(evidence) for node, evidence in found.items()}


def _named(found: CaseVerdict) -> tuple[str, frozenset[str]]:
    """The kind of what a case has found, and the nodes that it names; what runs beside the jobs names none."""
    case = found.case
    if found.state is not State.FAIL or case.local:
        return "", frozenset()
    if not found.by_figures_alone:
        hung = any(finding.quantity.startswith(_NO_RESULT) for finding in case.findings)
        return ("hang" if hung else "facts"), frozenset(case.suspects)
    diagnosis = diagnose(found)
    again = _named_each_time(found)
    if diagnosis is Diagnosis.NODE_BOUND:
        alone = frozenset(case.nodes) if len(case.nodes) == 1 else frozenset()
        return "node-bound", again or alone
    return ("confirmed", again) if diagnosis is Diagnosis.CONFIRMED else ("", frozenset())


def _named_each_time(found: CaseVerdict) -> frozenset[str]:
    """The nodes that the check's own comparison names in every measurement on the same nodes."""
    if found.case.robbed:
        named = frozenset(found.suspicion.nodes if found.suspicion else ())
        return named.intersection(*(one.case.suspects for one in found.other_attempts if one.by_figures_alone))
    ran = (one for one in found.other_attempts if executed(one.case) and one.case.result != "abort")
    measured = [one for one in ran if not one.robbed]
    return frozenset(found.case.suspects).intersection(*(one.case.suspects for one in measured))


def _evidence(kind: str, found: CaseVerdict) -> Evidence:
    """A test says nothing of other nodes, so that it has no diagnosis."""
    case, line = found.case, operator_line(found)
    text = f"{line.what}; {line.where}" if kind == "test" else line.finding
    return Evidence(kind, str(case.check_class), case.title, case.partition, one_line(text, TEXT_LIMIT))


@dataclass(frozen=True)
class Tested:
    """``state`` is PASS, FAIL or INCOMPLETE; ``why`` says what failed or is missing."""

    state: State
    why: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


def checks_of_test(evidence: Sequence[Evidence], mode: str, left_out: Sequence[str] = ()) -> dict[str, list[str]]:
    """Partition -> the checks that had named the node there, and their neighbours: those of the same subject and of the
    nodes themselves that are in ``mode`` and not ``left_out`` by the site."""
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
    """PASS when every check that had named ``node`` measured it again, and nothing failed or is missing.

    :param sessions: that of each partition on which the test ran.
    """
    cases = {partition: latest_attempts(session) for partition, session in sessions.items()}
    every = [case for of_partition in cases.values() for case in of_partition if not case.case.local]
    failed = [case for case in every if case.state is State.FAIL]
    # A failure that names others says nothing of the node; one that names nobody may be its.
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
        return f"{case.case.title} failed and names {folded(case.suspicion.nodes)}: no comparison for this node"
    gap = case.gaps[0] if case.gaps else None
    why = "; ".join(part for part in (gap.what, gap.detail) if part) if gap else case.state.word
    return one_line(f"{case.case.title}: {why}", TEXT_LIMIT)
