"""Which attempts are attempts at the same case, and which of them counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from kappa.core.record.evidence import RANK_CRASHED
from kappa.core.record.model import REMAINING_NODES, SAME_NODES, Session
from reports.verdict.case_verdict import CaseVerdict, executed, judge_case
from reports.verdict.confirm import confirms, doubtful
from reports.verdict.localise import localise
from reports.verdict.robbed import named_each_time
from reports.verdict.state import State


def latest_attempts(session: Session) -> tuple[CaseVerdict, ...]:
    """The last attempt that came to a result for each case, with the other attempts, all with their suspicions."""
    attempts: dict[tuple[object, ...], list[CaseVerdict]] = {}
    for run in session.runs:
        seen: Counter[tuple[str, ...]] = Counter()
        for case in run:
            # Cases of one run are never attempts at each other, whatever their names.
            seen[case.identity] += 1
            group = attempts.setdefault((*case.identity, seen[case.identity]), [])
            group += [judge_case(measured) for measured in (case.first, case) if measured]
    again = [judge_case(case) for other in session.again for run in other.runs for case in run]
    everything = [*(attempt for group in attempts.values() for attempt in group), *again]
    suspected = [_with_suspicion(attempt, everything) for attempt in again]
    return tuple(
        _confirmed(_last([_with_suspicion(attempt, everything) for attempt in group]), suspected)
        for group in attempts.values()
    )


def _last(attempts: Sequence[CaseVerdict]) -> CaseVerdict:
    """The last of ``attempts`` that came to a result, with the others."""
    if len(attempts) == 1:
        return attempts[0]
    last = next((attempt for attempt in reversed(attempts) if executed(attempt.case)), attempts[-1])
    return replace(last, other_attempts=tuple(attempt for attempt in attempts if attempt is not last))


def _confirmed(found: CaseVerdict, again: Sequence[CaseVerdict]) -> CaseVerdict:
    """What was out of bounds, with its confirmations: the one on the same nodes takes its place.

    One that was ended from outside does not: what was measured before holds.
    """
    left = [attempt for attempt in again if attempt.case.purpose == REMAINING_NODES]
    remaining = tuple(attempt for attempt in left if confirms(attempt.case, found.case))
    if _crashed(found) and any(map(_crashed, remaining)):
        # The program's fault: where it crashed first says nothing of that node.
        return replace(_blaming_nobody(found), elsewhere=tuple(map(_blaming_nobody, remaining)))
    if remaining:
        return replace(found, elsewhere=remaining)
    if not doubtful(found):
        return found
    mine = [attempt for attempt in again if confirms(attempt.case, found.case)]
    # Selected without what ReFrame's options add, it stands for the case that they made.
    same = [
        replace(attempt, case=structs.replace(attempt.case, pinned=found.case.pinned))
        for attempt in mine
        if attempt.case.purpose == SAME_NODES
    ]
    elsewhere = tuple(attempt for attempt in mine if attempt.case.purpose != SAME_NODES)
    ran = [found, *(attempt for attempt in same if executed(attempt.case) and attempt.case.result != "abort")]
    others = [attempt for attempt in (replace(found, other_attempts=()), *same) if attempt.case is not ran[-1].case]
    return named_each_time(replace(ran[-1], other_attempts=(*found.other_attempts, *others), elsewhere=elsewhere))


def _crashed(attempt: CaseVerdict) -> bool:
    return any(finding.quantity == RANK_CRASHED for finding in attempt.case.findings)


def _blaming_nobody(attempt: CaseVerdict) -> CaseVerdict:
    return replace(attempt, case=structs.replace(attempt.case, suspects=()), suspicion=None)


def _with_suspicion(attempt: CaseVerdict, everything: Sequence[CaseVerdict]) -> CaseVerdict:
    """Only what failed names anybody: what is within its bounds is an observation at most."""
    # A busy machine makes figures worse; it gives no node another time zone.
    by_facts = attempt.case.fail_phase == "sanity" and bool(attempt.case.suspects)
    if attempt.state is State.FAIL and (by_facts or not attempt.case.robbed):
        return replace(attempt, suspicion=localise(attempt, everything))
    return attempt


def speaking(verdict: CaseVerdict) -> tuple[CaseVerdict, ...]:
    """The attempts that count as evidence: what passed when the same nodes were measured again blames nobody."""
    if verdict.state is State.FAIL:
        return (*verdict.repeated, verdict)
    return (*(other for other in verdict.repeated if not other.case.involved <= verdict.case.involved), verdict)
