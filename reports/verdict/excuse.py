"""Decide which failures the load of other programs excuses, where virtual nodes share a machine, and who is named.

Load excuses only a metric that load can change. It excuses no fact and no *steady* metric (free space, sizes, counts).
It also excuses no metric that three measurements find more than ten times out of bounds, or for which three
measurements name the same node (docs/architecture.md).
"""

from dataclasses import replace

from kappa.core.record.model import Case
from reports.verdict.bounds import headroom
from reports.verdict.case_verdict import CaseVerdict, Suspicion, judge_case
from reports.verdict.state import BUSY, Gap, State

LEAST_MEASUREMENTS = 3
#: Load does not explain a metric this many times beyond its bound, if each measurement finds it there.
FAR_TIMES = 10.0


def judge_attempt(case: Case) -> CaseVerdict:
    """Judge one attempt at ``case``; a failure that load excuses becomes INCOMPLETE."""
    found = judge_case(case)
    if found.state is State.FAIL and not found.by_figures_alone:
        # Nothing re-measures what a case found of speeds before it failed for another reason.
        return replace(found, sets_aside="speeds")
    if not (found.state is State.FAIL and case.robbed) or any(_steady(found)):
        return found
    remedy = "run the case again on an idle machine; a metric that is out of bounds then is a fault"
    busy = Gap("this machine was busy", remedy, case.title, case.robbed, cause=BUSY)
    return replace(found, state=State.INCOMPLETE, gaps=(*found.gaps, busy))


def names_nodes_beside_load(found: CaseVerdict) -> bool:
    """Return whether a failed attempt may name nodes although other processes used the machine.

    Only facts and steady metrics may do so.
    """
    if found.by_figures_alone:
        return all(_steady(found))
    return found.case.fail_phase == "sanity" and bool(found.suspects)


def despite_load(found: CaseVerdict) -> CaseVerdict:
    """Return ``found`` as a failure if load cannot explain its measurements on these nodes.

    Load slows different nodes at different times, and seldom by much. A fault stays with its node. So
    ``LEAST_MEASUREMENTS`` or more have to be out of bounds, and one of these holds:

    - each of them names the same node, which becomes the suspect;
    - each of them has the same metric more than ``FAR_TIMES`` out of bounds; no node becomes a suspect.
    """
    if not found.case.robbed or not found.by_figures_alone:
        return found
    measured = [found, *(other for other in found.other_attempts if other.by_figures_alone)]
    if len(measured) < LEAST_MEASUREMENTS:
        return found
    nodes = frozenset.intersection(*(frozenset(attempt.suspects) for attempt in measured))
    far = frozenset.intersection(*map(_far_out, measured))
    if nodes and not found.suspicion:
        evidence = f"named by each of {len(measured)} measurements, although {found.case.robbed}"
        found = replace(found, suspicion=Suspicion(tuple(sorted(nodes)), evidence))
    if nodes or far:
        return replace(found, state=State.FAIL, gaps=tuple(gap for gap in found.gaps if gap.cause != BUSY))
    return found


def _steady(found: CaseVerdict) -> list[bool]:
    return [metric.metric.steady for metric in found.failed_metrics]


def _far_out(attempt: CaseVerdict) -> frozenset[str]:
    room = {metric.metric.name: headroom(metric) for metric in attempt.failed_metrics}
    return frozenset(name for name, times in room.items() if times is not None and times < 1 / FAR_TIMES)
