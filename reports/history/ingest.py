"""From ReFrame's reports to the dataset: new sessions only, damaged reports named and left out."""

import gc
import multiprocessing
import os
import pathlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.record.load import CONFIRMATIONS, OUTPUT, PATTERNS, STAGE
from reports.history import dataset
from reports.history.reader import load_figures
from reports.history.rows import Rows

# Values that are held before they are written: some 100 MB.
_BATCH = 250_000
# Fewer reports than this are read before another process has started.
_WORTH_PROCESSES = 100
# Reports whose rows make one table: tables of a few rows cost more than what is in them.
_TOGETHER = 16


@dataclass(frozen=True)
class Ingested:
    sessions: int
    values: int
    known: int
    """Sessions that the dataset had already."""
    damaged: tuple[str, ...]


def reports_in(places: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """The report files among ``places`` and in folders below them, each with those of what was measured again.

    :raises InputError: a place does not exist.
    """
    found: dict[pathlib.Path, None] = {}
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or folder")
        if place.is_dir():
            found.update(dict.fromkeys(sorted(_reports_below(place))))
        else:
            found.update(dict.fromkeys((place, *sorted((place.parent / CONFIRMATIONS).glob("*.json")))))
    return list(found)


def _reports_below(place: pathlib.Path) -> Iterator[pathlib.Path]:
    """Not among the raw output of jobs, which is much and may have any name."""
    for folder, below, files in os.walk(place):
        below[:] = [name for name in below if name not in (STAGE, OUTPUT)]
        patterns = ("*.json",) if pathlib.Path(folder).name == CONFIRMATIONS else PATTERNS
        yield from (pathlib.Path(folder, name) for name in files if any(fnmatch(name, one) for one in patterns))


def ingest(reports: Iterable[pathlib.Path], history: pathlib.Path, *, of_fabrics: bool = False) -> Ingested:
    """Add what is new in ``reports``; each session whole or not at all.

    :param of_fabrics: the history is that of simulated machines; simulated results are left out of any other.

    :raises InputError: the dataset cannot be read or written.
    """
    values = new = known = held = 0
    damaged: list[str] = []
    with dataset.locked(history):
        present = dataset.sessions(history)
        batch: list[Any] = []
        for read in _read_all(list(reports), frozenset(present), of_fabrics):
            table = read.table
            if again := present.intersection(read.sessions):
                table = table.filter(pc.invert(pc.is_in(table["session"], pa.array(again))))
            present.update(read.sessions)
            batch.append(table)
            held += len(table)
            values += len(table)
            new += len(read.sessions) - len(again)
            known += read.known + len(again)
            damaged += read.damaged
            if held >= _BATCH:
                dataset.append(history, pa.concat_tables(batch))
                batch, held = [], 0
        if held:
            dataset.append(history, pa.concat_tables(batch))
    return Ingested(new, values, known, tuple(damaged))


@dataclass
class _Read:
    """New sessions and rows of some reports."""

    sessions: set[str]
    known: int
    damaged: list[str]
    table: Any


def _read_all(reports: list[pathlib.Path], present: frozenset[str], of_fabrics: bool) -> Iterator[_Read]:
    read = partial(_read, present=present, of_fabrics=of_fabrics)
    if len(reports) < _WORTH_PROCESSES:
        yield from map(read, ([report] for report in reports))
        return
    # A process that is forked from one with threads (Arrow has some) may hang.
    context = multiprocessing.get_context("spawn")
    # A report has no cycles: a garbage collector would go through millions of objects and find nothing.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context, initializer=gc.disable) as pool:
        yield from pool.map(read, (reports[start : start + _TOGETHER] for start in range(0, len(reports), _TOGETHER)))


def _read(reports: list[pathlib.Path], present: frozenset[str], of_fabrics: bool) -> _Read:
    rows = Rows()
    done = _Read(set(), 0, [], None)
    for path in reports:
        try:
            report = load_figures(path, present)
            uuid = report.session_info.uuid
            if uuid in present or uuid in done.sessions:
                done.known += 1
            elif not of_fabrics and any(case.simulation for run in report.runs for case in run.testcases):
                done.damaged.append(f"{clean(str(path))}: it was simulated, and is no history of a machine that exists")
            else:
                rows.add(report, clean(str(path)))
                done.sessions.add(uuid)
        except InputError as err:
            done.damaged.append(str(err))
    done.table = rows.table()
    return done
