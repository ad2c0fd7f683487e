"""Judge a run once, and keep the verdict in ``verdict.json`` beside its record (docs/record.md)."""

import contextlib
import pathlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements, acknowledgements_near
from kappa.core.record.load import load_session, read_record, write_record
from kappa.core.record.model import Case, Session
from kappa.core.record.runs import RUN_REPORT, VERDICT
from kappa.core.sites.load import Site, SiteUnknownError, changed_since, find_site, judging_site
from reports.verdict.case_verdict import CaseVerdict, Suspicion
from reports.verdict.expectations import LeftByBudget, NotProvided
from reports.verdict.judge import Verdict, judge, modes_of
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.present_references import changes, with_present_references
from reports.verdict.state import Gap, State
from reports.verdict.suspects import SuspectNode

#: Of ``verdict.json``. Another schema is of another version of Kappa, and the run is judged again.
SCHEMA = "kappa-verdict-1"


_Place = Annotated[int, Meta(ge=0)]


class StoredMetric(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on a metric; its value and bounds are in the record."""

    name: str
    state: State
    reason: str = ""
    detail: str = ""


class StoredCase(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on an attempt, see ``CaseVerdict``, with the place of its case in the record.

    ``session`` is 0 for the run itself, and N for the N-th session of ``again``. ``first``: the first measurement of
    that case's job. ``title`` is for readers.
    """

    title: str
    session: _Place = 0
    run: _Place = 0
    case: _Place
    first: bool = False
    state: State
    metrics: tuple[StoredMetric, ...] = ()
    gaps: tuple[Gap, ...] = ()
    suspicion: Suspicion | None = None
    sets_aside: Literal["", "speeds", "nodes"] = ""
    stands_for: str = ""
    other_attempts: "tuple[StoredCase, ...]" = ()
    elsewhere: "tuple[StoredCase, ...]" = ()


class StoredVerdict(Struct, frozen=True, kw_only=True):
    """The verdict on a run, see ``Verdict``.

    ``reports``: the SHA-256 of each report that was judged, the run's and those of re-measurements.
    """

    schema: Literal["kappa-verdict-1"] = "kappa-verdict-1"
    reports: tuple[str, ...]
    state: State
    site: str | None
    mode: str | None
    mode_origin: str
    breadth: str
    gaps: tuple[Gap, ...]
    suspects: tuple[SuspectNode, ...]
    not_provided: tuple[NotProvided, ...]
    left_by_budget: tuple[LeftByBudget, ...]
    cases: tuple[StoredCase, ...]


# What a verdict and its file have in common.
_OF_RUN = ("state", "mode", "mode_origin", "breadth", "gaps", "suspects", "not_provided", "left_by_budget")
_OF_CASE = ("state", "gaps", "suspicion", "sets_aside", "stands_for")


def keep_verdict(session: Session, site: Site) -> None:
    """Judge a run by the site's files that were kept with it, and write the verdict beside its record.

    :raises InputError: a file of the site is not usable, or the verdict cannot be written.
    """
    verdict = _judged_now(session, site)
    places: dict[int, dict[str, Any]] = {
        id(case): {"session": number, "run": at, "case": index, "first": first}
        for number, each in enumerate((session, *session.again))
        for at, run in enumerate(each.runs)
        for index, measured in enumerate(run)
        for case, first in ((measured, False), (measured.first, True))
    }

    def stored(attempt: CaseVerdict) -> StoredCase:
        return StoredCase(
            **places[id(attempt.case)],
            **{name: getattr(attempt, name) for name in _OF_CASE},
            title=attempt.title,
            metrics=tuple(
                StoredMetric(name=one.metric.name, state=one.state, reason=one.reason, detail=one.detail)
                for one in attempt.metrics
            ),
            other_attempts=tuple(map(stored, attempt.other_attempts)),
            elsewhere=tuple(map(stored, attempt.elsewhere)),
        )

    document = StoredVerdict(
        **{name: getattr(verdict, name) for name in _OF_RUN},
        reports=_reports(session),
        site=verdict.site.name if verdict.site else None,
        cases=tuple(map(stored, verdict.cases)),
    )
    write_record(pathlib.Path(session.path).with_name(VERDICT), document)


def _judged_now(session: Session, site: Site | None, mode: str | None = None, problem: str = "") -> Verdict:
    """Judge by the files that were kept with the run, or else by ``site``; parameters as ``judge``."""
    kept = judging_site(pathlib.Path(session.path).parent, ", ".join(session.systems))
    return replace(judge(session, kept or site, mode, problem), site=site or kept)


def verdict_of(session: Session, site: Site | None, mode: str | None = None, problem: str = "") -> Verdict:
    """Return the verdict on a run: the stored one, or else judge by the files that were kept with it, or by ``site``.

    :param mode: of a session that recorded none.
    :param problem: why the site is unknown.
    :raises InputError: the stored verdict or a file of the site is not usable.
    """
    stored = _stored(session)
    if stored:
        return replace(stored, site=site)
    return _judged_now(session, site, None if session.mode else mode, problem)


def _reports(session: Session) -> tuple[str, ...]:
    return tuple(each.sha256 for each in (session, *session.again))


def judge_report(
    run: pathlib.Path, site: Site | None = None, mode: str | None = None, *, again: bool = False
) -> Verdict:
    """Return the verdict on the report ``run``, or on the newest report in that folder (see ``verdict_of``).

    :param site: judge by its files instead.
    :param mode: judge by this mode instead.
    :param again: judge by the present files and references of the site, and say what changed.
    :raises InputError: the record or a file of the site is not usable, or the site has no such mode.
    """
    session = load_session(run)
    present, problem = site, ""
    if present is None:
        try:
            present = Site(find_site(session.systems))
        except SiteUnknownError as err:
            problem = str(err)
    if present and mode is not None and mode not in present.modes:
        raise InputError(f"--mode {mode}: {present.path} has no check in this mode; {modes_of(present)}")
    judged_by: list[pathlib.Path] = []
    if again:
        if present is None:
            raise InputError(f"--again needs the present site: {problem}; give the site's folder with --site")
        before = _judged_now(session, present, mode) if mode else verdict_of(session, present)
        verdict = judge(with_present_references(session, present), present, mode)
        verdict = replace(verdict, changes=changes(before, verdict))
    elif site:
        verdict = judge(session, site, mode)
    elif mode:
        verdict = _judged_now(session, present, mode, problem)
    else:
        verdict = verdict_of(session, present, problem=problem)
        judged_by = changed_since(present, pathlib.Path(session.path).parent) if present else []
    return replace(verdict, judged_by=tuple(judged_by), acknowledged=_acknowledged(session))


def _stored(session: Session) -> Verdict | None:
    """Return the verdict in ``verdict.json``; ``None`` if there is none about these reports.

    :raises InputError: the file is damaged, or does not belong to the record.
    """
    report = pathlib.Path(session.path)
    path = report.with_name(VERDICT)
    if report.name != RUN_REPORT or not path.is_file():
        return None
    stored = read_record(path, StoredVerdict, SCHEMA)
    if stored is None or stored.reports != _reports(session):
        return None
    try:
        cases = tuple(_attempt(case, (session, *session.again)) for case in stored.cases)
    except LookupError as err:
        raise InputError(f"{clean(str(path))}: {err}; remove this file, and Kappa judges the run again") from None
    return Verdict(session=session, site=None, cases=cases, **{name: getattr(stored, name) for name in _OF_RUN})


def _attempt(stored: StoredCase, sessions: Sequence[Session]) -> CaseVerdict:
    """Return the verdict on an attempt, with its case.

    :raises LookupError: the record has no such case.
    """
    case = _case(stored, sessions)
    if tuple(one.name for one in stored.metrics) != tuple(metric.name for metric in case.metrics):
        raise LookupError(f"{stored.title}: its metrics are not those of the record")
    return CaseVerdict(
        **{name: getattr(stored, name) for name in _OF_CASE},
        case=case,
        metrics=tuple(
            MetricVerdict(metric, one.state, one.reason, one.detail)
            for metric, one in zip(case.metrics, stored.metrics, strict=True)
        ),
        other_attempts=tuple(_attempt(one, sessions) for one in stored.other_attempts),
        elsewhere=tuple(_attempt(one, sessions) for one in stored.elsewhere),
    )


def _case(stored: StoredCase, sessions: Sequence[Session]) -> Case:
    with contextlib.suppress(IndexError):
        case = sessions[stored.session].runs[stored.run][stored.case]
        if found := case.first if stored.first else case:
            return found
    raise LookupError(f"{stored.title}: the record has no such case")


def _acknowledged(session: Session) -> Acknowledgements:
    """A file that cannot be read hides no verdict."""
    try:
        return acknowledgements_near(pathlib.Path(session.path))
    except InputError as err:
        print(f"warning: no acknowledgement is shown: {clean(str(err))}", file=sys.stderr)
        return NOTHING_ACKNOWLEDGED
