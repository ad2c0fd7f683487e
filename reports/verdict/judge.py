"""Judge a session: the verdict is a pure function of session, site and mode."""

import pathlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements
from kappa.core.record.evidence import RANK_CRASHED
from kappa.core.record.model import REMAINING_NODES, SAME_NODES, Session
from kappa.core.sites.load import Site
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.confirm import confirms, doubtful
from reports.verdict.excuse import despite_load, judge_attempt, names_nodes_beside_load
from reports.verdict.expectations import (
    LeftByBudget,
    NotProvided,
    breadth,
    census_gaps,
    expectation_gaps,
    find_census,
    in_one,
    left_by_budget,
    not_provided,
    state_not_provided,
)
from reports.verdict.state import Gap, State
from reports.verdict.suspects import Attempts, SuspectNode, suspect_nodes

EXIT_STATUS = {State.PASS: 0, State.FAIL: 1, State.INCOMPLETE: 2}


def latest_attempts(session: Session) -> tuple[CaseVerdict, ...]:
    """Return for each case the last attempt with a result, with the other attempts; all carry their suspects."""
    attempts: dict[tuple[object, ...], list[CaseVerdict]] = {}
    for run in session.runs:
        seen: Counter[tuple[str, ...]] = Counter()
        for case in run:
            # Two cases of one run with the same name are two cases, not two attempts at one.
            seen[case.identity] += 1
            group = attempts.setdefault((*case.identity, seen[case.identity]), [])
            group += [judge_attempt(measured) for measured in (case.first, case) if measured]
    again = [judge_attempt(case) for other in session.again for run in other.runs for case in run]
    everything = Attempts([*(attempt for group in attempts.values() for attempt in group), *again])
    suspected: defaultdict[tuple[str, ...], list[CaseVerdict]] = defaultdict(list)
    for attempt in again:
        suspected[attempt.case.selected].append(_with_suspicion(attempt, everything))
    return tuple(
        _confirmed(found, suspected.get(found.case.selected, ()))
        for group in attempts.values()
        for found in [_last([_with_suspicion(attempt, everything) for attempt in group])]
    )


def _last(attempts: Sequence[CaseVerdict]) -> CaseVerdict:
    """Return the last of ``attempts`` that has a result, with the others."""
    if len(attempts) == 1:
        return attempts[0]
    last = next((attempt for attempt in reversed(attempts) if executed(attempt.case)), attempts[-1])
    return replace(last, other_attempts=tuple(attempt for attempt in attempts if attempt is not last))


def _confirmed(found: CaseVerdict, again: Sequence[CaseVerdict]) -> CaseVerdict:
    """Add the re-measurements to a case that was out of bounds. The one on the same nodes replaces the case.

    A re-measurement that was ended from outside does not: then the earlier measurement counts.
    """
    left = [attempt for attempt in again if attempt.case.purpose == REMAINING_NODES]
    remaining = tuple(attempt for attempt in left if confirms(attempt.case, found.case))
    if _crashed(found) and any(map(_crashed, remaining)):
        # The program crashes on other nodes, too, so the node where it crashed first is not at fault.
        return replace(_blaming_nobody(found), elsewhere=tuple(map(_blaming_nobody, remaining)))
    if remaining:
        return replace(found, elsewhere=remaining)
    if not doubtful(found):
        return found
    mine = [attempt for attempt in again if confirms(attempt.case, found.case)]
    # The re-measurement is selected without the variant that ReFrame's options made, and stands for it.
    same = [
        replace(attempt, stands_for=found.pinned)
        for attempt in mine
        if attempt.case.purpose == SAME_NODES
    ]
    elsewhere = tuple(attempt for attempt in mine if attempt.case.purpose != SAME_NODES)
    ran = [found, *(attempt for attempt in same if executed(attempt.case))]
    others = [attempt for attempt in (replace(found, other_attempts=()), *same) if attempt.case is not ran[-1].case]
    return despite_load(replace(ran[-1], other_attempts=(*found.other_attempts, *others), elsewhere=elsewhere))


def _crashed(attempt: CaseVerdict) -> bool:
    return any(finding.quantity == RANK_CRASHED for finding in attempt.findings)


def _blaming_nobody(attempt: CaseVerdict) -> CaseVerdict:
    return replace(attempt, sets_aside="nodes", suspicion=None)


def _with_suspicion(attempt: CaseVerdict, everything: Attempts) -> CaseVerdict:
    """Add the suspect nodes to a failed attempt. An attempt within its bounds yields at most an observation."""
    if attempt.state is State.FAIL and (not attempt.case.robbed or names_nodes_beside_load(attempt)):
        return replace(attempt, suspicion=everything.localise(attempt))
    return attempt


def speaking(verdict: CaseVerdict) -> tuple[CaseVerdict, ...]:
    """Return the attempts that count as evidence: if a re-measurement on the same nodes passed, they have none."""
    if verdict.state is State.FAIL:
        return (*verdict.repeated, verdict)
    return (*(other for other in verdict.repeated if not other.case.involved <= verdict.case.involved), verdict)


@dataclass(frozen=True)
class Verdict:
    """Hold the verdict on a session. ``cases`` has the attempt that counts for each case, in the report's order."""

    session: Session
    site: Site | None
    mode: str | None
    mode_origin: str
    state: State
    cases: tuple[CaseVerdict, ...]
    gaps: tuple[Gap, ...]
    not_provided: tuple[NotProvided, ...]
    suspects: tuple[SuspectNode, ...]
    breadth: str = ""
    """"expects 3 of 11 families", if the mode expects fewer families than the site can run."""

    left_by_budget: tuple[LeftByBudget, ...] = ()
    judged_by: tuple[pathlib.Path, ...] = ()
    """The site's files that judged the run, if the site's files have changed since."""
    changes: tuple[str, ...] | None = None
    """What differs from the verdict of the run's time, if the present files and references judged it."""
    acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED
    """The site's acknowledgements today; they change nothing else here."""

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.state]

    def cases_in(self, state: State) -> tuple[CaseVerdict, ...]:
        return tuple(verdict for verdict in self.cases if verdict.state is state)

    @property
    def unstable(self) -> tuple[CaseVerdict, ...]:
        return tuple(verdict for verdict in self.cases if verdict.unstable)


def judge(session: Session, site: Site | None, mode: str | None = None, site_problem: str = "") -> Verdict:
    """Judge ``session`` by the expectations of ``site`` in ``mode``.

    - FAIL: at least one case failed.
    - INCOMPLETE: no case failed, but something expected did not run, was not measured or has no reference.
    - PASS: otherwise.

    :param site: ``None`` if the report's site is unknown; ``site_problem`` says why.
    :param mode: the default is the session's mode, or else the site's default mode.
    """
    mode, origin = _mode(session, site, mode)
    cases = latest_attempts(session)
    census = find_census(cases)
    left = left_by_budget(session, census)
    gaps = [gap for verdict in cases for gap in verdict.gaps]
    if not cases:
        gaps.append(Gap("the report has no case", "check the selection (-n, -t, --mode) with reframe -L"))
    if session.cut:
        gaps.append(Gap("the session was cut off", "run the mode again", detail=session.cut))
    if site is None:
        gaps.append(Gap("the report's site is unknown", "give the site's folder with --site", detail=site_problem))
    elif mode not in site.modes:
        gaps.append(Gap("the site has no check in this mode", modes_of(site), detail=str(mode)))
    else:
        without = {one.check for one in left}
        gaps += in_one(expectation_gaps(site, mode, cases, census, without), session.command_line, mode)
    gaps += census_gaps(census)
    failed = any(verdict.state is State.FAIL for verdict in cases)
    return Verdict(
        session=session,
        site=site,
        mode=mode,
        mode_origin=origin,
        state=State.FAIL if failed else State.INCOMPLETE if gaps else State.PASS,
        cases=cases,
        gaps=tuple(gaps),
        not_provided=(*not_provided(site, census), *state_not_provided(cases)),
        breadth=breadth(site, mode, census) if site and mode is not None else "",
        left_by_budget=left,
        suspects=suspect_nodes([attempt for verdict in cases for attempt in speaking(verdict)]),
    )


def modes_of(site: Site) -> str:
    """Return advice on the modes of a site."""
    if not site.modes:
        return "site.yaml is missing, and it defines the checks of each mode: write it (docs/site.md)"
    return f"choose one of the site's modes with --mode: {', '.join(site.modes)}"


def _mode(session: Session, site: Site | None, mode: str | None) -> tuple[str | None, str]:
    if mode is not None:
        return mode, "given"
    if session.mode is not None:
        return session.mode, "of the session"
    return (site.expected.default_mode, "the site's default") if site else (None, "")
