"""Keep the repeats of clauses about operation in a campaign: a folder for each attempt, with Slurm's raw answers.

::

    operations/M1-r0001-a01/    attempt.json; Slurm's answers, unchanged (sacct.txt, sdiag-before.txt, …);
                                record.json, written last

An attempt without ``record.json`` was interrupted.
"""

import contextlib
import datetime
import pathlib
import re
import shlex
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import load_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import make_folder, read_text, write_atomically
from reports.acceptance.campaign.layout import ATTEMPT, OPERATIONS, RECORD
from reports.acceptance.campaign.measured import note_measured

_FOLDER = re.compile(r"(?P<clause>.+)-r(?P<repeat>\d{4})-a(?P<number>\d{2,6})", re.ASCII)
# A mix of 10,000 jobs, or a day of probes, takes a few MiB.
_ANSWER_BYTES = 256 << 20
T = TypeVar("T")


class ProbeJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A small job. Kappa's clock gives the times in seconds since 1970; ``job`` is empty if Slurm did not accept it."""

    sent: float
    answered: float | None = None
    job: str = ""


class OperationBench(Protocol):
    """The means to measure an operation: only ``kappa.app`` starts programs, and gives them to a clause.

    Commands of Slurm have times in UTC. InputError: one does not answer, or refuses. StoppedError: a reason to stop.
    """

    campaign: pathlib.Path
    again: bool
    """Whether repeats that gave no figure are measured again."""

    def say(self, line: str) -> None: ...
    def pause(self, seconds: float) -> None: ...
    def run(self, command: Sequence[str]) -> str: ...
    def submit(self, sbatch: Sequence[str]) -> str:
        """Submit a job, and return its id."""

    def until(self, done: Callable[[], bool], patience_s: float) -> bool:
        """Call ``done`` every second until it returns true. Return whether it did so within ``patience_s``."""

    def probe(self, sbatch: Sequence[str]) -> AbstractContextManager[Sequence[ProbeJob]]:
        """Submit a job every second. Yield the jobs so far, which grow until the context ends."""

    def start(self, command: Sequence[str]) -> Callable[[], int | None]:
        """Start an operator's command. Return a function for its exit status, which is ``None`` while it runs."""


class AttemptFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``attempt.json``. All jobs of the ``number``-th attempt have the name ``job_name``."""

    clause: str
    repeat: int
    number: int
    started: str
    job_name: str


@dataclass(frozen=True)
class OperationAttempt:
    folder: pathlib.Path
    about: AttemptFile

    @property
    def finished(self) -> bool:
        return (self.folder / RECORD).exists()

    def sbatch(self, nodes: int, seconds: int, command: Sequence[str], *options: str) -> list[str]:
        """Return the command that submits a job; without ``command`` it sleeps. Its time limit is twice ``seconds``."""
        minutes = max(1, -(-2 * seconds // 60))
        task = shlex.join(command or ("sleep", str(seconds)))
        return [
            "sbatch", "--parsable", f"--job-name={self.about.job_name}", "--no-requeue", "--chdir=/",
            f"--nodes={nodes}", "--ntasks-per-node=1", f"--time={minutes}", *options, f"--wrap=exec {task}",
        ]  # fmt: skip

    def cancel_jobs(self, bench: OperationBench) -> None:
        """Cancel the jobs of the attempt that are left in the queue, if slurmctld answers."""
        with contextlib.suppress(InputError):
            bench.run(("scancel", "--quiet", f"--name={self.about.job_name}"))

    def record(self, kind: type[T]) -> T:
        """:raises InputError: the record is damaged; names the file and the key."""
        return load_json(self.folder / RECORD, kind)

    def finish(self, record: Struct) -> str:
        """Write the record after all answers, and return the last hash of the chain of measurements."""
        _write(self.folder / RECORD, record)
        return note_measured(self.folder)

    def keep(self, name: str, answer: str) -> str:
        """Keep a raw answer in ``NAME.txt``, and return it."""
        write_atomically(self.folder / f"{name}.txt", answer)
        return answer

    def answer(self, name: str) -> str:
        """Return a kept answer; empty if there is none.

        :raises InputError: it cannot be read.
        """
        path = self.folder / f"{name}.txt"
        try:
            return read_text(path, _ANSWER_BYTES) if path.exists() else ""
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
    attempts = [
        OperationAttempt(folder, load_json(folder / ATTEMPT, AttemptFile))
        for folder, (name, _, _) in operation_folders(campaign)
        if name == clause and (folder / ATTEMPT).exists()
    ]
    return sorted(attempts, key=lambda attempt: (attempt.about.repeat, attempt.about.number))


def begin_operation(campaign: pathlib.Path, clause: str, repeat: int) -> OperationAttempt:
    """Make the folder of the next attempt at a repeat.

    :raises InputError: it cannot be written.
    """
    numbers = [place[2] for _, place in operation_folders(campaign) if place[:2] == (clause, repeat)]
    number = max(numbers, default=0) + 1
    folder = campaign / OPERATIONS / f"{clause}-r{repeat:04}-a{number:02}"
    started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%z")
    about = AttemptFile(clause, repeat, number, started, f"kappa-{uuid.uuid4().hex[:12]}")
    make_folder(folder)
    _write(folder / ATTEMPT, about)
    return OperationAttempt(folder, about)


def _write(path: pathlib.Path, content: Struct) -> None:
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n")
