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
from kappa.core.ground.locks import locked
from kappa.core.ground.whole_files import opened
from reports.acceptance.campaign.chained_lines import (
    LineChain,
    append_lines,
    broken,
    cut_torn_line,
    decoded,
    read_lines,
)
from reports.acceptance.campaign.layout import LOG, LOG_LOCK, RAW
from reports.acceptance.outages.terms import OutageTerms

UNKNOWN = "unknown"
OUTAGES = ("system_interrupt", "node_interrupt", "job_interrupt")
EntryKind = Literal[
    "begin", "observed", "not_observed", "system_interrupt", "node_interrupt", "job_interrupt", "void", "agreement"
]
_Moment = Annotated[datetime.datetime, Meta(tz=True)]
_Short = Annotated[str, Meta(min_length=1, max_length=200)]


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hold a new entry, without the fields that the log adds.

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
    """Hold a line of the log."""

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


@dataclass(kw_only=True)
class OutageLog(LineChain):
    """Hold the log of the campaign in ``folder``.

    ``latest``: entries that no later line supersedes. ``agreed``: party -> number of an entry -> when it agreed.
    """

    folder: pathlib.Path
    latest: dict[int, LogEntry] = field(default_factory=dict)
    superseded: dict[int, LogEntry] = field(default_factory=dict)
    agreed: dict[str, dict[int, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    last_recorded: int = 0
    _node_lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def versions(self, entry: LogEntry) -> Iterator[LogEntry]:
        """Yield ``entry`` and the entries that it superseded, the newest first."""
        yield entry
        while entry.supersedes is not None:
            entry = self.superseded[int(entry.supersedes)]
            yield entry

    def lacking(self, entry: LogEntry, parties: Sequence[str]) -> list[str]:
        """Return the parties that did not agree to ``entry``."""
        number = entry.number
        return [party for party in parties if number not in self.agreed.get(party, ())]

    def take(self, line: LogEntry) -> None:
        """Add the next line of the chain.

        :raises InputError: it contradicts the lines before.
        """
        number, recorded = self.lines + 1, int(line.recorded.timestamp())
        if recorded < self.last_recorded:
            back = f"{self.last_recorded - recorded} s before the one above: a clock was set back"
            self.remarks.append(f"line {number} of {LOG} was recorded {back}")
        self.last_recorded = recorded
        if line.what == "agreement":
            agreed = self.agreed.setdefault(line.by, {})
            for about in line.about:
                if _number(about) not in self.latest:
                    raise self._broken(f"agrees to {_no_entry(about)}")
                agreed.setdefault(int(about), recorded)
            return
        if line.start is None:
            raise self._broken("expected a start")
        if line.end is not None and line.end < line.start:
            raise self._broken("it ends before it begins")
        if line.supersedes is not None:
            before = self.latest.pop(_number(line.supersedes), None)
            if before is None:
                raise self._broken(f"corrects {_no_entry(line.supersedes)}")
            self.superseded[before.number] = before
        # A year of a large machine has a million entries, with few different texts: keep each text once, and no hash.
        texts = {name: sys.intern(getattr(line, name)) for name in ("by", "source", "cause", "note")}
        nodes = self._node_lists.setdefault(line.nodes, line.nodes)
        self.latest[number] = replace(line, **texts, nodes=nodes, prev="")

    def _broken(self, problem: str) -> InputError:
        return broken(self.folder / LOG, self.lines + 1, problem)

    def append(self, drafts: Sequence[Draft], now: float | None = None) -> list[int]:
        """Append all of ``drafts``, wait until a power cut cannot undo it, and return their numbers.

        Only the process in ``writing`` may append.

        :raises InputError: they cannot be written; a part of the last line may remain, which the next writer removes.
        """
        path, lines = self.folder / LOG, list[bytes]()
        recorded, first = utc(time.time() if now is None else now), self.lines + 1
        for number, draft in enumerate(drafts, first):
            line = LogEntry(id=str(number), recorded=recorded, prev=self.last_hash, **asdict(draft))
            lines.append(msgspec.json.encode(line) + b"\n")
            # Never write a line that the reader would refuse.
            self.take(decoded(_DECODER, lines[-1], path, number))
            self.add(lines[-1])
        append_lines(path, b"".join(lines))
        return [*range(first, self.lines + 1)]


def load_log(folder: pathlib.Path) -> OutageLog:
    """Read the log of a campaign and check each line against the line before.

    :raises InputError: a line was changed, removed or moved, or is no entry; names the line.
    """
    log = OutageLog(folder=folder)
    for line in read_lines(folder / LOG, LogEntry, log):
        log.take(line)
    if log.torn:
        log.remarks.append(f"line {log.lines + 1} of {LOG} was cut off when it was written and counts for nothing")
    return log


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


@contextlib.contextmanager
def writing(folder: pathlib.Path) -> Iterator[OutageLog]:
    """Hold the log of a campaign and read it. A last line that was cut off goes to ``raw/``.

    :raises InputError: another process writes it, or it is damaged.
    """
    with locked(folder / LOG_LOCK):
        log = load_log(folder)
        if log.torn:
            cut_torn_line(folder / LOG, log)
        yield log


def altered_raw(log: OutageLog) -> list[str]:
    """Return the raw answers that the log names with a hash, and that are missing or have another."""
    problems = []
    entries = [*log.latest.values(), *log.superseded.values()]
    for evidence in sorted({item for entry in entries for item in entry.evidence if "=" in item}):
        name, _, digest = evidence.rpartition("=")
        path = pathlib.PurePosixPath(name)
        if path.parts[:1] != (RAW,) or ".." in path.parts:
            continue
        try:
            with opened(log.folder / path) as file:
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
