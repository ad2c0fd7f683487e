"""Read and write the history of a site: ``results/<site>/history/month=YYYY-MM/values.parquet``, read by DuckDB.

There is one file for each month, and an ingest replaces it as a whole. So a reader sees a month before or after an
ingest, never a part of a session. A rewrite of a month with 10^6 values takes about a second.
"""

import contextlib
import datetime
import math
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from kappa.core.ground import locks
from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import MOST_DIGITS
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import folded
from kappa.core.ground.whole_files import written_beside
from kappa.core.record.model import SAME_ALLOCATION, SAME_NODES
from reports.history.rows import FACTS, LAST_YEAR, SCHEMA, Table
from reports.verdict.metric_verdict import worse_sign

FILE = "values.parquet"
KEY = ("check_class", '"case"', "metric", "partition", "environ")
# A column is null in a month that was written before the column was added.
_LATER = (
    "UNION ALL BY NAME SELECT NULL::BOOLEAN AS informational, NULL::VARCHAR AS confirms, NULL::BOOLEAN AS of_node, "
    "NULL::VARCHAR AS content WHERE false"
)
# One month, and all months, with every column.
_MONTH = f"(SELECT * FROM read_parquet(?) {_LATER})"
_VALUES = f"(SELECT * FROM read_parquet(getvariable('files'), union_by_name = true) {_LATER})"
# Out of bounds first, and within bounds when re-measured in the same allocation or on the same nodes.
_TRANSIENT = f"""
    verdict <> 'pass' AND EXISTS (
        SELECT 1 FROM {_VALUES} AS again
        WHERE again.purpose IN ('{SAME_ALLOCATION}', '{SAME_NODES}') AND again.verdict = 'pass'
            AND again.confirms = one.session AND again.nodes = one.nodes AND again.metric = one.metric
            AND {" AND ".join(f"again.{column} = one.{column}" for column in KEY)})
"""
# The columns of arrays in the types of the dataset. DuckDB reads NaN in an array as null.
_NEW = ", ".join(
    f"coalesce({name}, 'nan')::{kind} AS {name}" if kind == "DOUBLE" else f"new.{name}::{kind} AS {name}"
    for name, kind in SCHEMA.items()
)
# More changes of one fact than this are only counted.
_TOLD = 3


def files(history: pathlib.Path) -> list[pathlib.Path]:
    """Return the files of the dataset, oldest month first."""
    return sorted(history.glob(f"month=*/{FILE}"))


def sessions(history: pathlib.Path) -> set[str]:
    """Return for each session in the dataset the SHA-256 of its report; for an older row, its uuid.

    :raises InputError: a file of the dataset cannot be read.
    """
    which = "DISTINCT coalesce(content, session)"
    with _connected() as database:
        return {session for path in files(history) for (session,) in _read(database, path, which)}


def append(history: pathlib.Path, tables: Sequence[Table]) -> None:
    """Add tables of values of new sessions.

    :raises InputError: the dataset cannot be read or written; the months written until then are complete.
    """
    months = [table.column("time").astype("datetime64[M]") for table in tables]
    # More threads take more memory and not less time.
    with _connected(threads=1) as database:
        for month in np.unique(np.concatenate(months)):
            new = [table.chosen(of == month) for table, of in zip(tables, months, strict=True)]
            database.register("new", {name: np.concatenate([one.column(name) for one in new]) for name in SCHEMA})
            _extend(database, history / f"month={month}" / FILE)


@contextlib.contextmanager
def locked(history: pathlib.Path) -> Iterator[None]:
    """Lock the dataset, one writer at a time; the lock ends with the process.

    :raises InputError: the lock cannot be written.
    """
    try:
        with locks.locked(history / ".lock", waiting=lambda: None):
            yield
    except OSError as err:
        raise InputError(f"cannot write {clean(str(history))}: {err.strerror}") from err


def _connected(**settings: Any) -> duckdb.DuckDBPyConnection:
    # Half of the memory for a query; the rest is for its results.
    settings["memory_limit"] = "500MB"
    # No query may load code or fetch it from the network. The package has all that Parquet needs.
    for automatic in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
        settings[automatic] = False
    database = duckdb.connect(config=settings)
    # NumPy's times have no zone, and are in UTC.
    database.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")
    return database


def _read(database: duckdb.DuckDBPyConnection, path: pathlib.Path, what: str) -> list[tuple[Any, ...]]:
    try:
        return database.execute(f"SELECT {what} FROM {_MONTH} AS one", [str(path)]).fetchall()
    except duckdb.Error as err:
        why = str(err).partition("\n")[0]  # without the query
        where = clean(str(path))
        raise InputError(f"cannot read {where}: {clean(why)}; remove it, then run kappa history SITE --add") from err


def _extend(database: duckdb.DuckDBPyConnection, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    present = [str(path)] if path.exists() else []
    # A column that the file does not have yet is null in its rows. The month in the path is no column.
    old = "FROM read_parquet(?, hive_partitioning = false) UNION ALL BY NAME" if present else ""
    # Smaller row groups than DuckDB's own take less memory.
    options = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960, USE_TMP_FILE false"
    with written_beside(path) as file:
        target = f"/proc/self/fd/{file.fileno()}"
        try:
            # DuckDB before 1.4 takes no parameter here.
            database.execute(f"COPY ({old} SELECT {_NEW} FROM new) TO '{target}' ({options})", present)
        except duckdb.Error as err:
            if present:
                _read(database, path, "bit_xor(hash(one))")  # names a damaged file
            why = str(err).replace(target, str(path))
            raise InputError(f"cannot write {clean(str(path))}: {clean(why)}") from err


@dataclass(frozen=True)
class MetricSeries:
    """Hold one metric of a case over time.

    ``values``: finite, oldest first, with their ``times`` (seconds since 1970, UTC) and ``rows`` in the dataset.
    ``lower``, ``upper``: the newest bounds, infinite where unbounded. ``nodes``: separated by commas; empty for a
    series across all nodes. ``informational``: the check needs no reference for this metric.
    """

    check_class: str
    case: str
    metric: str
    partition: str
    environ: str
    nodes: str
    unit: str
    lower: float
    upper: float
    family: str
    informational: bool
    values: NDArray[np.float64]
    times: NDArray[np.float64]
    rows: tuple[str, ...]
    of_node: bool = False
    """A value of one node in a check that compares nodes; it has no reference."""

    @property
    def key(self) -> tuple[str, ...]:
        """Return the columns that this series shares with the same metric on other nodes."""
        return tuple(getattr(self, column.strip('"')) for column in KEY)

    @property
    def of_one_node(self) -> bool:
        return bool(self.nodes) and "," not in self.nodes

    @property
    def folded_nodes(self) -> str:
        """Return the nodes in Slurm's folded form; empty across nodes."""
        return folded(self.nodes.split(",")) if self.nodes else ""

    @property
    def title(self) -> str:
        return f"{self.case} {self.metric}"

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def sign(self) -> int:
        """Return the worse direction (see ``worse_sign``)."""
        return worse_sign(self.lower, self.upper, self.unit)

    @property
    def gates(self) -> bool:
        """Return whether a change can be an alarm: the site has a bound, or else the worse direction is known."""
        return self.bounded or ((self.of_node or not self.informational) and self.sign != 0)


class History:
    """Open a dataset for reading.

    :raises InputError: there is no dataset, or it is unreadable.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.files = [str(path) for path in files(folder)]
        if not self.files:
            raise InputError(f"{folder}: no results in this folder; fill it with: kappa history SITE --add")
        self._database = _connected()
        self._database.execute("SET VARIABLE files = ?", [self.files])

    def series(self, newest: int, across_nodes: bool = False, healthy: bool = False) -> list[MetricSeries]:
        """Return every series with at most ``newest`` values each, without re-measurements.

        :param healthy: leave out values on nodes for which a node check of the same session failed, and transients:
            values out of bounds that were within bounds when re-measured on the same nodes.
        :raises InputError: the dataset is unreadable.
        """
        nodes = "''" if across_nodes else "nodes"
        key = ", ".join((*KEY, nodes))
        found = self._rows(
            f"""
            SELECT {", ".join(KEY)}, {nodes}, last(unit ORDER BY time, run), last(lower ORDER BY time, run),
                last(upper ORDER BY time, run), last(family ORDER BY time, run),
                coalesce(last(informational ORDER BY time, run), false), list(value ORDER BY time, run),
                list(epoch(time) ORDER BY time, run), list(session || ':' || run ORDER BY time, run),
                coalesce(last(of_node ORDER BY time, run), false)
            FROM (SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY time DESC, run DESC) AS age
                  FROM {_VALUES} AS one
                  WHERE abs(value) < 1e{MOST_DIGITS} AND year(time) BETWEEN 1970 AND {LAST_YEAR} AND purpose = ''
                        {f"AND node_check <> 'failed' AND NOT ({_TRANSIENT})" if healthy else ""})
            WHERE age <= ? GROUP BY {", ".join(str(number + 1) for number in range(len(KEY) + 1))} ORDER BY ALL
            """,
            newest,
        )
        return [
            MetricSeries(*row[:11], np.array(row[11], float), np.array(row[12], float), tuple(row[13]), row[14])  # type: ignore[call-arg]
            for row in found
        ]

    def changes(self, series: MetricSeries, first: int, last: int) -> list[str]:
        """Return every change of a fact between the values ``first`` and ``last`` of ``series``, with its time."""
        where = " AND ".join(f"{column} = ?" for column in KEY)
        span = series.rows[first : last + 1]
        found = {
            row[0]: row[1:]
            for row in self._rows(
                f"SELECT session || ':' || run, {', '.join(FACTS)} FROM {_VALUES} WHERE {where} "
                "AND session IN (SELECT unnest(?)) AND (nodes = ? OR ? = '')",
                series.check_class, series.case, series.metric, series.partition, series.environ,
                [row.partition(":")[0] for row in span], series.nodes, series.nodes,
            )
        }  # fmt: skip
        times = series.times[first : last + 1].tolist()
        if not found:
            return []  # a series of several checks together has no facts
        facts = zip(*(found[row] for row in span), strict=True)
        return [text for name, values in zip(FACTS.values(), facts, strict=True) for text in _told(name, values, times)]

    def _rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(sql, parameters).fetchall()
        except duckdb.Error as err:
            raise InputError(f"cannot read the history: {clean(str(err))}") from err


def _told(name: str, values: Sequence[str], times: Sequence[float]) -> list[str]:
    """Return each change of a fact with both values; more than a few changes are only counted: they explain nothing."""
    at = [index for index in range(1, len(values)) if values[index] != values[index - 1]]
    if len(at) > _TOLD:
        return [f"{name}: {len(at)} times, first {_short(values[0])}, last {_short(values[-1])}"]
    return [f"{name}: {_short(values[index - 1])} → {_short(values[index])} ({day(times[index])})" for index in at]


def _short(fact: str) -> str:
    """Return the fact; of a hash only its first digits, as Git shows it."""
    is_hash = len(fact) >= 40 and all(digit in "0123456789abcdef" for digit in fact)
    return fact[:12] if is_hash else fact or "not recorded"


def day(seconds: float) -> str:
    """Return the date and time of ``seconds`` since 1970, in UTC."""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M}"
