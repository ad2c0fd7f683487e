"""Ingest ReFrame's reports into the dataset: only new sessions; damaged reports are named and left out."""

import gc
import multiprocessing
import os
import pathlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial

import numpy as np

from kappa.core.ground.errors import InputError
from kappa.core.record.load import hashes_of, load_session
from kappa.core.record.model import Session
from kappa.core.record.reframe_report import session_of
from kappa.core.record.runs import CONFIRMATIONS, OUTPUT, PATTERNS, STAGE
from reports.history import dataset
from reports.history.rows import Rows, Table

# Values held in memory before a write, about 100 MB.
_BATCH = 250_000
# With fewer reports, reading takes less time than starting another process.
_WORTH_PROCESSES = 100
# The number of reports whose rows make one table, because small tables are expensive.
_TOGETHER = 16


@dataclass(frozen=True)
class Ingested:
    """Count the ingested sessions and values, and name the damaged reports."""

    sessions: int
    values: int
    known: int
    """Sessions that were in the dataset already."""
    damaged: tuple[str, ...]


def reports_in(places: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """Return the report files in ``places`` and in folders below them.

    :raises InputError: a place does not exist.
    """
    found: dict[pathlib.Path, None] = {}
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or folder")
        if place.is_dir():
            found.update(dict.fromkeys(sorted(_reports_below(place))))
        else:
            found[place] = None
    return list(found)


def _reports_below(place: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the reports below ``place``, but not in the raw output of jobs, where files may have any name.

    A report is read with its re-measurements.
    """
    for folder, below, files in os.walk(place):
        below[:] = [name for name in below if name not in (STAGE, OUTPUT, CONFIRMATIONS)]
        yield from (pathlib.Path(folder, name) for name in files if any(fnmatch(name, one) for one in PATTERNS))


def ingest(reports: Iterable[pathlib.Path], history: pathlib.Path, *, of_fabrics: bool = False) -> Ingested:
    """Add the new sessions in ``reports``, each complete or not at all; a copy of a report counts once.

    :param of_fabrics: the history is of simulated machines; other histories leave simulated results out.
    :raises InputError: the dataset cannot be read or written.
    """
    values = new = known = held = 0
    damaged: list[str] = []
    with dataset.locked(history):
        present = dataset.sessions(history)
        batch: list[Table] = []
        for read in _read_all(list(reports), frozenset(present), of_fabrics):
            table = read.table
            if again := present.intersection(read.sessions):
                table = table.chosen(~np.isin(table.column("content"), [*again]))
            present.update(read.sessions)
            batch.append(table)
            held += len(table.case_of)
            values += len(table.case_of)
            new += len(read.sessions) - len(again)
            known += read.known + len(again)
            damaged += read.damaged
            if held >= _BATCH:
                dataset.append(history, batch)
                batch, held = [], 0
        if held:
            dataset.append(history, batch)
    return Ingested(new, values, known, tuple(damaged))


@dataclass
class _Read:
    """Hold the new sessions, by the SHA-256 of their reports, and the rows of some reports."""

    sessions: set[str]
    known: int
    damaged: list[str]
    table: Table


def _read_all(reports: list[pathlib.Path], present: frozenset[str], of_fabrics: bool) -> Iterator[_Read]:
    read = partial(_read, present=present, of_fabrics=of_fabrics)
    if len(reports) < _WORTH_PROCESSES:
        yield from map(read, ([report] for report in reports))
        return
    # A process forked from one with threads (DuckDB has some) may hang.
    context = multiprocessing.get_context("spawn")
    # A report has no cycles, so a garbage collector would search millions of objects in vain.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context, initializer=gc.disable) as pool:
        yield from pool.map(read, (reports[start : start + _TOGETHER] for start in range(0, len(reports), _TOGETHER)))


def _read(reports: list[pathlib.Path], present: frozenset[str], of_fabrics: bool) -> _Read:
    rows, known = Rows(), 0
    added: set[str] = set()
    damaged: list[str] = []
    for path in reports:
        try:
            # By the content, because a report of another session may have the same uuid.
            contents = {*hashes_of(path)}
            if contents <= present | added:
                known += len(contents)
                continue
            for session in _sessions(path, damaged):
                if {session.sha256, session.uuid} & present or session.sha256 in added:
                    known += 1
                elif not of_fabrics and any(case.simulation for cases in session.runs for case in cases):
                    damaged.append(f"{session.path}: simulated results cannot go into a real site's history")
                else:
                    rows.add(session)
                    added.add(session.sha256)
        except InputError as err:
            damaged.append(str(err))
    return _Read(added, known, damaged, rows.table())


def _sessions(path: pathlib.Path, damaged: list[str]) -> tuple[Session, ...]:
    """Return the run at ``path`` and its re-measurements; if one of these is damaged, only the run."""
    try:
        run = load_session(path)
    except InputError as err:
        run = session_of(path)
        damaged.append(str(err))
    return run, *run.again
