"""A clause about retained speed: a rerun of an accepted dossier's series; docs/acceptance.md has an example."""

import calendar
import collections
import datetime
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import Path
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, counted, figure
from kappa.core.ground.order_statistics import Statistic
from kappa.core.ground.whole_files import whole_folder
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.folder import SPACK_LOCK
from reports.acceptance.campaign.layout import ACCEPTED
from reports.acceptance.campaign.seal import Proof, check_seal
from reports.acceptance.campaign.signature import MANIFEST, differences, is_signature
from reports.acceptance.kinds.clause import (
    Clause,
    ClauseEvidence,
    ClausePlan,
    ClauseVerdict,
    Contract,
    ContractVerdict,
    Planning,
)
from reports.acceptance.kinds.contract_head import Day, Line
from reports.acceptance.kinds.pages import Section
from reports.acceptance.kinds.retained_chance import DRAWS, any_of, described, wrong_answers
from reports.acceptance.kinds.series import Series
from reports.show.provenance import Listing

_UNKNOWN = "unknown"
# Characters of a SHA-256 in the name of a change, which a person copies into the contract.
_DIGITS = 16
_MET = {True: "✔ met", False: "✘ not met", None: "○ incomplete"}
_Key = Annotated[
    str,
    Meta(
        pattern=r"^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}|RW[A-Za-z0-9+/]{54})$(?!\n)",
        description="a GnuPG fingerprint without blanks, or the last line of minisign's public key",
    ),
]


class AgreedChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The agreement of all parties to a change of a rerun's programs and inputs, which has the name ``change``."""

    change: Line
    reason: Line
    parties: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=8)]
    date: Day


class RetainedTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``share``: of the accepted figure; where less is better, the new figure may be the accepted one / ``share``.

    ``keys``: each of them must have signed the dossier; without keys one good signature by a key of GnuPG's keyring
    suffices.
    """

    dossier: Line
    share: Annotated[float, Meta(gt=0, le=1, description="a share above 0 and at most 1")]
    every_months: Annotated[int, Meta(ge=1, le=240, description="1 to 240 months")]
    keys: Annotated[tuple[_Key, ...], Meta(max_length=8)] = ()
    agreed: Annotated[tuple[AgreedChange, ...], Meta(max_length=100)] = ()


@dataclass(frozen=True)
class RetainedFigure:
    """Compare an accepted figure with the rerun's, whose clause has the bound as its threshold.

    ``changes``: name of each input that differs -> its accepted value. ``met`` is ``None`` if samples are missing, or
    if the parties did not agree to a change.
    """

    accepted: ClauseVerdict
    now: ClauseVerdict
    changes: Mapping[str, str]
    met: bool | None

    @property
    def share(self) -> float | None:
        """Return the share of the accepted figure; ``None`` if the rerun has no figure, or the ratio is not defined."""
        over, under = self.now.value, self.accepted.value
        if self.accepted.clause.comparison == "at_most":
            over, under = under, over
        return None if over is None or not under else over / under


@dataclass(frozen=True)
class RetainedFigures:
    """Hold the figures of a rerun; ``next_due`` counts from its last session."""

    figures: Sequence[RetainedFigure]
    accepted_on: datetime.date
    next_due: datetime.date | None


class Retained(Clause, frozen=True, kw_only=True, tag="retained"):
    retained: RetainedTerms

    @property
    def statistic(self) -> Statistic:
        return Statistic("lowest share of an accepted figure")

    @property
    def threshold(self) -> float:
        return 100 * self.retained.share

    @property
    def unit(self) -> str:
        return "%"

    @property
    def evidence(self) -> str:
        return f"rerun of {self.retained.dossier}"

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        for row, change in enumerate(self.retained.agreed):
            if {*change.parties} != {*contract.parties}:
                yield ("retained", "agreed", row, "parties"), f"expected every party: {', '.join(contract.parties)}"

    def as_begun(self) -> Clause:
        return replace(self, waiver=None, retained=replace(self.retained, agreed=()))

    # Plan and measurement.

    def series(self, planning: Planning) -> Sequence[Series]:
        return [self._rerun(before) for before in _figures_of(self._accepted(planning))]

    def plan(self, planning: Planning) -> ClausePlan:
        accepted, terms = self._accepted(planning), self.retained
        chances = {before.clause.id: wrong_answers(before, terms.share) for before in _figures_of(accepted)}
        accepted_on = _accepted_on(accepted)
        due = _months_after(accepted_on, terms.every_months)
        figures = f"{counted(len(chances), 'figure')} of {accepted.contract.title}, accepted {accepted_on}"
        lines = [f"    {figures}: due by {due}, then every {counted(terms.every_months, 'month')}"]
        lines += [f"    {name} {described(answers)}" for name, answers in chances.items()]
        if known := [answers for answers in chances.values() if answers]:
            lines.append(f"    an unchanged machine fails the clause in {any_of(known)}")
        return ClausePlan(tuple(lines), {"share": terms.share, "due": str(due), "draws": DRAWS, "chances": chances})

    def keep_inputs(self, planning: Planning) -> None:
        self._accepted(planning)
        assert planning.campaign
        folder, target = planning.file.parent / self.retained.dossier, self._copy(planning.campaign)
        if target.is_dir():
            return
        try:
            with whole_folder(target) as copy:
                shutil.copytree(folder, copy, symlinks=True, copy_function=shutil.copyfile, dirs_exist_ok=True)
        except (OSError, shutil.Error) as err:
            raise InputError(f"cannot copy {clean(str(folder))} to {clean(str(target))}: {err}") from err

    def _copy(self, campaign: pathlib.Path) -> pathlib.Path:
        """Return the folder of the dossier's copy in a campaign or a dossier."""
        return campaign / ACCEPTED / self.id

    def _accepted(self, planning: Planning) -> ContractVerdict:
        """Return the verdict of the accepted dossier, or of its copy in the campaign.

        :raises InputError: it is missing, altered, not signed or not usable; names the file, the clause and the key.
        """
        if self.id not in planning.contents:
            copy = planning.campaign and self._copy(planning.campaign)
            folder = copy if copy and copy.is_dir() else planning.file.parent / self.retained.dossier
            try:
                accepted = _usable(folder, planning.judge)
                proof = check_seal(folder, self.retained.keys)
                if problems := proof.problems or planning.verify(folder).problems:
                    raise _UnusableError(problems[0])
                if not self.retained.keys and not proof.good:
                    raise _UnusableError(f"{proof.unchecked[0]}; or name the keys of its parties in retained.keys")
            except _UnusableError as err:
                here = f"{clean(str(planning.file))}: clause {self.id}: retained.dossier: {clean(str(folder))}"
                raise InputError(f"{here}: {err}: expected a signed, unaltered dossier that is ACCEPTED") from err
            planning.contents[self.id] = accepted
        verdict: ContractVerdict = planning.contents[self.id]
        return verdict

    def _rerun(self, accepted: ClauseVerdict) -> Series:
        """Return the accepted clause with the bound that the share gives as its threshold."""
        before, share = accepted.clause, self.retained.share
        assert isinstance(before, Series) and accepted.value is not None
        least = accepted.value * share if before.comparison == "at_least" else accepted.value / share
        bound = replace(before.bound, value=least)
        return replace(before, id=f"{self.id}/{before.id}", bound=bound, predicted=None, waiver=None)

    # The verdict.

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        try:
            accepted = _usable(self._copy(evidence.campaign.folder), evidence.judge_dossier)
        except _UnusableError as err:
            remedy = "remove it and type kappa acceptance run, which copies the accepted dossier"
            return ClauseVerdict(self, None, problems=(f"{ACCEPTED}/{self.id}: {err}; {remedy}",))
        agreed = {change.change for change in self.retained.agreed}
        figures, problems, remarks = [], [], []
        ids: dict[tuple[str, str], list[str]] = {}
        for before in _figures_of(accepted):
            now, name = evidence.verdict(self._rerun(before)), before.clause.id
            changes = _changes(_inputs(before, accepted), _inputs(now, evidence))
            for change in changes.items() if now.samples else ():
                ids.setdefault(change, []).append(name)
            figures.append(RetainedFigure(before, now, changes, now.met if changes.keys() <= agreed else None))
            problems += [f"{name}: {problem}" for problem in now.problems]
            remarks += [f"{name}: {remark}" for remark in now.remarks]
        for (changed, former), names in ids.items():
            another = f"another {changed!r} in place of {former} ({', '.join(names)})"
            if changed in agreed:
                remarks.append(f"{another}, as agreed")
            else:
                problems.append(f"{another}: it counts if retained.agreed has the agreement of all parties")
        outcomes = {retained.met for retained in figures}
        met = False if False in outcomes else None if None in outcomes else True
        shares = [retained.share for retained in figures if retained.share is not None]
        # Without rounding, a figure that is just met shows as 89.99999999999999 %.
        value = round(100 * min(shares), 9) if shares else None
        measured_on = _day([retained.now for retained in figures], evidence)
        next_due = measured_on and _months_after(measured_on, self.retained.every_months)
        detail = RetainedFigures(figures, _accepted_on(accepted), next_due)
        return ClauseVerdict(self, met, value, problems=tuple(problems), remarks=tuple(remarks), detail=detail)

    def prove(self, evidence: ClauseEvidence, keys: Sequence[str]) -> Proof:
        copy, proof = self._copy(evidence.campaign.folder), Proof([], [], [])
        if copy.is_dir():
            try:
                proof = check_seal(copy, self.retained.keys)
            except InputError:
                proof.problems.append(f"no valid {MANIFEST}")
        return Proof(*([f"{ACCEPTED}/{self.id}: {line}" for line in lines] for lines in astuple(proof)))

    # The dossier.

    def section(self, verdict: ClauseVerdict) -> Section:
        detail: RetainedFigures | None = verdict.detail
        if detail is None:
            return Section()
        facts = [("Accepted", str(detail.accepted_on))]
        if detail.next_due:
            facts.append(("Next due", f"{detail.next_due}, counted from this run"))
        for change in self.retained.agreed:
            agreement = f"{', '.join(change.parties)}, {change.date}"
            facts.append(("Agreed", f"{change.change}: {change.reason} ({agreement})"))
        rows = [
            (
                f"{retained.accepted.clause.id} {retained.accepted.clause.statistic}",
                retained.accepted.clause.required,
                retained.accepted.clause.measured(retained.accepted),
                retained.now.clause.required,
                retained.now.clause.measured(retained.now),
                NOTHING if retained.share is None else f"{figure(100 * retained.share)} %",
                _MET[retained.met],
            )
            for retained in detail.figures
        ]
        header = ("Clause", "Committed", "Accepted", "Bound", "Measured", "Share", "Verdict")
        note = "Committed: the threshold of the accepted contract. Where less is better, share is accepted / measured."
        return Section(tuple(facts), tables=(Listing("Figures", header, rows, frozenset(header[1:]), note),))

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        detail: RetainedFigures | None = verdict.detail
        if detail is None:
            return {}
        figures = [
            {
                "committed": retained.accepted.clause.threshold,
                "accepted": retained.accepted.value,
                "share": retained.share,
                "met": retained.met,
                "changes": [*retained.changes],
                "rerun": retained.now.document,
            }
            for retained in detail.figures
        ]
        next_due = detail.next_due and str(detail.next_due)
        return {"retained": {"accepted_on": str(detail.accepted_on), "next_due": next_due, "figures": figures}}


class _UnusableError(Exception):
    """An accepted dossier has no figures to retain; the message says why."""


def _usable(dossier: pathlib.Path, judge: Callable[[pathlib.Path], ContractVerdict]) -> ContractVerdict:
    """Return the verdict of a signed, unaltered dossier with figures to retain. No key is checked.

    :raises _UnusableError: it is not such a dossier.
    """
    try:
        problems = differences(dossier)
    except InputError as err:
        raise _UnusableError(f"no valid {MANIFEST}") from err
    if not any(is_signature(path.name) for path in dossier.iterdir()):
        problems.append("not signed")
    # So a forged dossier cannot hold dossiers without end.
    if (dossier / ACCEPTED).exists():
        problems.append("it has retained clauses: name the dossier of the first measurements")
    if problems:
        raise _UnusableError(problems[0])
    accepted = judge(dossier)
    figures = _figures_of(accepted)
    if accepted.acceptance.exit_status:
        raise _UnusableError(f"it is {accepted.acceptance.word}")
    if below := [before.clause.id for before in figures if (before.value or 0) < 0]:
        raise _UnusableError(f"{', '.join(below)}: a share of a figure below 0 is not defined")
    if not figures:
        raise _UnusableError("it has no complete clause about a series")
    return accepted


def _figures_of(accepted: ContractVerdict) -> list[ClauseVerdict]:
    """Return the clauses about a series that all agreed repeats decided."""
    return [v for v in accepted.clauses if isinstance(v.clause, Series) and not v.problems and v.value is not None]


def _accepted_on(accepted: ContractVerdict) -> datetime.date:
    """Return the day of the last session behind the accepted figures, or else the contract's date."""
    return _day(_figures_of(accepted), accepted) or accepted.contract.date


def _months_after(day: datetime.date, months: int) -> datetime.date:
    """Return the same day of a later month, or the month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return datetime.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _day(verdicts: Iterable[ClauseVerdict], run: ContractVerdict | ClauseEvidence) -> datetime.date | None:
    """Return the day of the last session of the verdicts."""
    names = {sample.attempt for verdict in verdicts for sample in verdict.samples}
    starts = [attempt.started for attempt in run.attempts if attempt.folder.name in names]
    try:
        return max((datetime.datetime.strptime(start, "%Y%m%dT%H%M%S%z").date() for start in starts), default=None)
    except ValueError:
        return None


def _inputs(verdict: ClauseVerdict, run: ContractVerdict | ClauseEvidence) -> Mapping[str, set[str]]:
    """Return the programs and inputs of a clause's repeats: name -> its values, several if the repeats differ."""
    names = {sample.attempt for sample in verdict.samples}
    inputs = collections.defaultdict(set, mode={run.contract.mode or "none"}, system={run.contract.system})
    cases = [(attempt, case) for attempt in run.attempts if attempt.folder.name in names for case in attempt.cases]
    for attempt, case in cases:
        if CaseSeries.of(case) != attempt.series:
            continue
        inputs["case"].add(one_line(str(attempt.series), 200))
        inputs["nodes"].add(str(len(case.nodes)))
        files = [(f"file {pathlib.PurePath(path).name}", digest) for path, digest in case.provenance.files.items()]
        for name, digest in [("program", case.provenance.sha256), *files]:
            # A lock file changes with any package; the hashes of the programs tell which packages ran.
            if name != f"file {SPACK_LOCK}":
                inputs[one_line(name, 100)].add(one_line(digest[:_DIGITS], _DIGITS) or _UNKNOWN)
    return inputs


def _changes(before: Mapping[str, set[str]], now: Mapping[str, set[str]]) -> dict[str, str]:
    """Return name and new value of each input that differs -> its value before. An agreement binds the new value."""
    none = {"none"}
    return {
        f"{name} {value}": " or ".join(sorted(before.get(name, none)))
        for name in sorted(before.keys() | now.keys())
        for value in sorted(now.get(name, none))
        # A fact that neither run recorded may have changed.
        if value not in before.get(name, none) or value == _UNKNOWN
    }
