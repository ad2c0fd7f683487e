"""Beside a load that does not end, a fault is still found: what is measured again and again names the same node.

What others use of a machine slows down whatever happens to run at that time: once this node, once that one. A fault
stays with its node. So where others used the machine whenever a case was measured, a node is blamed when each of at
least ``LEAST_MEASUREMENTS`` compared the nodes, was out of bounds and named it.
"""

from dataclasses import replace

from reports.verdict.case_verdict import CaseVerdict, Suspicion
from reports.verdict.state import State

LEAST_MEASUREMENTS = 3


def named_each_time(found: CaseVerdict) -> CaseVerdict:
    """``found`` as a failure of the nodes that every measurement of it on these nodes names, if it was robbed."""
    measured = [found, *(other for other in found.other_attempts if other.by_figures_alone)]
    if not found.robbed or len(measured) < LEAST_MEASUREMENTS:
        return found
    nodes = frozenset.intersection(*(frozenset(attempt.case.suspects) for attempt in measured))
    if not nodes:
        return found
    evidence = f"named by each of {len(measured)} measurements, although {found.case.robbed}"
    return replace(found, state=State.FAIL, gaps=(), suspicion=Suspicion(tuple(sorted(nodes)), evidence))
