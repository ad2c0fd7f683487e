"""Writes a dossier from a campaign, and proves later that it is as it was written."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.typed import fit, parse_json
from kappa.core.ground.whole_files import sync_folder, sync_tree, write_atomically
from reports.acceptance import signature
from reports.acceptance.campaign import ATTEMPTS, BY_RUN, REPORT, Campaign
from reports.acceptance.dossier_page import Raw, RawFile, render, renderer, to_pdf
from reports.acceptance.judge import Verdict, judge
from reports.acceptance.manifest import MANIFEST, SIZE_LIMIT, differences, files_below, manifest_of, member_text, sha256
from reports.acceptance.printed import Printed, compare
from reports.acceptance.shown import expected, shown
from reports.acceptance.verdict_json import to_json, without_prose
from reports.acceptance.versions import is_version

HTML, PDF, VERDICT = "dossier.html", "dossier.pdf", "verdict.json"
# What was too large to be copied; only where something was.
LEFT_OUT = "left-out.json"
RAW_LIMIT = 64 << 20
_GENERATOR = re.compile(r'<meta name="generator" content="[^"<>]*">')
# Derived from the reports.
_NOT_RAW = "perflogs"


def write_dossier(campaign: Campaign, target: pathlib.Path, pdf: bool, how_signed: str | None) -> Verdict:
    """Judge ``campaign`` and write its dossier to the new folder ``target``, whole or not at all.

    Nothing but the campaign's folder goes into it: the same results give the same files.

    :param how_signed: see ``signature.sign``.
    :raises InputError: ``target`` exists, something cannot be written, printed or signed, or the campaign is damaged.
    """
    if target.exists():
        raise InputError(f"{clean(str(target))} exists, and what was signed is not overwritten; name another with -o")
    verdict = judge(campaign)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as part:
            folder = pathlib.Path(part, "dossier")
            folder.mkdir(mode=0o700)
            _fill(folder, campaign, verdict, pdf)
            if how_signed:
                signature.sign(folder, how_signed)
            # Else the new name may survive a power cut and what it names may not.
            sync_tree(folder)
            folder.rename(target)
            sync_folder(target.parent)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(target))}: {err.strerror}") from err
    return verdict


def _fill(folder: pathlib.Path, campaign: Campaign, verdict: Verdict, pdf: bool) -> None:
    left_out = _copy_raw(campaign.folder, folder)
    if left_out:
        write_atomically(folder / LEFT_OUT, json.dumps([asdict(file) for file in left_out], indent=1) + "\n")
    page = render(verdict, _raw_of(folder), left_out, evidence_of(folder))
    write_atomically(folder / HTML, page)
    if pdf:
        to_pdf(page, folder / PDF)
    write_atomically(folder / VERDICT, to_json(verdict))
    write_atomically(folder / MANIFEST, manifest_of(folder))


def _copy_raw(source: pathlib.Path, folder: pathlib.Path) -> list[RawFile]:
    """Copy contract and attempts; returns what is too large. Links are no results."""
    left_out = []
    for name in files_below(source):
        path = pathlib.PurePosixPath(name)
        of_attempt = path.parts[0] == ATTEMPTS and not path.parts[1].startswith(".") and _NOT_RAW not in path.parts
        file = source / path
        if not (of_attempt or name in BY_RUN or is_version(name)) or file.is_symlink() or not file.is_file():
            continue
        entry = RawFile(clean(name), file.stat().st_size, sha256(file))
        # The verdict follows from the reports.
        if entry.size > RAW_LIMIT and path.name != REPORT:
            left_out.append(entry)
            continue
        target = folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(file, target, follow_symlinks=False)
    return left_out


def _raw_of(folder: pathlib.Path) -> Raw:
    names = _raw_names(folder)
    return Raw(len(names), sum((folder / name).stat().st_size for name in names))


def _raw_names(folder: pathlib.Path) -> list[str]:
    return [
        name for name in files_below(folder) if name in BY_RUN or is_version(name) or name.startswith(f"{ATTEMPTS}/")
    ]


def evidence_of(folder: pathlib.Path) -> str:
    """SHA-256 over contract and raw results: of their lines as ``sha256sum`` prints them, in order of path."""
    lines = (f"{sha256(folder / name)}  {name}\n" for name in _raw_names(folder))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()


@dataclass(frozen=True)
class Proof:
    """``problems``: what was altered. ``unchecked``: what could not be looked at. ``good``: what was."""

    problems: list[str]
    unchecked: list[str]
    good: list[str]

    @property
    def exit_status(self) -> int:
        return 1 if self.problems else 2 if self.unchecked else 0


def verify(folder: pathlib.Path, keys: Sequence[str] = ()) -> Proof:
    """Hold a dossier against its manifest, its signatures, and the verdict that its raw results give.

    :param keys: of all who must have signed; see ``signature.check``.
    :raises InputError: it is no dossier.
    """
    problems = differences(folder)
    signatures = signature.check(folder, keys)
    unchecked = [s.words for s in signatures if s.check is signature.Check.NOT_CHECKED]
    good = [s.words for s in signatures if s.check in (signature.Check.GOOD, signature.Check.NONE)]
    problems += [s.words for s in signatures if s.check is signature.Check.BAD]
    if not problems:
        verdict = judge(Campaign(folder))
        evidence = evidence_of(folder)
        problems += _verdict_problems(folder, verdict, good)
        page = _page_problems(folder, verdict, evidence)
        problems += page or _rest_of_page(folder, verdict, evidence, unchecked, good)
        good.append(f"the verdict follows from the raw results: {verdict.acceptance.word}")
        good.append(f"evidence, as it has to stand on what was signed on paper: {evidence}")
        good.append(f"SHA-256 of {MANIFEST}: {sha256(folder / MANIFEST)}")
    return Proof(problems, unchecked, good)


def _verdict_problems(folder: pathlib.Path, verdict: Verdict, good: list[str]) -> list[str]:
    """Where ``verdict.json`` is another verdict; adds to ``good`` where it only has other words."""
    derived = to_json(verdict)
    try:
        stored = member_text(folder / VERDICT)
        same = without_prose(stored) == without_prose(derived)
    except OSError as err:
        return [f"cannot be read: {VERDICT} ({err.strerror})"]
    except (ValueError, RecursionError):
        same = False
    if not same:
        return [f"{VERDICT} is not what this version of the suite makes of the raw results"]
    if stored != derived:
        good.append(f"note: this version of the suite words {VERDICT} otherwise; verdicts and figures are the same")
    return []


def _page_problems(folder: pathlib.Path, verdict: Verdict, evidence: str) -> list[str]:
    """Where the page that people sign shows something else than what follows from the raw results."""
    try:
        found = shown(member_text(folder / HTML))
    except OSError as err:
        return [f"cannot be read: {HTML} ({err.strerror})"]
    except ValueError:
        return [f"{HTML} is no page of a dossier"]
    wanted = expected(verdict, evidence)
    return [
        f"{HTML} shows {one_line(clean(', '.join(sorted(found.get(place, {'nothing'})))), 80)} as {clean(place)}, and "
        f"the raw results give {', '.join(wanted.get(place, {'none'}))}"
        for place in sorted({*wanted, *found})
        if found.get(place) != wanted.get(place)
    ]


def _rest_of_page(
    folder: pathlib.Path, verdict: Verdict, evidence: str, unchecked: list[str], good: list[str]
) -> list[str]:
    """Where page and PDF are not, in all that they say, what follows from the raw results."""
    stored = member_text(folder / HTML)
    anew = render(verdict, _raw_of(folder), _left_out(folder), evidence)
    # Who made it is no part of what it says.
    if _GENERATOR.sub("", stored) == _GENERATOR.sub("", anew):
        good.append(f"{HTML} is, to the letter, what the raw results give")
        return _pdf_problems(folder, anew, unchecked, good)
    if renderer() in stored:
        where = _first_difference(stored, anew)
        return [f"{HTML} is not what this version of the suite makes of the raw results: {where}"]
    unchecked.append(
        f"{HTML} was made by another version of the suite: its verdicts and evidence follow from the raw results; its"
        f" other text and {PDF} were not checked"
    )
    return []


def _left_out(folder: pathlib.Path) -> list[RawFile]:
    """:raises InputError: the list cannot be read."""
    if not (folder / LEFT_OUT).exists():
        return []
    source = clean(str(folder / LEFT_OUT))
    try:
        return fit(parse_json(member_text(folder / LEFT_OUT), source), list[RawFile], source)
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(f"cannot read {source}: {err}") from err


def _first_difference(stored: str, anew: str) -> str:
    lines = zip(stored.splitlines(), anew.splitlines(), strict=False)
    one, other = next(((one, other) for one, other in lines if one != other), ("its end", "its end"))
    return f"{one_line(clean(one.strip()), 80)!r} in place of {one_line(clean(other.strip()), 80)!r}"


def _pdf_problems(folder: pathlib.Path, page: str, unchecked: list[str], good: list[str]) -> list[str]:
    """Where the PDF says something else than ``page``, which follows from the raw results."""
    if not (folder / PDF).exists():
        return []
    if (folder / PDF).stat().st_size > SIZE_LIMIT:
        return [f"{PDF} is larger than any that is printed"]
    try:
        with tempfile.TemporaryDirectory() as name:
            to_pdf(page, pathlib.Path(name, PDF))
            found = compare((folder / PDF).read_bytes(), pathlib.Path(name, PDF).read_bytes())
    except InputError as err:
        unchecked.append(f"{PDF} was not checked: {err}")
        return []
    if found is Printed.OTHER:
        return [f"{PDF} does not say what {HTML} says"]
    if found is Printed.SAME:
        good.append(f"{PDF} says what {HTML} says")
    else:
        unchecked.append(f"{PDF} was printed with other fonts or another WeasyPrint: compare it with {HTML}")
    return []
