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
from msgspec.structs import asdict, replace

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


class LogEntry(Draft, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A line of the log."""

    id: str
    recorded: _Moment
    prev: str

    @property
    def number(self) -> int:
        return int(self.id)

    @property
    def begins(self) -> int:
        """Return the start in seconds since 1970."""
        return int(self.start.timestamp()) if self.start else 0

    @property
    def ends(self) -> int | None:
        """Return the end in seconds since 1970; ``None`` while it lasts."""
        return int(self.end.timestamp()) if self.end else None

    def corrected(self, **changes: Any) -> Draft:
        """Return a draft that supersedes the entry."""
        names = ("what", "nodes", "start", "end", "scheduled", "cause", "attribution", "exclusion", "evidence")
        return Draft(**{**{name: getattr(self, name) for name in names}, "supersedes": self.id, **changes})


_DECODER = msgspec.json.Decoder(LogEntry)


@dataclass
class OutageLog(LineChain):
    """``latest``: entries that no later line supersedes. ``agreed``: party -> number of an entry -> when it agreed."""

    latest: dict[int, LogEntry] = field(default_factory=dict)
    superseded: dict[int, LogEntry] = field(default_factory=dict)
    agreed: dict[str, dict[int, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    last_recorded: int = 0
    node_lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def versions(self, entry: LogEntry) -> Iterator[LogEntry]:
        """Yield ``entry`` and the entries that it superseded, the newest first."""
        yield entry
        while entry.supersedes is not None:
            entry = self.superseded[int(entry.supersedes)]
            yield entry

    def lacking(self, entry: LogEntry, parties: Sequence[str]) -> list[str]:
        """Return the parties that did not agree to ``entry``."""
        return [party for party in parties if entry.number not in self.agreed.get(party, ())]


def load_log(folder: pathlib.Path) -> OutageLog:
    """Read the log of a campaign and check each line against the line before.

    :raises InputError: a line was changed, removed or moved, or is no entry; names the line.
    """
    path, log = folder / LOG, OutageLog()
    for line in read_lines(path, LogEntry, log):
        _take(line, log, path)
    if log.torn:
        log.remarks.append(f"line {log.lines + 1} of {LOG} was cut off when it was written and counts for nothing")
    return log


def _take(line: LogEntry, log: OutageLog, path: pathlib.Path) -> None:
    """Add a line, whose place in the chain is right, to ``log``."""
    number, recorded = log.lines + 1, int(line.recorded.timestamp())
    if recorded < log.last_recorded:
        back = log.last_recorded - recorded
        log.remarks.append(f"line {number} of {LOG} was recorded {back} s before the one above: a clock was set back")
    log.last_recorded = recorded
    if line.what == "agreement":
        agreed = log.agreed.setdefault(line.by, {})
        for about in line.about:
            if _number(about) not in log.latest:
                raise broken(path, number, f"agrees to {_no_entry(about)}")
            agreed.setdefault(int(about), recorded)
        return
    if line.start is None:
        raise broken(path, number, "expected a start")
    if line.end is not None and line.end < line.start:
        raise broken(path, number, "it ends before it begins")
    if line.supersedes is not None:
        before = log.latest.pop(_number(line.supersedes), None)
        if before is None:
            raise broken(path, number, f"corrects {_no_entry(line.supersedes)}")
        log.superseded[before.number] = before
    # A year of a large machine has a million entries, with few different texts: keep each text once, and no hash.
    texts = {name: sys.intern(getattr(line, name)) for name in ("by", "source", "cause", "note")}
    nodes = log.node_lists.setdefault(line.nodes, line.nodes)
    log.latest[number] = replace(line, **texts, nodes=nodes, prev="")


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else -1


def _no_entry(text: str) -> str:
    return f"{one_line(clean(text), 20)}, which is no entry, or was corrected before"


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
        recorded, path, first, lines = utc(time.time() if now is None else now), self.folder / LOG, self.log.lines, []
        for draft in drafts:
            number = self.log.lines + 1
            line = LogEntry(id=str(number), recorded=recorded, prev=self.log.last_hash, **asdict(draft))
            lines.append(msgspec.json.encode(line) + b"\n")
            # Never write a line that the reader would refuse.
            _take(decoded(_DECODER, lines[-1], path, number), self.log, path)
            self.log.add(lines[-1])
        append_lines(path, b"".join(lines))
        return [*range(first + 1, self.log.lines + 1)]


@contextlib.contextmanager
def writing(folder: pathlib.Path) -> Iterator[LogWriter]:
    """Hold the log of a campaign and read it. A last line that was cut off goes to ``raw/``.

    :raises InputError: another process writes it, or it is damaged.
    """
    with _locked(folder, shared=False):
        log = load_log(folder)
        if log.torn:
            cut_torn_line(folder / LOG, log)
        yield LogWriter(folder, log)


@contextlib.contextmanager
def log_at_rest(folder: pathlib.Path) -> Iterator[None]:
    """Hold the log while no other process writes it; the folder may be read-only.

    :raises InputError: it is being written.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FileNotFoundError):
            stack.enter_context(_locked(folder, shared=True))
        yield


@contextlib.contextmanager
def _locked(folder: pathlib.Path, shared: bool) -> Iterator[None]:
    try:
        with locked(folder / LOCK, shared=shared):
            yield
    except LockedError as err:
        where = clean(str(folder / LOG))
        raise InputError(f"{where}: another process writes it ({err.holder}); run the command again") from None


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


def to_json(log: OutageLog, entries: Sequence[LogEntry], parties: Sequence[str]) -> Iterator[str]:
    """Yield entries of a log as JSON in pieces, an entry a line: a million entries at once would need gigabytes."""
    head = msgspec.json.encode({"lines": log.lines, "last_line": log.last_hash, "remarks": log.remarks}).decode()
    yield head.removesuffix("}") + ', "entries": ['
    for number, entry in enumerate(entries):
        agreed = sorted({*parties} - {*log.lacking(entry, parties)})
        fields = {name: value for name, value in asdict(entry).items() if name not in ("about", "prev")}
        yield (",\n " if number else "\n ") + msgspec.json.encode({**fields, "agreed": agreed}).decode()
    yield "\n]}\n"


def utc(moment: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(moment), datetime.UTC)
