"""The verdict: a pure function of a session, a site and a mode."""

import pathlib
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Session
from kappa.core.sites.expected import Site, SiteUnknownError, find_site, load_site
from reports.verdict.attempts import latest_attempts, speaking
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.expectations import (
    LeftByBudget,
    NotProvided,
    breadth,
    census_gaps,
    expectation_gaps,
    find_census,
    left_by_budget,
    not_provided,
    state_not_provided,
)
from reports.verdict.gaps import Gap
from reports.verdict.localise import SuspectNode, suspect_nodes
from reports.verdict.selection import in_one
from reports.verdict.state import State

EXIT_STATUS = {State.PASS: 0, State.FAIL: 1, State.INCOMPLETE: 2}


@dataclass(frozen=True)
class Verdict:
    """``cases`` holds the attempt that counts of each case, in the report's order."""

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
    """"expects 3 of 11 families", when the site expects less than its checks could do."""

    left_by_budget: tuple[LeftByBudget, ...] = ()

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.state]

    def cases_in(self, state: State) -> tuple[CaseVerdict, ...]:
        return tuple(verdict for verdict in self.cases if verdict.state is state)

    @property
    def unstable(self) -> tuple[CaseVerdict, ...]:
        return tuple(verdict for verdict in self.cases if verdict.unstable)


def judge(session: Session, site: Site | None, mode: str | None = None, site_problem: str = "") -> Verdict:
    """Hold ``session`` against what ``site`` expects in ``mode``.

    FAIL when any case failed; INCOMPLETE when none failed but something expected did not run, was not measured or has
    no reference; PASS otherwise. Without ``mode`` it is the session's, or else the site's default.

    :param site: ``None`` when the report's site is not known; ``site_problem`` says why.
    """
    mode, origin = _mode(session, site, mode)
    cases = latest_attempts(session)
    census = find_census(cases)
    left = left_by_budget(session, census)
    gaps = [gap for verdict in cases for gap in verdict.gaps]
    if not cases:
        gaps.append(Gap("the report holds no case", "look at what was selected (-n, -t, --mode) with reframe -L"))
    if site is None:
        gaps.append(Gap("the report's site is not known", "name its folder with --site", detail=site_problem))
    elif mode not in site.modes:
        remedy = f"expected.yaml has {', '.join(site.modes)}; choose one with --mode"
        gaps.append(Gap("the site expects nothing of this mode", remedy, detail=str(mode)))
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


def judge_report(run: pathlib.Path, site_folder: pathlib.Path | None = None, mode: str | None = None) -> Verdict:
    """Judge the report ``run``, or the newest in that folder, by ``site_folder`` (default: the site of its cases).

    :raises InputError: the report or a file of the site cannot be used, or the site has no such mode.
    """
    session = load_session(run)
    try:
        site = load_site(site_folder or find_site(session.systems))
    except SiteUnknownError as err:
        return judge(session, None, mode, str(err))
    if mode is not None and mode not in site.modes:
        raise InputError(f"--mode {mode}: {site.path}/expected.yaml has {', '.join(site.modes)}")
    return judge(session, site, mode)


def _mode(session: Session, site: Site | None, mode: str | None) -> tuple[str | None, str]:
    if mode is not None:
        return mode, "given"
    if session.mode is not None:
        return session.mode, "of the session"
    return (site.default_mode, "the site's default") if site else (None, "")
