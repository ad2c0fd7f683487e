"""Read and write the folder of an acceptance run: its contract, and an attempt at each repeat of each series.

::

    contract.yaml            the binding contract; its earlier versions are contract.1.yaml, contract.2.yaml, …
    unresolved.json          clauses without a series, and the reasons
    families.json            families of checks that the clauses need, and that the site can run
    accepted/ID/             the signed dossier that the retained clause ID names, a copy (accepted.py)
    energy/*.jsonl           readings of meters, which the site's own collector writes (energy_readings.py)
    measured.jsonl           the chain of measurements (measured.py)
    outages.jsonl            the outage log, with raw/ and weeks/ (outage_log.py)
    operations/              repeats of clauses about operation (operations.py)
    attempts/NAME/           one ReFrame session: attempt.json (its series and repeat), run-report.json, output/,
                             reframe.out

An attempt is finished if its report is complete and has the series' case once and not aborted; otherwise it was
interrupted. So there is no extra state that a crash could leave wrong. After a measurement, only the waivers of a
contract, and the parties' agreements to changed programs, may change.
"""

import contextlib
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec.structs import replace

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import SIZE_LIMIT, load_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.locks import Holder, LockedError, locked
from kappa.core.ground.whole_files import read_bytes, read_text, sync_folder, write_atomically
from kappa.core.record.load import MAX_REPORT_BYTES, load_session
from kappa.core.record.model import Case, Session
from kappa.core.sites.contract import Contract, Selector, load_contract
from reports.acceptance.measured import MEASURED
from reports.acceptance.operations import OPERATIONS
from reports.acceptance.outage_log import LOG, RAW, WEEKS

CONTRACT = "contract.yaml"
_EARLIER = re.compile(r"contract\.([1-9][0-9]{0,8})\.yaml", re.ASCII)
UNRESOLVED, FAMILIES, ATTEMPTS, REPORT = "unresolved.json", "families.json", "attempts", "run-report.json"
#: The files that a run writes besides its attempts, and the folders that collecting outages writes.
BY_RUN = (UNRESOLVED, FAMILIES, LOG, MEASURED)
BY_COLLECTING = (RAW, WEEKS)
#: Copies of accepted dossiers, by id of the retained clause.
ACCEPTED = "accepted"
#: Readings of meters.
ENERGY = "energy"
_FOLDERS = (ATTEMPTS, ACCEPTED, ENERGY, OPERATIONS, *BY_COLLECTING)
LOCK = ".lock"
#: The interruptions that a stop or a crash leaves.
NO_REPORT, ABORTED = "it has no report", "its case was aborted"
_NAME = re.compile(r"[A-Za-z0-9_]+-[0-9a-f]{8}-r\d{4}-a\d{2,}")
_Count = Annotated[int, msgspec.Meta(ge=1)]
SPACK_LOCK = "spack.lock"


@dataclass(frozen=True, order=True)
class CaseSeries:
    """Identify the case of a check on a partition and environment that an acceptance run repeats.

    ``name`` is ReFrame's name, with the parameters of the case.
    """

    name: str
    partition: str
    environment: str

    @classmethod
    def of(cls, case: Case) -> "CaseSeries":
        return cls(case.name, case.partition, case.environ)

    def __str__(self) -> str:
        return f"{self.name} on {self.partition}+{self.environment}"

    @property
    def slug(self) -> str:
        """Return a name for folders: the check, and a hash of the series."""
        digest = hashlib.sha256("\0".join((self.name, self.partition, self.environment)).encode()).hexdigest()
        return f"{re.sub('[^A-Za-z0-9]', '_', self.name.partition(' ')[0])[:40]}-{digest[:8]}"

    @property
    def reframe_options(self) -> list[str]:
        """Return ReFrame's options that select only this series; ReFrame matches names without blanks."""
        return [f"--name=^{re.escape(self.name.replace(' ', ''))}$", f"--prgenv=^{re.escape(self.environment)}$"]


def selects(selector: Selector, case: Case) -> bool:
    """Return whether ``selector`` selects ``case``, whatever the case measured."""
    return (
        selector.check in (None, case.check_class)
        and selector.family in (None, case.family)
        and selector.partition in (None, case.partition)
        and selector.environment in (None, case.environ)
        and {key: str(value) for key, value in selector.parameters.items()}.items() <= case.parameters.items()
    )


def is_version(name: str) -> bool:
    """Return whether a file in a campaign's folder is a version of its contract."""
    return name == CONTRACT or _EARLIER.fullmatch(name) is not None


def is_result(name: str) -> bool:
    """Whether a path in a campaign's folder is one that the verdict follows from; hidden files are none."""
    path = pathlib.PurePosixPath(name)
    if name in BY_RUN or is_version(name):
        return True
    if path.parts[0] == ATTEMPTS:
        return len(path.parts) > 2 and _NAME.fullmatch(path.parts[1]) is not None
    return len(path.parts) > 1 and path.parts[0] in _FOLDERS and not path.parts[1].startswith(".")


def _without_waivers(contract: Contract) -> Contract:
    """Return the contract without waivers, and without agreements to changes."""
    return replace(
        contract,
        tender=contract.tender and replace(contract.tender, agreed=()),
        clauses=tuple(
            replace(clause, waiver=None, retained=clause.retained and replace(clause.retained, agreed=()))
            for clause in contract.clauses
        ),
    )


def _folder_name(series: CaseSeries, repeat: int, number: int) -> str:
    return f"{series.slug}-r{repeat:04}-a{number:02}"


class Families(msgspec.Struct, frozen=True):
    """Hold families of checks: ``expected`` by the contract's clauses, ``offered`` by the site."""

    expected: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a text if the contract leaves out families that the site can run; empty if none, or if unknown."""
        if set(self.expected) >= set(self.offered):
            return ""
        return f"expects {len(self.expected)} of {len(self.offered)} families of checks that the site can run"


class _Attempt(msgspec.Struct):
    """Hold ``attempt.json``: the series and repeat of the ``number``-th attempt."""

    name: str
    partition: str
    environment: str
    repeat: _Count
    number: _Count
    started: str


@dataclass(frozen=True)
class Attempt:
    """Describe the ``number``-th attempt at one repeat of a series; both count from 1."""

    folder: pathlib.Path
    series: CaseSeries
    repeat: int
    number: int
    started: str

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

    @property
    def contract(self) -> Contract:
        return load_contract(self.folder / CONTRACT)

    def earlier_contracts(self) -> dict[str, Contract]:
        """Return the versions before the binding one, by name, the oldest first.

        :raises InputError: a version is not usable, or differs from the binding one in more than waivers.
        """
        named = (_EARLIER.fullmatch(path.name) for path in self.folder.iterdir())
        numbers = sorted(int(match[1]) for match in named if match)
        names = [f"contract.{number}.yaml" for number in numbers]
        found = {name: load_contract(self.folder / name) for name in names}
        if found:
            binding = _without_waivers(self.contract)
            for name, contract in found.items():
                if _without_waivers(contract) != binding:
                    where = clean(str(self.folder / name))
                    raise InputError(f"{where} differs from {CONTRACT} in more than waivers; restore its first content")
        return found

    def unresolved(self) -> dict[str, str]:
        """Return clause id -> reason why no series was run for it."""
        path = self.folder / UNRESOLVED
        if not path.exists():
            return {}
        return load_json(path, dict[str, str])

    def families(self) -> Families:
        path = self.folder / FAMILIES
        return load_json(path, Families) if path.exists() else Families()

    def attempts(self) -> list[Attempt]:
        """Return every attempt, sorted by series, repeat and number.

        :raises InputError: an ``attempt.json`` is missing or damaged.
        """
        found = [self._attempt(path) for path in (self.folder / ATTEMPTS).glob("*") if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda attempt: (attempt.series, attempt.repeat, attempt.number))

    def _attempt(self, folder: pathlib.Path) -> Attempt:
        kept = load_json(folder / "attempt.json", _Attempt)
        series = CaseSeries(kept.name, kept.partition, kept.environment)
        if folder.name != _folder_name(series, kept.repeat, kept.number):
            where = clean(str(folder))
            raise InputError(f"{where}: attempt.json is about another attempt; restore the name or the file")
        return Attempt(folder, series, kept.repeat, kept.number, kept.started)

    def freeze(self, contract: pathlib.Path) -> None:
        """Make ``contract`` the binding one, and keep the earlier version.

        :raises InputError: it differs in more than waivers from the contract at the start of the run.
        """
        agreed, text = load_contract(contract), read_text(contract, SIZE_LIMIT)
        kept = self.folder / CONTRACT
        if not kept.exists():
            write_atomically(kept, text)
            return
        before = read_text(kept, SIZE_LIMIT)
        if before == text:
            return
        if _without_waivers(load_contract(kept)) != _without_waivers(agreed):
            where = clean(str(self.folder))
            raise InputError(
                f"{clean(str(contract))} differs from the contract in {where} in more than waivers; use a new folder: "
                "after the start only waivers may change"
            )
        earlier = [*self.earlier_contracts()]
        # If an earlier call stopped between the two writes, this version is there already.
        if not earlier or read_text(self.folder / earlier[-1], SIZE_LIMIT) != before:
            last = int(earlier[-1].split(".")[1]) if earlier else 0
            write_atomically(self.folder / f"contract.{last + 1}.yaml", before)
        write_atomically(kept, text)

    def begin(self, series: CaseSeries, repeat: int, number: int) -> Attempt:
        """Make the folder of an attempt, with its ``attempt.json`` or not at all.

        :raises InputError: the folder cannot be written.
        """
        started = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%z")
        attempt = _Attempt(series.name, series.partition, series.environment, repeat, number, started)
        name = _folder_name(series, repeat, number)
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
    def locked(self, has_ended: Callable[[Holder], bool] = lambda _: False) -> Iterator[int]:
        """Lock the folder against other runs, and yield the descriptor of the lock; a child that inherits it keeps it.

        :param has_ended: see ``locks.locked``.

        :raises InputError: another run, or a session that an earlier run left behind, holds the lock.
        """
        with contextlib.ExitStack() as stack:
            yield self._hold(stack, has_ended=has_ended)

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Lock the folder for reading while no run is in it; the folder may be read-only.

        :raises InputError: a run is in the folder.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                self._hold(stack, shared=True)
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
