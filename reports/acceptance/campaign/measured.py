"""The chain of measurements of a campaign: a line for each attempt as it ended, with the hash of the line before.

::

    measured.jsonl                  the attempts, and for each the SHA-256 of its sha256.json
    attempts/NAME/sha256.json       SHA-256 of each file of the attempt
    operations/NAME/sha256.json     the same

Who alters a record or an output afterwards must also write the chain anew. Its last hash is then another than the one
that Kappa printed after the measurement.
"""

import datetime
import functools
import json
import pathlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import fit, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.whole_files import write_atomically
from reports.acceptance.campaign.chained_lines import (
    NO_LINE,
    LineChain,
    append_lines,
    broken,
    cut_torn_line,
    hash_of,
    read_lines,
)
from reports.acceptance.campaign.layout import ATTEMPTS, MEASURED, OPERATIONS, RECORD, REPORT, SUMS
from reports.acceptance.campaign.seal import LEFT_OUT
from reports.acceptance.campaign.signature import files_below, member_text, sha256

# ReFrame derives these files from the reports.
NOT_RAW = "perflogs"
#: The record that an attempt has when it has ended, by the folder of its kind.
RECORDS = {ATTEMPTS: REPORT, OPERATIONS: RECORD}
WITHOUT_CHAIN = "measured before Kappa kept a chain of measurements"


class MeasuredLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """``late``: a later run noted the attempt, so the line does not show that nothing was altered in between."""

    id: str
    recorded: Annotated[datetime.datetime, Meta(tz=True)]
    attempt: Annotated[str, Meta(pattern=f"^({'|'.join(RECORDS)})/[^./][^/]*$")]
    sums: str
    late: bool = False
    prev: str


@dataclass(frozen=True)
class RawFile:
    """Describe a raw file that the dossier does not contain; ``path`` is relative to the campaign's folder."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Measured:
    """Hold the chain of a campaign: its lines by attempt. ``broken``: why the chain is not intact, or empty."""

    folder: pathlib.Path
    lines: dict[str, MeasuredLine] = field(default_factory=dict)
    last_hash: str = NO_LINE
    broken: str = ""
    _known: dict[str, list[str]] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Whether there is a chain. Without one, nothing can be compared."""
        return bool(self.lines or self.broken)

    @functools.cached_property
    def _left_out(self) -> dict[str, str]:
        return {one.path: one.sha256 for one in left_out(self.folder)}

    @functools.cached_property
    def _ended(self) -> frozenset[pathlib.Path]:
        return frozenset(ended_attempts(self.folder))

    @functools.cached_property
    def _gone(self) -> frozenset[str]:
        return frozenset(name for name in self.lines if not (self.folder / name).is_dir())

    def problems(self, attempts: Iterable[pathlib.Path] | None = None) -> list[str]:
        """Return the faults of the chain and of ``attempts``, or of all attempts."""
        if attempts is None:
            attempts = self._ended | {self.folder / name for name in self.lines if name not in self._gone}
        problems = [self.broken] if self.broken else []
        problems += [f"missing since it was measured: {name}" for name in sorted(self._gone)]
        for attempt in sorted(attempts) if self.kept else ():
            name = attempt.relative_to(self.folder).as_posix()
            if name in self.lines:
                problems += self._differences(name)
            elif attempt in self._ended:
                problems.append(f"not in {MEASURED}: {name}")
        return [clean(line) for line in problems]

    def _differences(self, name: str) -> list[str]:
        """Return the differences between an attempt and its line. Several clauses may ask for the same attempt."""
        if name not in self._known:
            self._known[name] = [f"{what} since it was measured: {name}/{path}" for what, path in self._compared(name)]
        return self._known[name]

    def _compared(self, name: str) -> Iterator[tuple[str, str]]:
        sums = self.folder / name / SUMS
        try:
            then = fit(json.loads(member_text(sums)), dict[str, str], SUMS)
            same = sha256(sums) == self.lines[name].sums
        except (OSError, ValueError, RecursionError, InputError):
            same = False
        if not same:
            yield ("altered" if sums.exists() else "missing"), SUMS
            return
        kept = sums_of(self.folder / name)
        now = {path: kept.get(path) or self._left_out.get(clean(f"{name}/{path}")) for path in {**then, **kept}}
        for path in sorted(path for path in now if now[path] != then.get(path)):
            yield ("added" if path not in then else "altered" if now[path] else "missing"), path

    def __str__(self) -> str:
        attempts = counted(len(self.lines), "attempt")
        return f"{MEASURED}: {attempts}, each with the hash of the line before; the last is {self.last_hash}"


def load_measured(campaign: pathlib.Path) -> Measured:
    """Read the chain of a campaign."""
    chain, lines, why = LineChain(), dict[str, MeasuredLine](), ""
    path = campaign / MEASURED
    try:
        for line in read_lines(path, MeasuredLine, chain):
            if line.attempt in lines:
                raise broken(path, chain.lines + 1, f"{line.attempt} was measured before")
            lines[line.attempt] = line
    except InputError as err:
        # The same text in each copy of the campaign.
        why = str(err).replace(clean(str(path)), MEASURED)
    return Measured(campaign, lines, chain.last_hash, why)


def ended_attempts(campaign: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders of the attempts that have a record."""
    records = (path for folder, record in RECORDS.items() for path in (campaign / folder).glob(f"*/{record}"))
    return sorted(path.parent for path in records)


def note_measured(attempt: pathlib.Path, *, late: bool = False) -> str:
    """Append an attempt that has ended to the chain of its campaign, and return the hash of the line.

    The caller holds the campaign's lock.

    :raises InputError: the chain is damaged, or cannot be written.
    """
    path = attempt.parents[1] / MEASURED
    chain = LineChain()
    for _ in read_lines(path, MeasuredLine, chain):
        pass
    if chain.torn:
        cut_torn_line(path, chain)
    write_atomically(attempt / SUMS, json.dumps(sums_of(attempt), indent=1) + "\n")
    line = MeasuredLine(
        id=str(chain.lines + 1),
        recorded=datetime.datetime.fromtimestamp(int(time.time()), datetime.UTC),
        attempt=attempt.relative_to(path.parent).as_posix(),
        sums=sha256(attempt / SUMS),
        late=late,
        prev=chain.last_hash,
    )
    encoded = msgspec.json.encode(line) + b"\n"
    append_lines(path, encoded)
    return hash_of(encoded)


def note_earlier(campaign: pathlib.Path) -> None:
    """Append the ended attempts that an earlier run could not note, because it was killed or an older version.

    :raises InputError: as ``note_measured``.
    """
    noted = load_measured(campaign).lines
    for attempt in ended_attempts(campaign):
        if attempt.relative_to(campaign).as_posix() not in noted:
            note_measured(attempt, late=True)


def sums_of(attempt: pathlib.Path) -> dict[str, str]:
    """Return the SHA-256 of each file of an attempt that goes into a dossier, by path; links do not."""
    paths = [pathlib.PurePosixPath(name) for name in files_below(attempt) if name != SUMS]
    files = [path for path in paths if NOT_RAW not in path.parts and not (attempt / path).is_symlink()]
    return {str(path): sha256(attempt / path) for path in files if (attempt / path).is_file()}


def left_out(dossier: pathlib.Path) -> list[RawFile]:
    """Return the files that were too large to copy.

    :raises InputError: the list is unreadable.
    """
    if not (dossier / LEFT_OUT).exists():
        return []
    source = clean(str(dossier / LEFT_OUT))
    try:
        return fit(parse_json(member_text(dossier / LEFT_OUT), source), list[RawFile], source)
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(f"cannot read {source}: {err}") from err
