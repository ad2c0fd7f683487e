"""Keep the repeats of clauses about operation in a campaign: a folder for each attempt, with Slurm's raw answers.

::

    operations/M1-r0001-a01/    attempt.json; Slurm's answers as they were (sacct.txt, sdiag-before.txt, …);
                                record.json, written last

An attempt without ``record.json`` was interrupted.
"""

import datetime
import pathlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import load_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import read_text, write_atomically
from reports.acceptance.campaign.layout import ATTEMPT, OPERATIONS, RECORD
from reports.acceptance.campaign.measured import note_measured

_FOLDER = re.compile(r"(?P<clause>.+)-r(?P<repeat>\d{4})-a(?P<number>\d{2,6})", re.ASCII)
# A mix of 10,000 jobs, or a day of probes, takes a few MiB.
_ANSWER_BYTES = 256 << 20
T = TypeVar("T")


class OperationBench(Protocol):
    """The means to measure an operation: only ``kappa.app`` starts programs, and gives them to a clause."""

    campaign: pathlib.Path
    again: bool
    """Whether repeats that gave no figure are measured again."""
    sacct: Sequence[str]
    """The command ``sacct`` of the site."""

    def say(self, line: str) -> None: ...

    def check(self) -> None:
        """:raises StoppedError: there was a reason to stop."""

    def pause(self, seconds: float) -> None:
        """:raises StoppedError: there was a reason to stop."""

    def run(self, command: Sequence[str]) -> str:
        """Run a command of Slurm, with times in UTC, and return its answer.

        :raises InputError: it does not answer, or refuses.
        """
        raise NotImplementedError


class MixRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """``jobs``: ids in the order of submission; ``source``: whose answer about the jobs is in ``SOURCE.txt``."""

    jobs: tuple[str, ...]
    source: Literal["sacct", "squeue"]


class ProbeJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A small job: when it was sent and accepted, by Kappa's clock in seconds since 1970; ``job`` is empty if not."""

    sent: float
    answered: float | None = None
    job: str = ""


class TimeRecord(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The measurement of a time; times by Kappa's clock, in seconds since 1970.

    ``began``: when Kappa started the operator's ``command``, or the time that the operator named; ``None``: at the
    last job that slurmctld accepted before its start. ``asked``: when slurmctld answered with its time, in
    ``config-after.txt``. ``down``: when ``scontrol ping`` first said that the primary controller is down. ``load``: ids
    of the jobs that have to go on. ``gave_up``: why no job was seen to run.
    """

    began: float | None
    command: tuple[str, ...] = ()
    node: str = ""
    probes: tuple[ProbeJob, ...]
    load: tuple[str, ...] = ()
    asked: float | None = None
    down: float | None = None
    gave_up: str = ""


class _OperationFile(Struct, frozen=True, forbid_unknown_fields=True):
    clause: str
    repeat: Annotated[int, Meta(ge=1)]
    number: Annotated[int, Meta(ge=1)]
    started: str
    job_name: str


@dataclass(frozen=True)
class OperationAttempt:
    """The ``number``-th attempt at a repeat of a clause; both count from 1. All its jobs have the name ``job_name``."""

    folder: pathlib.Path
    clause: str
    repeat: int
    number: int
    started: str
    job_name: str

    @property
    def finished(self) -> bool:
        return (self.folder / RECORD).exists()

    def record(self, kind: type[T]) -> T:
        """:raises InputError: the record is damaged; names the file and the key."""
        return load_json(self.folder / RECORD, kind)

    def finish(self, record: Struct) -> str:
        """Write the record; every answer is kept already. Return the last hash of the chain of measurements."""
        _write(self.folder / RECORD, record)
        return note_measured(self.folder)

    def keep(self, name: str, answer: str) -> str:
        """Keep a raw answer in ``NAME.txt``, and return it."""
        write_atomically(self.folder / f"{name}.txt", answer)
        return answer

    def answer(self, name: str) -> str | None:
        """Return a kept answer, ``None`` if there is none.

        :raises InputError: it cannot be read.
        """
        path = self.folder / f"{name}.txt"
        try:
            return read_text(path, _ANSWER_BYTES) if path.exists() else None
        except (OSError, UnicodeDecodeError) as err:
            raise InputError(f"cannot read {clean(str(path))}: {err}") from err


def operation_folders(campaign: pathlib.Path) -> list[tuple[pathlib.Path, tuple[str, int, int]]]:
    """Return the folder of each attempt, also of one that was cut off at once, with its clause, repeat and number."""
    matches = [(path, _FOLDER.fullmatch(path.name)) for path in sorted((campaign / OPERATIONS).glob("*"))]
    return [(path, (m["clause"], int(m["repeat"]), int(m["number"]))) for path, m in matches if m]


def operation_attempts(campaign: pathlib.Path, clause: str) -> list[OperationAttempt]:
    """Return the attempts at a clause, by repeat and number.

    :raises InputError: an ``attempt.json`` is damaged.
    """
    found = []
    for folder, place in operation_folders(campaign):
        if place[0] == clause and (folder / ATTEMPT).exists():
            kept = load_json(folder / ATTEMPT, _OperationFile)
            found.append(
                OperationAttempt(folder, kept.clause, kept.repeat, kept.number, kept.started, kept.job_name)
            )
    return sorted(found, key=lambda attempt: (attempt.repeat, attempt.number))


def begin_operation(campaign: pathlib.Path, clause: str, repeat: int) -> OperationAttempt:
    """Make the folder of the next attempt at a repeat.

    :raises InputError: it cannot be written.
    """
    numbers = [place[2] for _, place in operation_folders(campaign) if place[:2] == (clause, repeat)]
    number = max(numbers, default=0) + 1
    folder = campaign / OPERATIONS / f"{clause}-r{repeat:04}-a{number:02}"
    started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%z")
    kept = _OperationFile(clause, repeat, number, started, f"kappa-{uuid.uuid4().hex[:12]}")
    try:
        folder.mkdir(parents=True)
        _write(folder / ATTEMPT, kept)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(folder))}: {err.strerror}") from err
    return OperationAttempt(folder, clause, repeat, number, started, kept.job_name)


def _write(path: pathlib.Path, content: Struct) -> None:
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n")


def unfinished_repeats(attempts: Sequence[OperationAttempt], repeats: int) -> list[int]:
    """Return the repeats without a finished attempt."""
    finished = {attempt.repeat for attempt in attempts if attempt.finished}
    return [repeat for repeat in range(1, repeats + 1) if repeat not in finished]
