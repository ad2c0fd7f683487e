"""Weeks of the outage log: both parties sign the hash of a week's last line, so that nothing can be rewritten later."""

import datetime
import json
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import fit, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import make_folder, write_atomically
from reports.acceptance.campaign.signature import MANIFEST, SignatureState, check, member_text, sign
from reports.acceptance.outages.log import LOG, WEEKS, OutageLog, load_log

_WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)


class _Week(msgspec.Struct, frozen=True):
    """``last_line`` is the SHA-256 of line ``lines``, the last of the week."""

    week: str
    lines: Annotated[int, msgspec.Meta(ge=0)]
    last_line: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$(?!\n)")]


def week_of(moment: float) -> str:
    """The ISO week of a moment in seconds since 1970, in UTC: ``2026-W49``."""
    year, week, _ = datetime.datetime.fromtimestamp(moment, datetime.UTC).isocalendar()
    return f"{year}-W{week:02}"


def end_of(week: str) -> int:
    """The first second after a week, in seconds since 1970.

    :raises InputError: it is no week.
    """
    match = _WEEK.fullmatch(week)
    try:
        if match is None:
            raise ValueError
        monday = datetime.datetime.fromisocalendar(int(match[1]), int(match[2]), 1)
    except ValueError:
        raise InputError(f"expected a week such as 2026-W49, found {clean(week)[:20]!r}") from None
    return int((monday + datetime.timedelta(days=7)).replace(tzinfo=datetime.UTC).timestamp())


def file_name(party: str) -> str:
    """A party's name as a part of the name of a signature."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", party)[:40]


def sign_week(folder: pathlib.Path, week: str, how: str, party: str, now: float) -> str:
    """Sign the hash of the last line of ``week`` for ``party``; returns the path of the signature in ``folder``.

    :param how: see ``signature.sign``.
    :raises InputError: the week has not ended, or the log is not what the other party signed.
    """
    end = end_of(week)
    if now < end:
        raise InputError(f"{week} ends at {datetime.datetime.fromtimestamp(end, datetime.UTC):%Y-%m-%d %H:%M} UTC")
    log = load_log(folder, recorded_before=end)
    place = folder / WEEKS / week
    wanted = _Week(week, log.lines, log.last_hash)
    if (place / MANIFEST).exists():
        if _load(place) != wanted:
            raise InputError(f"{clean(str(place))}: the other party signed another log: line {_load(place).lines}")
    else:
        make_folder(place)
        write_atomically(place / MANIFEST, json.dumps(msgspec.to_builtins(wanted), indent=1) + "\n")
    return f"{WEEKS}/{week}/{sign(place, how, file_name(party))}"


def _load(place: pathlib.Path) -> _Week:
    """:raises InputError: it cannot be read, or is none."""
    source = clean(str(place / MANIFEST))
    try:
        return fit(parse_json(member_text(place / MANIFEST), source), _Week, source)
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(f"cannot read {source}: {err}") from err


@dataclass(frozen=True)
class WeekCheck:
    """As ``dossier.Proof``; ``signed``: week -> the parties whose signature lies there."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    signed: dict[str, tuple[str, ...]] = field(default_factory=dict)


def weeks_of(log: OutageLog) -> list[str]:
    """Return the weeks of the log that have ended: those before the week of the last line."""
    if not log.lines:
        return []
    found, moment = [], log.first_recorded
    while end_of(week_of(moment)) <= log.last_recorded:
        found.append(week_of(moment))
        moment = end_of(found[-1])
    return found


def signers(folder: pathlib.Path, log: OutageLog, parties: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Week -> the parties of whom a signature lies there, whoever's it is."""
    found = {}
    for week in weeks_of(log):
        names = {path.name for path in (folder / WEEKS / week).glob(f"{MANIFEST}.*")}
        signed = [p for p in parties if names & {f"{MANIFEST}.{file_name(p)}.{kind}" for kind in ("asc", "minisig")}]
        found[week] = tuple(signed)
    return found


def check_weeks(folder: pathlib.Path, log: OutageLog, parties: Sequence[str], keys: Sequence[str]) -> WeekCheck:
    """Compare the log with each week that was signed, and check the signatures.

    :raises InputError: a key is none.
    """
    found = WeekCheck(signed=signers(folder, log, parties))
    places = sorted(path.parent for path in (folder / WEEKS).glob(f"*/{MANIFEST}"))
    weeks: dict[str, _Week] = {}
    for place in places:
        try:
            weeks[place.name] = _load(place)
        except InputError as err:
            found.problems.append(str(err))
    hashes = load_log(folder, hashes_of=[week.lines for week in weeks.values()]).hashes
    for name, week in weeks.items():
        if week.week != name or (week.lines and hashes.get(week.lines) != week.last_line):
            found.problems.append(
                f"week {clean(name)}: line {week.lines} of {LOG} is not the one that was signed: the log was rewritten"
            )
            continue
        for signature in check(folder / WEEKS / name, keys):
            words = f"week {name}: {signature.words}"
            lists = {SignatureState.BAD: found.problems, SignatureState.GOOD: found.good}
            lists.get(signature.check, found.unchecked).append(words)
    for week_name, who in found.signed.items():
        lacking = [party for party in parties if party not in who]
        if lacking:
            found.unchecked.append(f"week {week_name} of {LOG} is not signed by {clean(', '.join(lacking))}")
    return found
