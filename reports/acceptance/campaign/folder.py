"""Read and write the folder of an acceptance run: an attempt at each repeat of each series.

An attempt is finished if its report is complete and has the series' case once and not aborted; otherwise it was
interrupted. So there is no extra state that a crash could leave wrong.
"""

import contextlib
import datetime
import functools
import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import structs

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import load_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.locks import Holder, LockedError, locked
from kappa.core.ground.whole_files import read_bytes, sync_folder, write_atomically
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from kappa.core.record.reframe_report import MAX_REPORT_BYTES
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.layout import (
    ATTEMPT,
    ATTEMPT_NAME,
    ATTEMPTS,
    FAMILIES,
    LOCK,
    LOG_LOCK,
    REPORT,
    UNRESOLVED,
)

#: The interruptions that a stop or a crash leaves.
NO_REPORT, ABORTED = "it has no report", "its case was aborted"
_Count = Annotated[int, msgspec.Meta(ge=1)]
SPACK_LOCK = "spack.lock"


class Families(msgspec.Struct, frozen=True):
    """Hold families of checks: ``expected`` by the contract's clauses, ``offered`` by the site."""

    expected: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a text if the contract leaves out families that the site can run; empty if none, or if unknown."""
        if set(self.expected) >= set(self.offered):
            return ""
        return f"expects {len(self.expected)} of {len(self.offered)} families of checks that the site can run"


class Attempt(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """Describe the ``number``-th attempt at one repeat of a series; both count from 1.

    ``attempt.json`` has all but the folder.
    """

    name: str
    partition: str
    environment: str
    repeat: _Count
    number: _Count
    started: str
    folder: pathlib.Path = pathlib.Path()

    @functools.cached_property
    def series(self) -> CaseSeries:
        return CaseSeries(self.name, self.partition, self.environment)

    @property
    def folder_name(self) -> str:
        return f"{self.series.slug}-r{self.repeat:04}-a{self.number:02}"

    @property
    def session(self) -> Session | None:
        """Return the recorded session; ``None`` for an interrupted attempt."""
        return self._outcome[0]

    @property
    def interruption(self) -> str:
        """Return the reason why the attempt counts as interrupted; empty for a finished one."""
        return self._outcome[1]

    @functools.cached_property
    def _outcome(self) -> tuple[Session | None, str]:
        if not os.path.lexists(self.folder / REPORT):
            return None, NO_REPORT
        try:
            session = load_session(self.folder / REPORT)
        except InputError:
            return None, "its report is damaged"
        mine = [case for case in (session.runs or ((),))[0] if CaseSeries.of(case) == self.series]
        if len(mine) != 1:
            return None, f"its report has {counted(len(mine), 'case')} of the series: expected 1"
        return (None, ABORTED) if mine[0].result == "abort" else (session, "")

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return the cases of the first run; a retry would be a second sample."""
        return self.session.runs[0] if self.session else ()


@dataclass(frozen=True)
class Campaign:
    """Read and write the folder of an acceptance run."""

    folder: pathlib.Path

    def unresolved(self) -> dict[str, str]:
        """Return clause id -> reason why no series was run for it."""
        path = self.folder / UNRESOLVED
        return load_json(path, dict[str, str]) if path.exists() else {}

    def families(self) -> Families:
        path = self.folder / FAMILIES
        return load_json(path, Families) if path.exists() else Families()

    def attempts(self) -> list[Attempt]:
        """Return every attempt, sorted by series, repeat and number.

        :raises InputError: an ``attempt.json`` is missing or damaged.
        """
        paths = [path for path in (self.folder / ATTEMPTS).glob("*") if ATTEMPT_NAME.fullmatch(path.name)]
        return sorted(map(self._attempt, paths), key=lambda attempt: (attempt.series, attempt.repeat, attempt.number))

    def _attempt(self, folder: pathlib.Path) -> Attempt:
        attempt = load_json(folder / ATTEMPT, Attempt)
        if folder.name != attempt.folder_name:
            where = clean(str(folder))
            raise InputError(f"{where}: attempt.json is about another attempt; restore the name or the file")
        return structs.replace(attempt, folder=folder)

    def begin(self, series: CaseSeries, repeat: int, number: int) -> Attempt:
        """Make the folder of an attempt, with its ``attempt.json`` or not at all.

        :raises InputError: the folder cannot be written.
        """
        started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%z")
        attempt = Attempt(series.name, series.partition, series.environment, repeat, number, started)
        folder = self.folder / ATTEMPTS / attempt.folder_name
        part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
        try:
            part.mkdir(parents=True)
            write_atomically(
                part / ATTEMPT, json.dumps(msgspec.to_builtins(attempt), indent=1, ensure_ascii=False) + "\n"
            )
            part.rename(folder)
            sync_folder(folder.parent)
        except OSError as err:
            raise InputError(f"cannot write {clean(str(folder))}: {err.strerror}") from err
        return structs.replace(attempt, folder=folder)

    @contextlib.contextmanager
    def locked(self, has_ended: Callable[[Holder], bool] = lambda _: False) -> Iterator[int]:
        """Lock the folder against other runs, and yield the descriptor of the lock; a child that inherits it keeps it.

        :param has_ended: see ``locks.locked``.

        :raises InputError: another run, or a session that an earlier run left behind, holds the lock.
        """
        with contextlib.ExitStack() as stack:
            yield self._hold(stack, has_ended=has_ended)

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Lock the folder for reading while no run is in it and no log is written; the folder may be read-only.

        :raises InputError: a run is in the folder, or its outage log is written.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                self._hold(stack, shared=True)
            with contextlib.suppress(FileNotFoundError):
                stack.enter_context(locked(self.folder / LOG_LOCK, shared=True))
            yield

    def _hold(
        self, stack: contextlib.ExitStack, *, shared: bool = False, has_ended: Callable[[Holder], bool] | None = None
    ) -> int:
        try:
            return stack.enter_context(locked(self.folder / LOCK, shared=shared, has_ended=has_ended))
        except LockedError as err:
            where = clean(str(self.folder))
            raise InputError(
                f"{where}: another run, or a ReFrame session that one left behind, is still running ({err.holder}); "
                f"{err.mend}"
            ) from None


def keep_spack_lock(attempt: Attempt) -> None:
    """Copy the job's ``spack.lock``, the record of each program's build, beside the results.

    :raises InputError: the file cannot be copied.
    """
    hashes = {path: digest for case in attempt.cases for path, digest in case.provenance.files.items()}
    for name, digest in hashes.items():
        path = pathlib.Path(name)
        # The name comes from a job, so only a file with the recorded hash is copied.
        if path.name != SPACK_LOCK or not path.is_file():
            continue
        try:
            content = read_bytes(path, MAX_REPORT_BYTES)
            if hashlib.sha256(content).hexdigest() == digest:
                write_atomically(attempt.folder / SPACK_LOCK, content.decode())
        except (OSError, UnicodeDecodeError) as err:
            raise InputError(f"cannot keep {clean(name)}: {err}") from err
