"""Compare a rerun with an accepted dossier, as a pure function of the campaign, which has a copy of the dossier."""

from __future__ import annotations

import calendar
import datetime
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kappa.core.sites.contract import Clause, Contract
from msgspec import structs

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.errors import InputError
from kappa.core.sites.derived_clauses import AgreedChange
from reports.acceptance.campaign import ACCEPTED, SPACK_LOCK, Attempt, Campaign, CaseSeries
from reports.acceptance.signature import differences, is_signature

if TYPE_CHECKING:
    from reports.acceptance.judge import ClauseVerdict, ContractVerdict

_UNKNOWN = "unknown"
# Characters of a SHA-256 in the name of a difference, which a person copies into the contract.
_DIGITS = 16


@dataclass(frozen=True)
class ChangedInput:
    """A program or an input that differs from the accepted run's; ``what`` is for instance program or nodes."""

    what: str
    before: str
    now: str

    @property
    def name(self) -> str:
        """Return the name that an agreement uses; it binds the new value."""
        return f"{self.what} {self.now}"


@dataclass(frozen=True)
class RetainedFigure:
    """``now``: the same statistic of the rerun, whose clause has the bound as its threshold."""

    accepted: ClauseVerdict
    now: ClauseVerdict
    changes: tuple[ChangedInput, ...]
    met: bool | None
    """``None`` if samples are missing, or if the parties did not agree to a change."""

    @property
    def share(self) -> float | None:
        """Return the share of the accepted figure; ``None`` if the rerun has no figure, or the ratio is not defined."""
        over, under = self.now.value, self.accepted.value
        if self.accepted.clause.comparison == "at_most":
            over, under = under, over
        return None if over is None or not under else over / under


@dataclass(frozen=True)
class RetainedVerdict:
    """``next_due`` counts from the rerun's last session; ``None`` before the first one."""

    figures: tuple[RetainedFigure, ...]
    accepted_on: datetime.date
    measured_on: datetime.date | None
    next_due: datetime.date | None
    agreed: tuple[AgreedChange, ...]

    @property
    def value(self) -> float | None:
        """Return the lowest share, in per cent."""
        shares = [figure.share for figure in self.figures if figure.share is not None]
        # Without rounding, a figure that is just met shows as 89.99999999999999 %.
        return round(100 * min(shares), 9) if shares else None


@dataclass(frozen=True)
class RetainedJudgement:
    """``met`` is ``None`` where ``problems`` leave it open."""

    met: bool | None
    found: RetainedVerdict | None
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def copy_of(campaign: pathlib.Path, clause: Clause) -> pathlib.Path:
    """Return the folder of the accepted dossier's copy in a campaign or a dossier."""
    return campaign / ACCEPTED / clause.id


def damage_of(dossier: pathlib.Path) -> list[str]:
    """Return the reasons why the copy of an accepted dossier is no basis for a comparison. Check no key."""
    if not dossier.is_dir():
        return ["the accepted dossier is missing; type kappa acceptance run"]
    try:
        found = [f"accepted dossier: {line}" for line in differences(dossier)]
    except InputError:
        return ["the accepted dossier has no valid manifest"]
    if not any(is_signature(path.name) for path in dossier.iterdir()):
        found.append("the accepted dossier is not signed")
    # So a forged dossier cannot hold dossiers without end.
    if not found and any(clause.retained for clause in Campaign(dossier).contract.clauses):
        found.append("the accepted dossier has retained clauses: expected the dossier of the first measurements")
    return found


def unusable(accepted: ContractVerdict) -> list[str]:
    """Return the reasons why an intact dossier has no figures to retain."""
    if accepted.acceptance.exit_status:
        return [f"the accepted dossier is {accepted.acceptance.word}: expected ACCEPTED"]
    below = [one.clause.id for one in figures_of(accepted) if (one.value or 0) < 0]
    if below:
        return [f"{', '.join(below)}: a share of a figure below 0 is not defined"]
    return [] if figures_of(accepted) else ["the accepted dossier has no complete clause about a series"]


def figures_of(accepted: ContractVerdict) -> list[ClauseVerdict]:
    """Return the clauses about a series that all agreed repeats decided."""
    return [v for v in accepted.clauses if not v.clause.block and not v.problems and v.value is not None]


def rerun_clause(clause: Clause, accepted: ClauseVerdict) -> Clause:
    """Return the accepted clause with the bound that the share gives as its threshold."""
    before = accepted.clause
    assert clause.retained and before.bound and accepted.value is not None
    bound = clause.retained.bound(accepted.value, before.comparison)
    return structs.replace(
        before, id=f"{clause.id}/{before.id}", bound=structs.replace(before.bound, value=bound), predicted=None,
        waiver=None,
    )  # fmt: skip


def with_reruns(contract: Contract, accepted: dict[str, ContractVerdict]) -> Contract:
    """Return the contract with a clause for each series that a retained clause reruns.

    :param accepted: id of a retained clause -> the verdict in its dossier.
    """
    reruns = [
        rerun_clause(clause, before)
        for clause in contract.clauses
        if clause.id in accepted
        for before in figures_of(accepted[clause.id])
    ]
    return structs.replace(contract, clauses=(*contract.clauses, *reruns))


def judge_retained(
    clause: Clause,
    contract: Contract,
    accepted: ContractVerdict,
    reruns: Iterable[ClauseVerdict],
    attempts: Sequence[Attempt],
) -> RetainedJudgement:
    """Compare the rerun with the accepted figures.

    :param reruns: the verdicts on the clauses of ``with_reruns``, in the order of ``figures_of``.
    :param attempts: the campaign's.
    """
    block = clause.retained
    assert block
    agreed = {change.change for change in block.agreed}
    figures, problems, remarks = [], [], []
    named: dict[ChangedInput, list[str]] = {}
    for before, now in zip(figures_of(accepted), reruns, strict=True):
        changes = _changes(_inputs(before, accepted.contract, accepted.attempts), _inputs(now, contract, attempts))
        for change in changes if now.samples else ():
            named.setdefault(change, []).append(before.clause.id)
        open_ = [change for change in changes if change.name not in agreed]
        met = None if now.problems or open_ or now.value is None else now.clause.holds(now.value)
        figures.append(RetainedFigure(before, now, tuple(changes), met))
        problems += [f"{before.clause.id}: {problem}" for problem in now.problems]
        remarks += [f"{before.clause.id}: {remark}" for remark in now.remarks]
    for change, ids in named.items():
        words = f"{change.name!r} in place of {change.before} ({', '.join(ids)})"
        if change.name in agreed:
            remarks.append(f"another {words}, as agreed")
        else:
            problems.append(f"another {words}: it counts if retained.agreed has the agreement of all parties")
    measured_on = _day((figure.now for figure in figures), attempts)
    found = RetainedVerdict(
        tuple(figures),
        accepted_on(accepted),
        measured_on,
        measured_on and months_after(measured_on, block.every_months),
        block.agreed,
    )
    outcomes = [figure.met for figure in figures]
    met = False if False in outcomes else None if None in outcomes else True
    return RetainedJudgement(met, found, tuple(problems), tuple(remarks))


def accepted_on(accepted: ContractVerdict) -> datetime.date:
    """Return the day of the last session behind the accepted figures, or else the contract's date."""
    return _day(figures_of(accepted), accepted.attempts) or accepted.contract.date


def months_after(day: datetime.date, months: int) -> datetime.date:
    """Return the same day of a later month, or the month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return datetime.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _day(verdicts: Iterable[ClauseVerdict], attempts: Sequence[Attempt]) -> datetime.date | None:
    names = {sample.attempt for verdict in verdicts for sample in verdict.samples}
    starts = [attempt.started for attempt in attempts if attempt.folder.name in names]
    try:
        return max((datetime.datetime.strptime(start, "%Y%m%dT%H%M%S%z").date() for start in starts), default=None)
    except ValueError:
        return None


def _inputs(verdict: ClauseVerdict, contract: Contract, attempts: Sequence[Attempt]) -> dict[str, set[str]]:
    """Return what the repeats of a clause ran: name -> its values, several if the repeats differ."""
    names = {sample.attempt for sample in verdict.samples}
    found: dict[str, set[str]] = {"mode": {contract.mode or "none"}, "system": {contract.system}}
    for attempt in attempts:
        for case in attempt.cases if attempt.folder.name in names else ():
            if CaseSeries.of(case) != attempt.series:
                continue
            values = [
                ("case", str(attempt.series)),
                ("nodes", str(len(case.nodes))),
                ("program", case.provenance.sha256[:_DIGITS]),
            ]
            for path, digest in case.provenance.files.items():
                # A lock file changes with any package; the programs' own hashes tell of those that ran.
                if (name := pathlib.PurePath(path).name) != SPACK_LOCK:
                    values.append((f"file {name}", digest[:_DIGITS]))
            for what, value in values:
                found.setdefault(one_line(what, 100), set()).add(one_line(value, 200) or _UNKNOWN)
    return found


def _changes(before: dict[str, set[str]], now: dict[str, set[str]]) -> list[ChangedInput]:
    return [
        ChangedInput(what, " or ".join(sorted(before.get(what, {"none"}))), value)
        for what in sorted(before.keys() | now.keys())
        for value in sorted(now.get(what, {"none"}))
        # A fact that neither run recorded may have changed.
        if value not in before.get(what, {"none"}) or value == _UNKNOWN
    ]
