"""The outage log of a campaign: a JSON entry a line, appended only, each with the hash of the line before.

::

    outages.jsonl            events, observation, corrections and agreements of the parties
    raw/                     the answers of Slurm; lines of the log have their SHA-256

The id of an entry is the number of its line. A correction is a new line that supersedes an earlier one. Times are UTC.
"""

import contextlib
import datetime
import hashlib
import pathlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.whole_files import opened
from reports.acceptance.campaign.chained_lines import (
    LineChain,
    append_lines,
    broken,
    cut_torn_line,
    decoded,
    read_lines,
)
from reports.acceptance.campaign.layout import LOG, RAW
from reports.acceptance.outages.terms import OutageTerms

LOCK = ".outages.lock"
UNKNOWN = "unknown"
OUTAGES = ("system_interrupt", "node_interrupt", "job_interrupt")
EntryKind = Literal[
    "begin", "observed", "not_observed", "system_interrupt", "node_interrupt", "job_interrupt", "void", "agreement"
]
_Moment = Annotated[datetime.datetime, Meta(tz=True)]
_Short = Annotated[str, Meta(min_length=1, max_length=200)]


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new entry, without the fields that the log adds.

    ``what``: ``begin`` of the period; time that was ``observed`` or ``not_observed``; an interrupt of the system, of
    ``nodes``, or of a job of all nodes; ``void`` takes back what it supersedes; ``agreement`` of the party ``by`` to
    the entries ``about``. ``end`` is missing while an outage goes on. ``evidence`` names files.
    """

    by: _Short
    source: _Short
    what: EntryKind
    nodes: tuple[str, ...] = ()
    start: _Moment | None = None
    end: _Moment | None = None
    scheduled: bool = False
    cause: _Short = UNKNOWN
    attribution: Literal["vendor", "site", "external", "other"] | None = None
    exclusion: _Short | None = None
    evidence: tuple[str, ...] = ()
    note: Annotated[str, Meta(max_length=1000)] = ""
    about: tuple[str, ...] = ()
    supersedes: str | None = None


class _Line(Draft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    recorded: _Moment
    prev: str


class LogEntry(Struct, frozen=True, gc=False):
    """A line of the log; ``number`` is its id, times are seconds since 1970."""

    number: int
    recorded: int
    by: str
    source: str
    what: str
    nodes: tuple[str, ...]
    start: int
    end: int | None
    scheduled: bool
    cause: str
    attribution: str | None
    exclusion: str | None
    evidence: tuple[str, ...]
    note: str
    supersedes: int | None

    def corrected(self, **changes: Any) -> Draft:
        """Return a draft that supersedes the entry."""
        names = ("what", "nodes", "scheduled", "cause", "attribution", "exclusion", "evidence")
        kept = {name: getattr(self, name) for name in names}
        end = None if self.end is None else utc(self.end)
        return Draft(**{**kept, "start": utc(self.start), "end": end, "supersedes": str(self.number), **changes})


@dataclass
class OutageLog(LineChain):
    """``latest``: entries that no later line supersedes. ``agreed``: party -> number of an entry -> when it agreed."""

    latest: dict[int, LogEntry] = field(default_factory=dict)
    superseded: dict[int, LogEntry] = field(default_factory=dict)
    agreed: dict[str, dict[int, int]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    last_recorded: int = 0
    node_lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Each list of nodes once: a year of a large machine has a million entries, with few different texts."""

    def versions(self, entry: LogEntry) -> Iterator[LogEntry]:
        """Yield ``entry`` and the entries that it superseded, the newest first."""
        yield entry
        while entry.supersedes is not None:
            entry = self.superseded[entry.supersedes]
            yield entry

    def is_agreed(self, entry: LogEntry, parties: Sequence[str]) -> bool:
        return not self.lacking(entry, parties)

    def lacking(self, entry: LogEntry, parties: Sequence[str]) -> list[str]:
        """Return the parties that did not agree to ``entry``."""
        return [party for party in parties if entry.number not in self.agreed.get(party, ())]


def load_log(folder: pathlib.Path) -> OutageLog:
    """Read the log of a campaign and check each line against the line before.

    :raises InputError: a line was changed, removed or moved, or is no entry; names the line.
    """
    path, log = folder / LOG, OutageLog()
    for line, _ in read_lines(path, _Line, log):
        _take(line, log, path)
    if log.torn:
        log.remarks.append(f"line {log.lines + 1} of {LOG} was cut off when it was written and counts for nothing")
    return log


def _take(line: _Line, log: OutageLog, path: pathlib.Path) -> None:
    """Add a line, whose place in the chain is right, to ``log``."""
    number, recorded = log.lines + 1, int(line.recorded.timestamp())
    if recorded < log.last_recorded:
        back = log.last_recorded - recorded
        log.remarks.append(f"line {number} of {LOG} was recorded {back} s before the one above: a clock was set back")
    log.last_recorded = recorded
    if line.what == "agreement":
        agreed = log.agreed.setdefault(line.by, {})
        for about in line.about:
            entry = log.latest.get(_number(about))
            if entry is None:
                raise broken(path, number, f"agrees to {_no_entry(about)}")
            agreed.setdefault(entry.number, recorded)
        return
    if line.start is None:
        raise broken(path, number, "expected a start")
    start, end = int(line.start.timestamp()), None if line.end is None else int(line.end.timestamp())
    if end is not None and end < start:
        raise broken(path, number, "it ends before it begins")
    supersedes = None if line.supersedes is None else _number(line.supersedes)
    if supersedes is not None:
        before = log.latest.pop(supersedes, None)
        if before is None:
            raise broken(path, number, f"corrects {_no_entry(line.supersedes)}")
        log.superseded[supersedes] = before
    log.latest[number] = LogEntry(
        number,
        recorded,
        sys.intern(line.by),
        sys.intern(line.source),
        sys.intern(line.what),
        log.node_lists.setdefault(line.nodes, line.nodes),
        start,
        end,
        line.scheduled,
        sys.intern(line.cause),
        line.attribution,
        line.exclusion,
        line.evidence,
        sys.intern(line.note),
        supersedes,
    )


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else -1


def _no_entry(text: str | None) -> str:
    return f"{one_line(clean(text or ''), 20)}, which is no entry, or was corrected before"


def draft_by_hand(log: OutageLog, terms: OutageTerms, party: str, given: Mapping[str, Any]) -> Draft:
    """Return an entry of a party. If it corrects another, the fields that are not given stay.

    :param given: fields of ``Draft``.
    :raises InputError: the entry does not fit the terms, or lacks a field.
    """
    fields = {"by": party, "source": "hand", **given}
    supersedes, what = given.get("supersedes"), given["what"]
    before = log.latest.get(_number(supersedes))
    if supersedes is not None and before is None:
        raise InputError(f"--supersedes {_no_entry(supersedes)}")
    draft = before.corrected(**fields) if before else Draft(**fields)
    strange = sorted(set(draft.nodes) - set(terms.node_names))
    if strange:
        raise InputError(f"--nodes: the contract does not have {', '.join(strange[:5])}")
    if draft.exclusion not in (None, *terms.exclusions):
        legal = ", ".join(terms.exclusions) or "none"
        raise InputError(f"--exclusion {clean(str(draft.exclusion))}: the contract's list has {legal}")
    needed = {
        "--start": draft.start,
        "--nodes": draft.nodes or what != "node_interrupt",
        "--end": draft.end or what not in ("observed", "job_interrupt"),
        "--supersedes": supersedes or what != "void",
    }
    if lacking := [option for option, value in needed.items() if not value]:
        raise InputError(f"{what}: expected {' and '.join(lacking)}")
    return draft


class LogWriter:
    """The log, locked against other writers."""

    def __init__(self, folder: pathlib.Path, log: OutageLog) -> None:
        self.folder = folder
        self.log = log

    def append(self, drafts: Sequence[Draft], now: float | None = None) -> list[int]:
        """Append all of ``drafts``, wait until a power cut cannot undo it, and return their numbers.

        :raises InputError: they cannot be written; a part of the last line may remain, which the next writer removes.
        """
        recorded, path, lines = utc(time.time() if now is None else now), self.folder / LOG, []
        first = self.log.lines + 1
        for draft in drafts:
            fields = {name: getattr(draft, name) for name in draft.__struct_fields__}
            number = self.log.lines + 1
            line = _Line(id=str(number), recorded=recorded, prev=self.log.last_hash, **fields)
            text = msgspec.json.encode(line) + b"\n"
            # Never write a line that the reader would refuse.
            _take(decoded(msgspec.json.Decoder(_Line), text, path, number), self.log, path)
            self.log.add(text)
            lines.append(text)
        append_lines(path, b"".join(lines))
        return [*range(first, self.log.lines + 1)]


@contextlib.contextmanager
def writing(folder: pathlib.Path) -> Iterator[LogWriter]:
    """Hold the log of a campaign and read it. A last line that was cut off goes to ``raw/``.

    :raises InputError: another process writes it, or it is damaged.
    """
    with _held(folder, shared=False):
        log = load_log(folder)
        if log.torn:
            cut_torn_line(folder / LOG, log)
        yield LogWriter(folder, log)


@contextlib.contextmanager
def log_at_rest(folder: pathlib.Path) -> Iterator[None]:
    """Read the log while no other process writes it; the folder may be read-only.

    :raises InputError: it is being written.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FileNotFoundError):
            stack.enter_context(_held(folder, shared=True))
        yield


@contextlib.contextmanager
def _held(folder: pathlib.Path, shared: bool) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / LOCK, shared=shared))
        except LockedError as err:
            where = clean(str(folder / LOG))
            raise InputError(f"{where}: another process writes it ({err.holder}); run the command again") from None
        yield


def altered_raw(folder: pathlib.Path, log: OutageLog) -> list[str]:
    """Return the raw answers that the log names with a hash, and that are missing or have another."""
    problems = []
    entries = [*log.latest.values(), *log.superseded.values()]
    for evidence in sorted({item for entry in entries for item in entry.evidence if "=" in item}):
        name, _, digest = evidence.rpartition("=")
        path = pathlib.PurePosixPath(name)
        if path.parts[:1] != (RAW,) or ".." in path.parts:
            continue
        try:
            with opened(folder / path) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    problems.append(f"altered since the outage log named it: {clean(name)}")
        except OSError:
            problems.append(f"missing, though the outage log names it: {clean(name)}")
    return problems


def utc(moment: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(moment), datetime.UTC)
