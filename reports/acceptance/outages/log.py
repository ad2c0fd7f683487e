"""The outage log of a campaign: a JSON entry a line, appended only, each with the hash of the line before.

::

    outages.jsonl            events, observation, corrections and agreements of the parties
    raw/                     what Slurm answered, as it was; lines of the log have the SHA-256
    weeks/2026-W49/          hash of the week's last line in manifest.json, with a signature of each party

The id of an entry is the number of its line. A correction is a new line that supersedes an earlier one. Times are UTC.
"""

import contextlib
import datetime
import hashlib
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

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
    hash_of,
    read_lines,
)
from reports.acceptance.campaign.layout import LOG, RAW

LOCK = ".outages.lock"
UNKNOWN = "unknown"

EntryKind = Literal[
    "begin", "observed", "not_observed", "system_interrupt", "node_interrupt", "job_interrupt", "void", "agreement"
]
Attribution = Literal["vendor", "site", "external", "other"]
_Moment = Annotated[datetime.datetime, Meta(tz=True)]
_Short = Annotated[str, Meta(min_length=1, max_length=200)]
_NOBODY: dict[str, int] = {}
OUTAGES = ("system_interrupt", "node_interrupt", "job_interrupt")


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new entry, without the fields that the log adds.

    ``what``: ``begin`` of the period; time that was ``observed`` or ``not_observed``; an interrupt of the system, of
    ``nodes``, or of a job of all nodes; ``void`` takes back what it supersedes; ``agreement`` of the party ``by`` to
    the entries ``about``. ``end`` is missing while an outage goes on. ``evidence`` names files and lines.
    """

    by: _Short
    source: _Short
    what: EntryKind
    nodes: tuple[str, ...] = ()
    start: _Moment | None = None
    end: _Moment | None = None
    scheduled: bool = False
    cause: _Short = UNKNOWN
    attribution: Attribution | None = None
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
    places: str
    note: str
    supersedes: int | None

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(self.places.split("\n")) if self.places else ()


@dataclass
class OutageLog(LineChain):
    """``latest``: entries that no later line supersedes. ``agreed``: number of an entry -> party -> when it agreed.

    ``hashes``: SHA-256 of the lines that were asked for.
    """

    latest: dict[int, LogEntry] = field(default_factory=dict)
    superseded: dict[int, LogEntry] = field(default_factory=dict)
    agreed: dict[int, dict[str, int]] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    first_recorded: int = 0
    last_recorded: int = 0
    shared: dict[tuple[int, str, int], dict[str, int]] = field(default_factory=dict)
    """The values of ``agreed``, each once: parties agree to thousands of entries in one line."""
    node_lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def versions(self, entry: LogEntry) -> Iterator[LogEntry]:
        """``entry`` and those that it superseded, the newest first."""
        yield entry
        while entry.supersedes is not None:
            entry = self.superseded[entry.supersedes]
            yield entry

    def is_agreed(self, entry: LogEntry, parties: Sequence[str]) -> bool:
        return set(parties) <= self.agreed.get(entry.number, {}).keys()


def load_log(folder: pathlib.Path, hashes_of: Sequence[int] = (), recorded_before: int | None = None) -> OutageLog:
    """Read the log of a campaign and check each line against the line before.

    :param hashes_of: numbers of lines whose hash is wanted.
    :param recorded_before: seconds since 1970; read only the lines before the first that was recorded later.
    :raises InputError: a line was changed, removed or moved, or is no entry; names the line.
    """
    path = folder / LOG
    log, wanted = OutageLog(), frozenset(hashes_of)
    for line, text in read_lines(path, _Line, log):
        number, recorded = log.lines + 1, int(line.recorded.timestamp())
        if recorded_before is not None and recorded >= recorded_before:
            break
        if number in wanted:
            log.hashes[number] = hash_of(text)
        _take(line, recorded, log, path, number)
    if log.torn:
        log.remarks.append(f"line {log.lines + 1} of {LOG} was cut off when it was written and counts for nothing")
    return log


def _take(line: _Line, recorded: int, log: OutageLog, path: pathlib.Path, number: int) -> None:
    """Add a line, whose place in the chain is right, to ``log``."""
    log.first_recorded = log.first_recorded or recorded
    if recorded == log.last_recorded:
        recorded = log.last_recorded  # the same number, once in memory
    elif recorded < log.last_recorded:
        back = log.last_recorded - recorded
        log.remarks.append(f"line {number} of {LOG} was recorded {back} s before the one above: a clock was set back")
    log.last_recorded = recorded
    if line.what == "agreement":
        for about in line.about:
            entry = log.latest.get(int(about)) if about.isdecimal() else None
            if entry is None:
                words = f"agrees to {one_line(clean(about), 20)}, which is no entry, or was corrected before"
                raise broken(path, number, words)
            agreed = log.agreed.get(entry.number, _NOBODY)
            key = (id(agreed), line.by, recorded)
            if key not in log.shared:
                log.shared[key] = {sys.intern(line.by): recorded, **agreed}
            log.agreed[entry.number] = log.shared[key]
        return
    if line.start is None:
        raise broken(path, number, "expected a start")
    start = int(line.start.timestamp())
    end = None if line.end is None else int(line.end.timestamp())
    if end is not None and end < start:
        raise broken(path, number, "it ends before it begins")
    supersedes = None
    if line.supersedes is not None:
        supersedes = int(line.supersedes) if line.supersedes.isdecimal() else -1
        before = log.latest.pop(supersedes, None)
        if before is None:
            raise broken(path, number, f"corrects {line.supersedes[:20]}, which is no entry, or was corrected before")
        log.superseded[supersedes] = before
    # A year of a large machine has a million entries, with few different words in them.
    nodes = log.node_lists.setdefault(line.nodes, line.nodes)
    log.latest[number] = LogEntry(
        number, recorded, sys.intern(line.by), sys.intern(line.source), sys.intern(line.what),
        nodes, start, end, line.scheduled, sys.intern(line.cause), line.attribution,
        line.exclusion, "\n".join(line.evidence), sys.intern(line.note), supersedes,
    )  # fmt: skip


class LogWriter:
    """The log, locked against other writers."""

    def __init__(self, folder: pathlib.Path, log: OutageLog) -> None:
        self.folder = folder
        self.log = log

    def append(self, drafts: Sequence[Draft], now: float | None = None) -> list[int]:
        """Append all of ``drafts`` and wait until a power cut cannot undo it; returns their numbers.

        :raises InputError: they cannot be written; a part of the last line may remain, which the next writer removes.
        """
        recorded = datetime.datetime.fromtimestamp(int(time.time() if now is None else now), datetime.UTC)
        path, lines, numbers = self.folder / LOG, [], []
        for draft in drafts:
            fields = {name: getattr(draft, name) for name in draft.__struct_fields__}
            number = self.log.lines + 1
            line = _Line(id=str(number), recorded=recorded, prev=self.log.last_hash, **fields)
            text = msgspec.json.encode(line) + b"\n"
            # Never write a line that the reader would refuse.
            _take(decoded(msgspec.json.Decoder(_Line), text, path, number), int(recorded.timestamp()), self.log, path,
                  number)  # fmt: skip
            self.log.add(text)
            lines.append(text)
            numbers.append(number)
        append_lines(path, b"".join(lines))
        return numbers


@contextlib.contextmanager
def writing(folder: pathlib.Path) -> Iterator[LogWriter]:
    """Hold the log of a campaign and read it. A last line that was cut off goes to ``raw/``.

    :raises InputError: another process writes it, or it is damaged.
    """
    try:
        with locked(folder / LOCK):
            log = load_log(folder)
            if log.torn:
                cut_torn_line(folder / LOG, log)
            yield LogWriter(folder, log)
    except LockedError as err:
        words = f"{clean(str(folder / LOG))}: another process writes it ({err.holder}); run the command again"
        raise InputError(words) from None


@contextlib.contextmanager
def log_at_rest(folder: pathlib.Path) -> Iterator[None]:
    """Read the log while no other process writes it; the folder may be read-only.

    :raises InputError: it is being written.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / LOCK, shared=True))
        except FileNotFoundError:
            pass
        except LockedError as err:
            raise InputError(f"{clean(str(folder / LOG))}: another process writes it ({err.holder})") from None
        yield


def altered_raw(folder: pathlib.Path, log: OutageLog) -> list[str]:
    """Raw answers that the log names with a hash, and that are missing or have another."""
    found = []
    entries = [*log.latest.values(), *log.superseded.values()]
    for named in sorted({one for entry in entries for one in entry.evidence if "=" in one}):
        name, _, digest = named.rpartition("=")
        path = pathlib.PurePosixPath(name)
        if path.parts[:1] != (RAW,) or ".." in path.parts:
            continue
        try:
            with opened(folder / path) as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == digest
        except OSError:
            found.append(f"missing, though the outage log names it: {clean(name)}")
            continue
        if not same:
            found.append(f"altered since the outage log named it: {clean(name)}")
    return found
