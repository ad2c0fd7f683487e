"""The Parquet dataset ``results/<site>/history/month=YYYY-MM/values.parquet``.

One file for each month, replaced as a whole: a reader sees the month before an ingest or after it, a session never in
part, and there are no small files to merge. A month of 10^6 values is rewritten in about a second.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kappa.core.ground import locks
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import written_beside

FILE = "values.parquet"


def files(history: pathlib.Path) -> list[pathlib.Path]:
    return sorted(history.glob(f"month=*/{FILE}"))


def sessions(history: pathlib.Path) -> set[str]:
    """Identifiers of the sessions that are in the dataset.

    :raises InputError: a file of the dataset cannot be read.
    """
    found: set[str] = set()
    for path in files(history):
        found.update(pc.unique(_read(path, ["session"])["session"]).to_pylist())
    return found


def append(history: pathlib.Path, values: Any) -> None:
    """Add a table of values of new sessions.

    :raises InputError: the dataset cannot be read or written; the months written until then are whole.
    """
    month_of = pc.strftime(values["time"], "%Y-%m")
    for month in pc.unique(month_of).to_pylist():
        path = history / f"month={month}" / FILE
        tables = [_read(path)] if path.exists() else []
        # A column that is newer than the file is null in its rows.
        tables.append(values.filter(pc.equal(month_of, month)))
        _write(path, pa.concat_tables(tables, promote_options="default").unify_dictionaries())


@contextlib.contextmanager
def locked(history: pathlib.Path) -> Iterator[None]:
    """One writer at a time; the lock goes with the process."""
    try:
        with locks.locked(history / ".lock", waiting=lambda: None):
            yield
    except OSError as err:
        raise InputError(f"cannot write {clean(str(history))}: {err.strerror}") from err


def _read(path: pathlib.Path, columns: list[str] | None = None) -> Any:
    try:
        return pq.ParquetFile(path).read(columns=columns)
    except (OSError, pa.ArrowException) as err:
        raise InputError(f"cannot read {clean(str(path))}: {clean(str(err))}; remove it and ingest again") from err


def _write(path: pathlib.Path, table: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as file:
        pq.write_table(table, file, compression="zstd")
