"""Verify the signed dossiers that retained clauses name, keep copies of them in a campaign, and plan the reruns."""

import datetime
import pathlib
import shutil
import tempfile
from dataclasses import asdict, dataclass

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, figure
from kappa.core.ground.whole_files import sync_folder, sync_tree
from kappa.core.sites.contract import Clause, Contract
from kappa.core.sites.derived_clauses import Retained
from reports.acceptance.campaign import Campaign
from reports.acceptance.dossier import seal_of, verify
from reports.acceptance.judge import ContractVerdict, judge
from reports.acceptance.retained import accepted_on, copy_of, figures_of, months_after, unusable
from reports.acceptance.retained_chance import DRAWS, METHOD, WrongAnswers, any_of, wrong_answers
from reports.acceptance.signature import MANIFEST, SignatureState, check


@dataclass(frozen=True)
class AcceptedDossier:
    """A dossier that passed ``kappa acceptance verify`` and has a good signature; ``folder`` is the one that the
    contract names, or its copy in a campaign."""

    clause: Clause
    folder: pathlib.Path
    verdict: ContractVerdict


def accepted_dossiers(contract: Contract, file: pathlib.Path, campaign: pathlib.Path | None) -> list[AcceptedDossier]:
    """Verify the dossier of each retained clause.

    :param file: the contract's; the dossiers' paths are relative to its folder.
    :param campaign: a campaign, whose copy of a dossier counts in place of the dossier.
    :raises InputError: a dossier is missing, altered, not signed or not usable; names the file, the clause and the key.
    """
    found = []
    for clause in contract.clauses:
        if clause.retained:
            folder = copy_of(campaign, clause) if campaign else None
            if folder is None or not folder.is_dir():
                folder = file.parent / clause.retained.dossier
            here = f"{clean(str(file))}: clause {clause.id}: retained.dossier: {clean(str(folder))}"
            found.append(AcceptedDossier(clause, folder, _verified(folder, clause.retained.keys, here)))
    return found


def _verified(folder: pathlib.Path, keys: tuple[str, ...], here: str) -> ContractVerdict:
    expected = "expected a signed, unaltered dossier"
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{here}: no {MANIFEST}: {expected}")
    proof = seal_of(folder, keys)
    problems = proof.problems or verify(folder).problems
    if problems:
        raise InputError(f"{here}: {problems[0]}: {expected}")
    if not keys and not any(one.check is SignatureState.GOOD for one in check(folder, [])):
        raise InputError(f"{here}: {proof.unchecked[0]}: {expected}; or name the keys of its parties in retained.keys")
    verdict = judge(Campaign(folder))
    problems = unusable(verdict)
    if problems:
        raise InputError(f"{here}: {problems[0]}")
    return verdict


def keep_copies(campaign: Campaign, accepted: list[AcceptedDossier]) -> None:
    """Copy the dossiers into the campaign, each complete or not at all.

    :raises InputError: a dossier cannot be copied.
    """
    for one in accepted:
        target = copy_of(campaign.folder, one.clause)
        if one.folder == target:
            continue
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as part:
                copied = pathlib.Path(part, "dossier")
                shutil.copytree(one.folder, copied, symlinks=True, copy_function=shutil.copyfile)
                sync_tree(copied)
                copied.rename(target)
            sync_folder(target.parent)
        except (OSError, shutil.Error) as err:
            raise InputError(f"cannot copy {clean(str(one.folder))} to {clean(str(target))}: {err}") from err


@dataclass(frozen=True)
class PlannedRerun:
    """The plan of a retained clause."""

    accepted: AcceptedDossier
    chances: dict[str, WrongAnswers | None]
    """By id of the accepted clause; ``None`` where the repeats show no spread."""

    @property
    def _block(self) -> Retained:
        assert self.accepted.clause.retained
        return self.accepted.clause.retained

    @property
    def due(self) -> datetime.date:
        """Return the last day of the first rerun."""
        return months_after(accepted_on(self.accepted.verdict), self._block.every_months)

    @property
    def document(self) -> dict[str, object]:
        """Return the plan for JSON; spreads, speeds and chances as shares."""
        return {
            "clause": self.accepted.clause.id,
            "share": self._block.share,
            "due": str(self.due),
            "draws": DRAWS,
            "chances": {name: chance and asdict(chance) for name, chance in self.chances.items()},
        }

    @property
    def lines(self) -> list[str]:
        verdict = self.accepted.verdict
        lines = [
            f"{self.accepted.clause.id} {figure(self._block.least)} % of {counted(len(self.chances), 'figure')} of "
            f"{verdict.contract.title}, accepted {accepted_on(verdict)}: due by {self.due}, "
            f"then every {counted(self._block.every_months, 'month')}"
        ]
        for before in figures_of(verdict):
            chance = self.chances[before.clause.id]
            lines.append(f"    {before.clause.id} {chance or 'the repeats show no spread: the chance is unknown'}")
        known = [chance for chance in self.chances.values() if chance]
        if known:
            lines.append(f"    an unchanged machine fails the clause in {any_of(known)}")
            lines.append(f"    {METHOD}")
        return lines


def planned_reruns(accepted: list[AcceptedDossier]) -> tuple[PlannedRerun, ...]:
    return tuple(
        PlannedRerun(
            one,
            {before.clause.id: wrong_answers(before, one.clause.retained.share) for before in figures_of(one.verdict)},
        )
        for one in accepted
        if one.clause.retained
    )
