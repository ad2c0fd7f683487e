"""Confirm before blaming: out-of-bounds cases are re-measured, in the same allocation and then on other nodes.

If the job itself cannot re-measure (no time left, or no job of Slurm's), another job does so on the same nodes. A case
that is then within its bounds was a *transient*: it is shown as unstable and fails nothing. A case that stays out of
bounds is *node-bound* if it is within bounds on other nodes of the partition, *system-wide* if it is not, and
*confirmed* if no other nodes measured it. Every attempt is kept. Nothing is run from here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from kappa.core.ground.node_lists import folded
from kappa.core.record.model import REMAINING_NODES, SAME_ALLOCATION, SAME_NODES, Case
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.state import State

# Arguments of commands: no blank, no line end, no pattern, no option.
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
    return case.state is State.FAIL and case.by_figures_alone


def doubtful(case: CaseVerdict) -> bool:
    """Its figures may be a fault's: they have to be measured again."""
    return out_of_bounds(case) or case.robbed


def repetitions(cases: Iterable[CaseVerdict], purpose: str) -> list[Repetition]:
    """Return the cases to re-measure, by partition, environment and nodes.

    ``SAME_NODES``: cases that no job has re-measured yet, or only while others used the machine. ``OTHER_NODES``: cases
    that are still out of bounds. ``REMAINING_NODES``: cases that a node kept from being measured, with the nodes to do
    without. Cases that ReFrame's options made of one are re-measured once for the same nodes.
    """
    again = _without_hung(list(cases)) if purpose == REMAINING_NODES else _out_of_bounds_again(cases, purpose)
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for case, nodes in again:
        groups.setdefault((case.partition, case.environ, nodes), []).append(case.hashcode)
    return [Repetition(*where, tuple(dict.fromkeys(hashcodes))) for where, hashcodes in groups.items()]


def _out_of_bounds_again(cases: Iterable[CaseVerdict], purpose: str) -> Iterator[tuple[Case, tuple[str, ...]]]:
    """Each case to measure again, with the nodes to take (``SAME_NODES``) or to avoid."""
    wanted = doubtful if purpose == SAME_NODES else out_of_bounds
    chosen = [found for found in cases if wanted(found) and _selectable(found.case)]
    alike = [found.case for found in chosen]
    for found in chosen:
        case = found.case
        in_peace = not any(attempt.case.robbed for attempt in (found, *found.other_attempts))
        # A first measurement within bounds was repeated for the node that it singled out.
        confirmed = case.purpose == SAME_ALLOCATION and bool(found.failed_attempts) and in_peace
        if purpose == SAME_NODES and confirmed:
            continue
        nodes = case.nodes if purpose == SAME_NODES else _to_avoid(case, alike)
        if nodes:
            yield case, nodes


def _without_hung(cases: list[CaseVerdict]) -> Iterator[tuple[Case, tuple[str, ...]]]:
    """Cases that failed without a figure where jobs hung, or could not start for want of a node; the nodes to avoid."""
    hung = {node for found in cases for node in found.case.hung_on}
    for found in cases:
        case = found.case
        alike = (other.case for other in cases if other.case.partition == case.partition)
        involved = (one.involved | {*one.suspects} for one in alike if one.system == case.system)
        there = {*case.hung_on}.union(*(hung & nodes for nodes in involved))
        words = (case.partition, case.environ, case.hashcode, *there)
        enough = case.partition_size == 0 or case.partition_size > len(there)
        if there and enough and not case.local and _measured_nothing(found) and all(map(_WORD.fullmatch, words)):
            yield case, tuple(sorted(there))


def _measured_nothing(found: CaseVerdict) -> bool:
    """Without a figure, and not because somebody or a limit ended the job."""
    case = found.case
    return found.state is not State.PASS and all(m.value is None for m in case.metrics) and not case.ended_by_slurm


def _selectable(case: Case) -> bool:
    words = (case.partition, case.environ, case.hashcode, *case.nodes)
    return bool(case.nodes) and all(map(_WORD.fullmatch, words))


def _to_avoid(case: Case, all_out_of_bounds: Iterable[Case]) -> tuple[str, ...]:
    """The nodes that leave as many others: all where the same is out of bounds, or at least the case's own.

    None for what runs where ReFrame runs, whatever nodes Slurm is told to avoid.
    """
    alike = {node for other in all_out_of_bounds if other.selected == case.selected for node in other.nodes}
    for nodes in (alike, set(case.nodes)):
        if not case.local and case.partition_size - len(nodes) >= len(case.nodes):
            return tuple(sorted(nodes))
    return ()


def confirms(again: Case, first: Case) -> bool:
    """Whether ``again`` was run because ``first`` was out of bounds on its nodes."""
    if again.selected != first.selected:
        return False
    if again.purpose == REMAINING_NODES:
        return all(metric.value is None for metric in first.metrics)
    asked, nodes = set(again.asked_nodes), set(first.nodes)
    return not asked or (asked == nodes if again.purpose == SAME_NODES else asked >= nodes)


def diagnose(found: CaseVerdict) -> Diagnosis | None:
    """Diagnose a case by its repetitions; ``None`` when nothing about it was in doubt."""
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
    """The attempts on other nodes that measured what is out of bounds here, and found it within."""
    names = {metric.metric.name for metric in found.failed_metrics}
    return [
        attempt
        for attempt in _measured_elsewhere(found)
        if attempt.state is not State.FAIL
        and names <= {metric.metric.name for metric in attempt.metrics if metric.state is State.PASS}
    ]


def _out_of_bounds_elsewhere(found: CaseVerdict) -> list[CaseVerdict]:
    """The attempts on other nodes in which something that is out of bounds here is so, too."""
    names = {metric.metric.name for metric in found.failed_metrics}
    return [
        attempt
        for attempt in _measured_elsewhere(found)
        if out_of_bounds(attempt) and names.intersection(metric.metric.name for metric in attempt.failed_metrics)
    ]


def _measured_elsewhere(found: CaseVerdict) -> list[CaseVerdict]:
    """The attempts that ran on none of the nodes of ``found``, wherever they were sent."""
    return [
        attempt
        for attempt in found.elsewhere
        if executed(attempt.case)
        and attempt.case.nodes
        and not attempt.case.local
        and set(attempt.case.nodes).isdisjoint(found.case.nodes)
    ]


def explain(found: CaseVerdict) -> str:
    """The diagnosis for an operator, with the nodes; empty when there is nothing to say."""
    left = [attempt for attempt in found.elsewhere if attempt.case.purpose == REMAINING_NODES]
    if left:
        nodes = folded(node for attempt in left for node in attempt.case.nodes)
        states = {attempt.state for attempt in left}
        how = "FAIL, too" if State.FAIL in states else "within bounds" if states == {State.PASS} else "INCOMPLETE"
        return f"on the nodes left, {nodes}: {how}"
    diagnosis = diagnose(found)
    if diagnosis is None or diagnosis is Diagnosis.UNCONFIRMED:
        return ""
    text = str(diagnosis.value)
    if diagnosis in (Diagnosis.NODE_BOUND, Diagnosis.SYSTEM_WIDE):
        bound = diagnosis is Diagnosis.NODE_BOUND
        speaking = _within_bounds_elsewhere(found) if bound else _out_of_bounds_elsewhere(found)
        others = folded(node for attempt in speaking for node in attempt.case.nodes)
        fine = "within bounds" if bound else "out of bounds, too,"
        return f"{text}: again so on {folded(found.case.nodes)}, {fine} on {others}"
    return text
