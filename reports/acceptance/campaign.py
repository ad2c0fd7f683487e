"""The folder of an acceptance run: its contract, and an attempt at each repeat of each series.

::

    contract.yaml            the contract, with the waivers that were given since; contract.N.yaml are those before
    unresolved.json          clauses that no series was run for, and why
    families.json            families of checks that the clauses are about, and that the site could run
    attempts/NAME/           one ReFrame session: attempt.json (of what), run-report.json, output/, reframe.out

An attempt is finished when its report is whole and nothing in it was aborted; any other was interrupted. So there is no
state beside the results that a crash could leave wrong.
"""

import contextlib
import datetime
import functools
import json
import os
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.typed import load_json
from kappa.core.ground.whole_files import sync_folder, write_atomically
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from kappa.core.sites.contract import Contract, load_contract
from reports.acceptance.series import Series
from reports.acceptance.versions import CONTRACT, earlier_versions, keep_version

UNRESOLVED, FAMILIES, ATTEMPTS, REPORT = "unresolved.json", "families.json", "attempts", "run-report.json"
#: What a run writes besides its attempts.
BY_RUN = (UNRESOLVED, FAMILIES)
LOCK = ".lock"
_NAME = re.compile(r"[A-Za-z0-9_]+-[0-9a-f]{8}-r\d{4}-a\d{2,}")
_Count = Annotated[int, msgspec.Meta(ge=1)]


class Families(msgspec.Struct, frozen=True):
    """Of checks: those that the contract's clauses are about, and those that the site could run."""

    expected: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Empty when the contract is about all that the site could run, or nobody knows."""
        if set(self.expected) >= set(self.offered):
            return ""
        return f"expects {len(self.expected)} of {len(self.offered)} families of checks that the site could run"


class _Attempt(msgspec.Struct):
    """``attempt.json``: of what it is the ``number``-th attempt."""

    name: str
    partition: str
    environment: str
    repeat: _Count
    number: _Count
    started: str


@dataclass(frozen=True)
class Attempt:
    """The ``number``-th attempt at one repeat of a series; both count from 1."""

    folder: pathlib.Path
    series: Series
    repeat: int
    number: int
    started: str

    @functools.cached_property
    def session(self) -> Session | None:
        """What it recorded; ``None`` when it was interrupted."""
        try:
            session = load_session(self.folder / REPORT)
        except InputError:
            return None
        cases = [case for run in session.runs for case in run]
        aborted = any(case.result == "abort" for case in cases)
        return None if aborted or not any(Series.of(case) == self.series for case in cases) else session

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases of its first run: a retry would be a second draw."""
        return self.session.runs[0] if self.session else ()


@dataclass(frozen=True)
class Campaign:
    folder: pathlib.Path

    @property
    def contract(self) -> Contract:
        return load_contract(self.folder / CONTRACT)

    def earlier_contracts(self) -> dict[str, Contract]:
        """See ``versions.earlier_versions``."""
        return earlier_versions(self.folder)

    def unresolved(self) -> dict[str, str]:
        """Clause id -> why no series was run for it."""
        path = self.folder / UNRESOLVED
        if not path.exists():
            return {}
        return load_json(path, dict[str, str])

    def families(self) -> Families:
        path = self.folder / FAMILIES
        return load_json(path, Families) if path.exists() else Families()

    def attempts(self) -> list[Attempt]:
        """Every attempt, by series, repeat and number.

        :raises InputError: an ``attempt.json`` is missing or damaged.
        """
        found = [self._attempt(path) for path in (self.folder / ATTEMPTS).glob("*") if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda attempt: (attempt.series, attempt.repeat, attempt.number))

    def _attempt(self, folder: pathlib.Path) -> Attempt:
        kept = load_json(folder / "attempt.json", _Attempt)
        series = Series(kept.name, kept.partition, kept.environment)
        return Attempt(folder, series, kept.repeat, kept.number, kept.started)

    def freeze(self, contract: pathlib.Path) -> None:
        """Keep the contract that this folder is run for.

        :raises InputError: it has been begun with another one, and not in waivers alone.
        """
        keep_version(self.folder, contract)

    def begin(self, series: Series, repeat: int, number: int) -> Attempt:
        """Make the folder of an attempt; it appears with its ``attempt.json`` or not at all."""
        started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%z")
        attempt = _Attempt(series.name, series.partition, series.environment, repeat, number, started)
        name = f"{series.slug}-r{repeat:04}-a{number:02}"
        folder, part = self.folder / ATTEMPTS / name, self.folder / ATTEMPTS / f".{name}.{os.getpid()}.part"
        try:
            part.mkdir(parents=True)
            write_atomically(
                part / "attempt.json", json.dumps(msgspec.to_builtins(attempt), indent=1, ensure_ascii=False) + "\n"
            )
            part.rename(folder)
            sync_folder(folder.parent)
        except OSError as err:
            raise InputError(f"cannot write {clean(str(folder))}: {err.strerror}") from err
        return Attempt(folder, series, repeat, number, started)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the folder against other runs; yields the descriptor, which a child that inherits it holds, too.

        :raises InputError: another run, or a session that an earlier one left behind, holds it.
        """
        with contextlib.ExitStack() as stack:
            yield self._hold(stack, shared=False)

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Read the folder while nothing is run in it; it may be read-only.

        :raises InputError: something is run in it.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                self._hold(stack, shared=True)
            yield

    def _hold(self, stack: contextlib.ExitStack, *, shared: bool) -> int:
        try:
            return stack.enter_context(locked(self.folder / LOCK, shared=shared))
        except LockedError as err:
            where = clean(str(self.folder))
            raise InputError(
                f"{where}: another run, or a ReFrame session that it left, is still at work ({err.holder})"
            ) from None
