"""Write a dossier from a campaign, with a manifest of the SHA-256 of every file, and verify it later."""

import hashlib
import json
import os
import pathlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import whole_folder, write_atomically
from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.layout import ACCEPTED, ENERGY, LOG, MEASURED, REPORT, SUMS, is_result
from reports.acceptance.campaign.measured import (
    NOT_RAW,
    WITHOUT_CHAIN,
    RawFile,
    ended_attempts,
    left_out,
    load_measured,
)
from reports.acceptance.campaign.seal import HTML, LEFT_OUT, PDF, VERDICT, Proof, check_seal
from reports.acceptance.campaign.set_aside import set_aside, set_aside_operations
from reports.acceptance.campaign.signature import MANIFEST, files_below, manifest_of, member_text, sha256, sign
from reports.acceptance.dossier_page import render, renderer, to_pdf
from reports.acceptance.judge import gather, judge
from reports.acceptance.kinds.clause import ContractVerdict
from reports.acceptance.listing import to_json, without_prose

RAW_LIMIT = 64 << 20
_GENERATOR = re.compile(r'<meta name="generator" content="[^"<>]*">')


def write_dossier(campaign: Campaign, target: pathlib.Path, pdf: bool, how_signed: str | None) -> ContractVerdict:
    """Judge ``campaign`` and write its dossier to the new folder ``target``, complete or not at all.

    Only the campaign's folder goes into it, so the same results give the same files.

    :param how_signed: see ``signature.sign``.
    :raises InputError: ``target`` exists, the campaign is damaged, or a file cannot be written, printed or signed.
    """
    if target.exists():
        raise InputError(f"{clean(str(target))} exists; Kappa overwrites no dossier; give another folder with -o")
    verdict = judge(campaign)
    try:
        with whole_folder(target) as folder:
            _fill(folder, campaign, verdict, pdf)
            if how_signed:
                sign(folder, how_signed)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(target))}: {err.strerror}") from err
    return verdict


def _fill(folder: pathlib.Path, campaign: Campaign, verdict: ContractVerdict, pdf: bool) -> None:
    too_large = _copy_raw(campaign.folder, folder)
    if too_large:
        write_atomically(folder / LEFT_OUT, json.dumps([asdict(file) for file in too_large], indent=1) + "\n")
    page = render(verdict, _raw_sizes(folder), too_large, evidence_of(folder))
    write_atomically(folder / HTML, page)
    if pdf:
        to_pdf(page, folder / PDF)
    write_atomically(folder / VERDICT, to_json(verdict))
    write_atomically(folder / MANIFEST, manifest_of(folder))


def _copy_raw(source: pathlib.Path, folder: pathlib.Path) -> list[RawFile]:
    """Copy contract, attempts and outage log, without links, and return the files that are too large."""
    too_large = []
    for name in files_below(source):
        path = pathlib.PurePosixPath(name)
        file = source / path
        # The copy of an accepted dossier must stay whole, because its manifest lists every file.
        whole = path.parts[0] == ACCEPTED
        if not is_result(name) or (NOT_RAW in path.parts and not whole) or file.is_symlink() or not file.is_file():
            continue
        entry = RawFile(clean(name), file.stat().st_size, sha256(file))
        # Reports, chains and readings are always copied, because the verdict needs them.
        needed = path.name in (REPORT, LOG, MEASURED, SUMS) or path.parts[0] == ENERGY
        if entry.size > RAW_LIMIT and not whole and not needed:
            too_large.append(entry)
            continue
        target = folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(file, target, follow_symlinks=False)
    return too_large


def _raw_sizes(folder: pathlib.Path) -> list[int]:
    return [(folder / name).stat().st_size for name in _raw_names(folder)]


def _raw_names(folder: pathlib.Path) -> list[str]:
    return [name for name in files_below(folder) if is_result(name)]


def evidence_of(folder: pathlib.Path) -> str:
    """Return the SHA-256 over contract and raw results: over the lines of ``sha256sum``, sorted by path."""
    lines = (f"{sha256(folder / name)}  {name}\n" for name in _raw_names(folder))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()


def verify(folder: pathlib.Path, keys: Sequence[str] = ()) -> Proof:
    """Check a dossier against its manifest, its signatures, and the verdict that its raw results give.

    :param keys: the keys of all who must have signed; see ``signature.check``.
    :raises InputError: ``folder`` is not a dossier.
    """
    proof = check_seal(folder, keys)
    if proof.problems:
        return proof
    signatures = len(proof.good)
    gathered = gather(Campaign(folder))
    contract = gathered.contract
    for clause in contract.clauses:
        proof.add(clause.prove(gathered, keys))
    _check_measured(proof, folder)
    if proof.problems:
        return proof
    verdict = judge(gathered.campaign, gathered)
    if not keys and 0 < signatures < len(contract.parties):
        proof.unchecked.append(
            f"signed by {signatures} of {len(contract.parties)} parties: name the key of each party with --key"
        )
    evidence = evidence_of(folder)
    _check_verdict(proof, folder, to_json(verdict))
    _check_page(proof, folder, render(verdict, _raw_sizes(folder), left_out(folder), evidence))
    for attempt in (*set_aside(verdict.attempts), *set_aside_operations(folder)):
        (proof.unchecked if attempt.doubtful else proof.good).append(str(attempt))
    proof.good.append(f"the raw results give the verdict: {verdict.acceptance.word}")
    proof.good.append(f"evidence, to compare with the signed paper: {evidence}")
    proof.good.append(f"SHA-256 of {MANIFEST}: {sha256(folder / MANIFEST)}")
    return proof


def _check_measured(proof: Proof, folder: pathlib.Path) -> None:
    """Compare the attempts with the chain of measurements."""
    measured = load_measured(folder)
    if measured.kept:
        proof.good.append(str(measured))
    elif ended_attempts(folder):
        line = f"{WITHOUT_CHAIN}: records and raw output may have been altered before they were signed"
        proof.unchecked.append(line)
    late = [line.attempt for line in measured.lines.values() if line.late]
    proof.unchecked.extend(f"{name} was added to {MEASURED} by a later run, not when it was measured" for name in late)
    proof.problems.extend(measured.problems())


def _check_verdict(proof: Proof, folder: pathlib.Path, derived: str) -> None:
    """Compare ``verdict.json`` with the verdict that this version of the suite derives from the raw results."""
    stored = _stored(proof, folder, VERDICT)
    if stored is None or stored == derived:
        return
    try:
        same = without_prose(stored) == without_prose(derived)
    except (ValueError, RecursionError):
        same = False
    if same:
        line = f"note: the wording of {VERDICT} differs from this version of the suite; the verdicts are equal"
        proof.good.append(line)
    else:
        line = f"{VERDICT} differs from the verdict that this version of the suite derives from the raw results"
        proof.problems.append(line)


def _check_page(proof: Proof, folder: pathlib.Path, anew: str) -> None:
    """Compare the page with the page that this version of the suite makes from the raw results."""
    stored = _stored(proof, folder, HTML)
    if stored is None:
        return
    # The version that made the page is not part of its content.
    if _GENERATOR.sub("", stored) == _GENERATOR.sub("", anew):
        proof.good.append(f"{HTML} is exactly the page that the raw results give")
    elif renderer() in stored:
        proof.problems.append(f"{HTML} differs from the page that this version of the suite makes from the raw results")
    else:
        line = f"{HTML} is from another version of the suite: compare its verdicts with the verdict above"
        proof.unchecked.append(line)


def _stored(proof: Proof, folder: pathlib.Path, name: str) -> str | None:
    """Return the text of a file of the dossier; add a problem and return ``None`` if it has none."""
    try:
        return member_text(folder / name)
    except OSError as err:
        proof.problems.append(f"cannot be read: {name} ({err.strerror})")
    except UnicodeDecodeError:
        proof.problems.append(f"{name} is not UTF-8")
    return None
