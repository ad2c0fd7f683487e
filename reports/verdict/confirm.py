"""Confirm before blaming: Kappa re-measures out-of-bounds cases, in the same allocation and then on other nodes.

If the job itself cannot re-measure (no time left, or no Slurm job), another job does so on the same nodes. A case that
is then within its bounds was *transient*: it is shown as unstable and does not fail. A case that stays out of bounds
is *node-bound* if it is within bounds on other nodes of the partition, *system-wide* if it is not, and *confirmed* if
no other nodes measured it. Kappa keeps every attempt. This module starts no job.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from kappa.core.ground.node_lists import folded
from kappa.core.record.model import REMAINING_NODES, SAME_ALLOCATION, SAME_NODES, Case
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.state import State

# An argument of a command: no blank, no line end, no pattern, no option.
_WORD = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]*")


class Diagnosis(Enum):
    UNCONFIRMED = "not measured again"
    TRANSIENT = "transient"
    NODE_BOUND = "node-bound"
    SYSTEM_WIDE = "system-wide"
    CONFIRMED = "confirmed, no other nodes to compare with"


@dataclass(frozen=True)
class Repetition:
    """List the cases that one ReFrame session re-measures."""

    partition: str
    environ: str
    nodes: tuple[str, ...]
    hashcodes: tuple[str, ...]


def out_of_bounds(case: CaseVerdict) -> bool:
    """Return whether the case failed by its metrics alone; a wrong result or a crash is not re-measured."""
    return case.state is State.FAIL and case.by_figures_alone


def doubtful(case: CaseVerdict) -> bool:
    """Return whether the metrics may show a fault, so that the case is re-measured."""
    return out_of_bounds(case) or case.robbed


def repetitions(cases: Iterable[CaseVerdict], purpose: str) -> list[Repetition]:
    """Return the cases to re-measure, by partition, environment and nodes.

    - ``SAME_NODES``: cases that no job has re-measured yet, or only while other processes used the machine.
    - ``OTHER_NODES``: cases that are still out of bounds, with the nodes to avoid.
    - ``REMAINING_NODES``: cases without a value because of a node, with the nodes to avoid.

    Cases that ReFrame's options made of one case are re-measured once for the same nodes.
    """
    again = _without_hung(list(cases)) if purpose == REMAINING_NODES else _out_of_bounds_again(cases, purpose)
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for case, nodes in again:
        groups.setdefault((case.partition, case.environ, nodes), []).append(case.hashcode)
    return [Repetition(*where, tuple(dict.fromkeys(hashcodes))) for where, hashcodes in groups.items()]


def _out_of_bounds_again(cases: Iterable[CaseVerdict], purpose: str) -> Iterator[tuple[Case, tuple[str, ...]]]:
    """Yield each case to re-measure, with the nodes to use (``SAME_NODES``) or to avoid."""
    wanted = doubtful if purpose == SAME_NODES else out_of_bounds
    chosen = [found for found in cases if wanted(found) and _selectable(found.case)]
    alike: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for found in chosen:
        alike[found.case.selected].update(found.case.nodes)
    for found in chosen:
        case = found.case
        in_peace = not any(attempt.case.robbed for attempt in (found, *found.other_attempts))
        # If the first measurement was within bounds, the job re-measured only because a node stood out.
        confirmed = case.purpose == SAME_ALLOCATION and bool(found.failed_attempts) and in_peace
        if purpose == SAME_NODES and confirmed:
            continue
        nodes = case.nodes if purpose == SAME_NODES else _to_avoid(case, alike[case.selected])
        if nodes:
            yield case, nodes


def _without_hung(cases: list[CaseVerdict]) -> Iterator[tuple[Case, tuple[str, ...]]]:
    """Yield each case without a value whose nodes hung or were missing, with the nodes to avoid."""
    hung = {node for found in cases for node in found.case.hung_on}
    hung_in: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for case in (found.case for found in cases):
        hung_in[case.system, case.partition] |= hung & case.involved
    for found in cases:
        case = found.case
        there = {*case.hung_on} | hung_in[case.system, case.partition]
        words = (case.partition, case.environ, case.hashcode, *there)
        enough = case.partition_size == 0 or case.partition_size > len(there)
        if there and enough and not case.local and _measured_nothing(found) and all(map(_WORD.fullmatch, words)):
            yield case, tuple(sorted(there))


def _measured_nothing(found: CaseVerdict) -> bool:
    """Return whether no metric has a value although neither Slurm, a user nor a limit ended the job."""
    case = found.case
    return found.state is not State.PASS and all(m.value is None for m in case.metrics) and not case.ended_by_slurm


def _selectable(case: Case) -> bool:
    words = (case.partition, case.environ, case.hashcode, *case.nodes)
    return bool(case.nodes) and all(map(_WORD.fullmatch, words))


def _to_avoid(case: Case, out_of_bounds_on: set[str]) -> tuple[str, ...]:
    """Return the nodes to avoid, if enough other nodes are left in the partition.

    These are all nodes on which the same case is out of bounds, or if too few others are left, the case's own nodes.
    Return an empty tuple for a local case: it runs where ReFrame runs, whatever nodes Slurm avoids.
    """
    for nodes in (out_of_bounds_on, set(case.nodes)):
        if not case.local and case.partition_size - len(nodes) >= len(case.nodes):
            return tuple(sorted(nodes))
    return ()


def confirms(again: Case, first: Case) -> bool:
    """Return whether ``again`` re-measures ``first``."""
    if again.selected != first.selected:
        return False
    if again.purpose == REMAINING_NODES:
        return all(metric.value is None for metric in first.metrics)
    asked, nodes = set(again.asked_nodes), set(first.nodes)
    return not asked or (asked == nodes if again.purpose == SAME_NODES else asked >= nodes)


def diagnose(found: CaseVerdict) -> Diagnosis | None:
    """Diagnose a case by its repetitions; return ``None`` if the case was never out of bounds."""
    attempts = [*found.other_attempts, found]
    here = (SAME_ALLOCATION, SAME_NODES)
    again = any(attempt.case.purpose in here and executed(attempt.case) for attempt in attempts)
    if found.unstable and again and found.state is not State.INCOMPLETE:
        return Diagnosis.TRANSIENT
    again = again and any(doubtful(attempt) for attempt in found.other_attempts)
    if not out_of_bounds(found):
        return None
    if _within_bounds_elsewhere(found):
        return Diagnosis.NODE_BOUND
    if _out_of_bounds_elsewhere(found):
        return Diagnosis.SYSTEM_WIDE
    return Diagnosis.CONFIRMED if again else Diagnosis.UNCONFIRMED


def _within_bounds_elsewhere(found: CaseVerdict) -> list[CaseVerdict]:
    """Return the attempts on other nodes in which all metrics that are out of bounds here pass."""
    names = {metric.metric.name for metric in found.failed_metrics}
    return [
        attempt
        for attempt in _measured_elsewhere(found)
        if attempt.state is not State.FAIL
        and names <= {metric.metric.name for metric in attempt.metrics if metric.state is State.PASS}
    ]


def _out_of_bounds_elsewhere(found: CaseVerdict) -> list[CaseVerdict]:
    """Return the attempts on other nodes in which a metric that is out of bounds here is out of bounds, too."""
    names = {metric.metric.name for metric in found.failed_metrics}
    return [
        attempt
        for attempt in _measured_elsewhere(found)
        if out_of_bounds(attempt) and names.intersection(metric.metric.name for metric in attempt.failed_metrics)
    ]


def _measured_elsewhere(found: CaseVerdict) -> list[CaseVerdict]:
    """Return the attempts that ran on none of the nodes of ``found``."""
    return [
        attempt
        for attempt in found.elsewhere
        if executed(attempt.case)
        and attempt.case.nodes
        and not attempt.case.local
        and set(attempt.case.nodes).isdisjoint(found.case.nodes)
    ]


def explain(found: CaseVerdict) -> str:
    """Return the diagnosis for an operator, with the nodes; empty without a diagnosis."""
    left = [attempt for attempt in found.elsewhere if attempt.case.purpose == REMAINING_NODES]
    if left:
        nodes = folded(node for attempt in left for node in attempt.case.nodes)
        states = {attempt.state for attempt in left}
        how = "FAIL, too" if State.FAIL in states else "within bounds" if states == {State.PASS} else "INCOMPLETE"
        return f"on the remaining nodes {nodes}: {how}"
    diagnosis = diagnose(found)
    if diagnosis is None or diagnosis is Diagnosis.UNCONFIRMED:
        return ""
    text = str(diagnosis.value)
    if diagnosis in (Diagnosis.NODE_BOUND, Diagnosis.SYSTEM_WIDE):
        bound = diagnosis is Diagnosis.NODE_BOUND
        speaking = _within_bounds_elsewhere(found) if bound else _out_of_bounds_elsewhere(found)
        others = folded(node for attempt in speaking for node in attempt.case.nodes)
        there = "within bounds" if bound else "also out of bounds"
        return f"{text}: out of bounds again on {folded(found.case.nodes)}, {there} on {others}"
    return text
