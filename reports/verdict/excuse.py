"""Which failures the load of other programs excuses, where virtual nodes share a machine (docs/architecture.md).

Load excuses only what load can change. It excuses no fact and no *steady* metric (free space, sizes, counts). It also
excuses no figure that three measurements find more than ten times out of bounds, or that three put down to one node.
"""

from dataclasses import replace

from kappa.core.record.model import Case
from reports.verdict.bounds import headroom
from reports.verdict.case_verdict import CaseVerdict, Suspicion, judge_case
from reports.verdict.state import BUSY, Gap, State

LEAST_MEASUREMENTS = 3
#: A figure this many times beyond its bound is no matter of load, if each measurement finds it so.
FAR_TIMES = 10.0


def judge_attempt(case: Case) -> CaseVerdict:
    """Judge one attempt at ``case``, which is INCOMPLETE instead of a failure if load excuses it."""
    found = judge_case(case)
    if not (found.state is State.FAIL and case.robbed and found.by_figures_alone) or any(_steady(found)):
        return found
    remedy = "run it again when nothing else runs here: what is out of bounds then is a fault"
    busy = Gap("this machine was busy", remedy, case.title, case.robbed, cause=BUSY)
    return replace(found, state=State.INCOMPLETE, gaps=(*found.gaps, busy))


def names_nodes_beside_load(found: CaseVerdict) -> bool:
    """Whether one failed attempt may name nodes although others used the machine: by facts and steady metrics alone."""
    if found.by_figures_alone:
        return all(_steady(found))
    return found.case.fail_phase == "sanity" and bool(found.case.suspects)


def despite_load(found: CaseVerdict) -> CaseVerdict:
    """``found`` as a failure, if its measurements on these nodes leave load no part in it.

    Others who use a machine slow down whatever happens to run at that time: once this node, once that one, and seldom
    by much. A fault stays with its node. So ``LEAST_MEASUREMENTS`` or more have to be out of bounds, and each of them
    names the same node, or has the same metric more than ``FAR_TIMES`` out of bounds, which names nobody.
    """
    if not found.case.robbed or not found.by_figures_alone:
        return found
    measured = [found, *(other for other in found.other_attempts if other.by_figures_alone)]
    if len(measured) < LEAST_MEASUREMENTS:
        return found
    nodes = frozenset.intersection(*(frozenset(attempt.case.suspects) for attempt in measured))
    far = frozenset.intersection(*map(_far_out, measured))
    if nodes and not found.suspicion:
        evidence = f"named by each of {len(measured)} measurements, although {found.case.robbed}"
        found = replace(found, suspicion=Suspicion(tuple(sorted(nodes)), evidence))
    if nodes or far:
        return replace(found, state=State.FAIL, gaps=tuple(gap for gap in found.gaps if gap.cause != BUSY))
    return found


def _steady(found: CaseVerdict) -> list[bool]:
    return [metric.metric.name in found.case.steady for metric in found.failed_metrics]


def _far_out(attempt: CaseVerdict) -> frozenset[str]:
    room = {metric.metric.name: headroom(metric) for metric in attempt.failed_metrics}
    return frozenset(name for name, times in room.items() if times is not None and times < 1 / FAR_TIMES)
