"""From ReFrame's reports to the dataset: new sessions only, damaged reports named and left out."""

import gc
import multiprocessing
import os
import pathlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from reports.errors import InputError
from reports.history import dataset
from reports.history.rows import SCHEMA, rows_of
from reports.load import CONFIRMATIONS, PATTERNS, load_figures

# Values that are held before they are written: some 100 MB.
_BATCH = 250_000
# Fewer reports than this are read before another process has started.
_WORTH_PROCESSES = 100


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
            patterns = (*PATTERNS, f"{CONFIRMATIONS}/*.json")
            found.update(dict.fromkeys(sorted(path for pattern in patterns for path in place.rglob(pattern))))
        else:
            found.update(dict.fromkeys((place, *sorted((place.parent / CONFIRMATIONS).glob("*.json")))))
    return list(found)


def ingest(reports: Iterable[pathlib.Path], history: pathlib.Path) -> Ingested:
    """Add what is new in ``reports``; each session whole or not at all.

    :raises InputError: the dataset cannot be read or written.
    """
    values = new = known = held = 0
    damaged: list[str] = []
    with dataset.locked(history):
        present = dataset.sessions(history)
        batch: list[Any] = []
        for uuid, table, problem in _tables(list(reports), frozenset(present)):
            if problem:
                damaged.append(problem)
            elif uuid in present:
                known += 1
            else:
                present.add(uuid)
                batch.append(table)
                held += len(table)
                values += len(table)
                new += 1
            if held >= _BATCH:
                dataset.append(history, pa.concat_tables(batch))
                batch, held = [], 0
        if held:
            dataset.append(history, pa.concat_tables(batch))
    return Ingested(new, values, known, tuple(damaged))


# Identifier of the session, its values (none when it is known), and what is wrong with the report.
_Read = tuple[str, Any, str]


def _tables(reports: list[pathlib.Path], present: frozenset[str]) -> Iterator[_Read]:
    read = partial(_table, present=present)
    if len(reports) < _WORTH_PROCESSES:
        yield from map(read, reports)
        return
    # A process that is forked from one with threads (Arrow has some) may hang.
    context = multiprocessing.get_context("spawn")
    # A report has no cycles: a garbage collector would go through millions of objects and find nothing.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context, initializer=gc.disable) as pool:
        yield from pool.map(read, reports, chunksize=8)


def _table(path: pathlib.Path, present: frozenset[str]) -> _Read:
    try:
        session = load_figures(path, present)
        return session.uuid, pa.Table.from_pylist(rows_of(session), schema=SCHEMA), ""
    except InputError as err:
        return "", None, str(err)
