"""From ReFrame's reports to the dataset: new sessions only, damaged reports named and left out."""

import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reports.errors import InputError
from reports.history import dataset
from reports.history.rows import rows_of
from reports.load import PATTERNS, load_session

# Rows that are held before they are written: some 200 MB.
_BATCH = 200_000


@dataclass(frozen=True)
class Ingested:
    sessions: int
    values: int
    known: int
    """Sessions that the dataset had already."""
    damaged: tuple[str, ...]


def reports_in(places: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """The report files among ``places`` and in folders below them.

    :raises InputError: a place does not exist.
    """
    found: dict[pathlib.Path, None] = {}
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or folder")
        if place.is_dir():
            found.update(dict.fromkeys(sorted(path for pattern in PATTERNS for path in place.rglob(pattern))))
        else:
            found[place] = None
    return list(found)


def ingest(reports: Iterable[pathlib.Path], history: pathlib.Path) -> Ingested:
    """Add what is new in ``reports``; each session whole or not at all.

    :raises InputError: the dataset cannot be read or written.
    """
    values = new = known = 0
    damaged: list[str] = []
    with dataset.locked(history):
        present = dataset.sessions(history)
        batch: list[dict[str, Any]] = []
        for path in reports:
            try:
                session = load_session(path)
                rows = [] if session.uuid in present else rows_of(session)
            except InputError as err:
                damaged.append(str(err))
                continue
            if session.uuid in present:
                known += 1
                continue
            present.add(session.uuid)
            batch += rows
            values += len(rows)
            new += 1
            if len(batch) >= _BATCH:
                dataset.append(history, batch)
                batch = []
        if batch:
            dataset.append(history, batch)
    return Ingested(new, values, known, tuple(damaged))
