"""Confirm before blaming: what was out of bounds is measured again, on the same nodes and then on others.

A case that is then within its bounds was a *transient*: it is shown as unstable and fails nothing. One that stays out
of bounds is *node-bound* when it is fine on other nodes of the partition, *system-wide* when it is not, and
*confirmed* when there are no other nodes. Every attempt is kept, in a report of its own. Nothing is run from here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from reports.case_verdict import CaseVerdict
from reports.model import SAME_NODES, Case
from reports.nodes import folded
from reports.state import State

# What becomes an argument of a command: no blank, no line end, no pattern, no option.
_WORD = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]*")


class Diagnosis(Enum):
    UNCONFIRMED = "not measured again"
    TRANSIENT = "transient"
    NODE_BOUND = "node-bound"
    SYSTEM_WIDE = "system-wide"
    CONFIRMED = "confirmed, no other nodes to compare with"


@dataclass(frozen=True)
class Repetition:
    """Cases to measure again in one ReFrame session."""

    partition: str
    environ: str
    nodes: tuple[str, ...]
    hashcodes: tuple[str, ...]


def out_of_bounds(case: CaseVerdict) -> bool:
    """It failed by its figures alone: a wrong result or a crash is not a matter of a second try."""
    return case.state is State.FAIL and bool(case.failed_metrics) and case.case.fail_phase in ("", "performance")


def repetitions(cases: Iterable[CaseVerdict], purpose: str) -> list[Repetition]:
    """What to measure again on the same nodes; or, of what is out of bounds still, on as many others."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for found in cases:
        case = found.case
        words = (case.partition, case.environ, case.hashcode, *case.nodes)
        if not (out_of_bounds(found) and case.nodes and all(map(_WORD.fullmatch, words))):
            continue
        if purpose == SAME_NODES or _others_exist(case):
            groups.setdefault((case.partition, case.environ, case.nodes), []).append(case.hashcode)
    return [Repetition(*where, tuple(dict.fromkeys(hashcodes))) for where, hashcodes in groups.items()]


def _others_exist(case: Case) -> bool:
    return case.partition_size - len(case.nodes) >= len(case.nodes)


def diagnose(found: CaseVerdict) -> Diagnosis | None:
    """What repetition says of a case; ``None`` when nothing about it was in doubt."""
    again = [attempt for attempt in (*found.other_attempts, found) if attempt.case.purpose == SAME_NODES]
    if found.unstable and again:
        return Diagnosis.TRANSIENT
    if not out_of_bounds(found):
        return None
    if any(attempt.state is not State.FAIL for attempt in found.elsewhere):
        return Diagnosis.NODE_BOUND
    if any(out_of_bounds(attempt) for attempt in found.elsewhere):
        return Diagnosis.SYSTEM_WIDE
    return Diagnosis.CONFIRMED if again else Diagnosis.UNCONFIRMED


def explain(found: CaseVerdict) -> str:
    """The diagnosis for an operator, with the nodes; empty when there is nothing to say."""
    diagnosis = diagnose(found)
    if diagnosis is None or diagnosis is Diagnosis.UNCONFIRMED:
        return ""
    text = str(diagnosis.value)
    if diagnosis in (Diagnosis.NODE_BOUND, Diagnosis.SYSTEM_WIDE):
        others = folded(node for attempt in found.elsewhere for node in attempt.case.nodes)
        fine = "within bounds" if diagnosis is Diagnosis.NODE_BOUND else "out of bounds, too,"
        return f"{text}: again so on {folded(found.case.nodes)}, {fine} on {others}"
    return text
