"""Which nodes confirmed findings name: each by itself, never both ends of a link, never what a second look cleared."""

from collections.abc import Collection, Iterable

from kappa.core.ground.clean_text import one_line
from kappa.core.record.actions import Evidence
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.confirm import Diagnosis, diagnose
from reports.verdict.state import State

TEXT_LIMIT = 300
# What a finding begins with that tells which node a job hung or crashed on.
_NO_RESULT = ("hang", "crash")


def named_nodes(cases: Iterable[CaseVerdict], kinds: Collection[str]) -> dict[str, tuple[Evidence, ...]]:
    """What speaks against each node, of these ``kinds`` of evidence (``kappa.core.vocabulary.quarantine``)."""
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
        # It fails for no other reason than that each measurement named these.
        return frozenset(found.suspicion.nodes if found.suspicion else ())
    ran = (one for one in found.other_attempts if executed(one.case) and one.case.result != "abort")
    measured = [one for one in ran if not one.robbed]
    return frozenset(found.case.suspects).intersection(*(one.case.suspects for one in measured))


def _evidence(kind: str, found: CaseVerdict) -> Evidence:
    case, line = found.case, operator_line(found)
    text = "; ".join(part for part in (line.what, line.where, line.diagnosis) if part)
    return Evidence(kind, str(case.check_class), case.title, case.partition, one_line(text, TEXT_LIMIT))
