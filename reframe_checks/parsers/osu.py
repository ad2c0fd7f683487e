"""Tables of OSU Micro-Benchmarks 7 in C and of mpi4py's OSU demos, which print the same tables in another shape.

Also understood: ``-f`` (minimum, maximum, iterations), ``-c`` (every row has to say Pass), ``-z`` (tail
percentiles), ``-T all`` (a table for each datatype), non-blocking collectives, ``osu_init``, ``osu_hello``.
"""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.osu_columns import CEILINGS, VALIDATION, Column, Columns
from reframe_checks.parsers.text import INTEGER, Output


@dataclass(frozen=True)
class Table:
    """One table: ``rows`` maps the message size in bytes to a value for each of ``columns``.

    A table without sizes (a barrier, ``osu_init``) has one row with the key 0. ``validated`` tells whether the
    benchmark checked the data of every row (``-c``).
    """

    title: str
    datatype: str | None
    columns: tuple[Column, ...]
    rows: dict[int, tuple[float, ...]]
    validated: bool


_TITLE = re.compile(
    r"# (OSU [A-Za-z/_() -]{1,100} Test v[0-9]{1,2}(?:\.[0-9]{1,2}){1,2}|(?:Kappa )?MPI [A-Za-z/_() -]{1,100} Test)"
)
_DATATYPE = re.compile(r"# Datatype: (MPI_[A-Z0-9_]{1,60})\.")
_INIT = re.compile(rf"nprocs: ({INTEGER}), min: ({INTEGER}) ms, max: ({INTEGER}) ms, avg: ({INTEGER}) ms")
_HELLO = re.compile(rf"This is a test with ({INTEGER}) processes")
# Neighbourhood collectives say this above their title.
_TOPOLOGY = re.compile(r"Dimensions size = [0-9 ]{1,100}|Time took to create topology graph:[0-9]{1,15}\.[0-9]{2} us\.")
_PROCESSES = Column("Processes", "count")
_INIT_COLUMNS = (*(Column(f"{name} Init", "ms") for name in ("Avg", "Min", "Max")), _PROCESSES)

_CHOICES: dict[str, Callable[[Iterable[float]], float]] = {"min": min, "median": statistics.median, "max": max}


def parse(
    text: str, *, expect_sizes: Sequence[int] | None = None, expect_tables: int | None = None
) -> tuple[Table, ...]:
    """Every table of ``text``, in order; several when a benchmark was repeated in one job.

    :param expect_sizes: message sizes that every table must have. A row that was lost, or output cut off between
        two rows, can be noticed only with it.
    :param expect_tables: number of tables that there must be.
    :raises ParseError: anything else than tables, blank lines and comments; a value that is not finite and above
        0 (0.00 means that the clock is too coarse for the iterations); sizes that do not increase; a row that
        failed validation; a heading that is unknown or contradicts the title; a missing size or table.
    """
    output = Output.read("OSU output", text)
    tables = _Reader(output).tables()
    if expect_tables is not None and len(tables) != expect_tables:
        raise output.missing(f"{expect_tables} tables, found {len(tables)}")
    for index, table in enumerate(tables, start=1):
        missing = sorted(set(expect_sizes or ()) - set(table.rows))
        if missing:
            raise output.missing(f"message sizes {missing} in table {index} ({table.title})")
    return tables


def curve(tables: Sequence[Table], pick: Literal["min", "median", "max"], column: int = 0) -> dict[int, float]:
    """Message size in bytes -> the minimum, median or maximum over repeats of one benchmark.

    :raises ParseError: no table, or tables that differ in title, datatype, columns or sizes.
    """
    if not tables:
        raise ParseError("OSU repeats", "at least one table")
    first = _identity(tables[0])
    for index, table in enumerate(tables[1:], start=2):
        if _identity(table) != first:
            raise ParseError("OSU repeats", f"a table of {first} each time, table {index} has {_identity(table)}")
    return {size: _CHOICES[pick](table.rows[size][column] for table in tables) for size in tables[0].rows}


def _identity(table: Table) -> tuple[object, ...]:
    return table.title, table.datatype, [column.name for column in table.columns], list(table.rows)


class _Reader:
    """Reads title, comments, column headings and rows, in this order, again and again."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._title = ""
        self._datatype: str | None = None
        # Datatypes that have a table under the current title: a second one needs a new title.
        self._done: set[str | None] = set()
        self._columns: Columns | None = None
        self._rows: dict[int, tuple[float, ...]] = {}
        self._tables: list[Table] = []

    def tables(self) -> tuple[Table, ...]:
        for number, line in enumerate(self._output.lines, start=1):
            if not line.strip() or line.startswith("#"):
                self._close(number)
                self._comment(number, line)
            elif _TOPOLOGY.fullmatch(line):
                self._close(number)
            elif self._columns:
                self._row(number, self._columns)
            else:
                self._sentence(number, line)
        end = len(self._output.lines) + 1
        self._close(end)
        if self._datatype not in self._done:
            raise self._output.error(end, "a table of figures")
        return tuple(self._tables)

    def _comment(self, number: int, line: str) -> None:
        if title := _TITLE.fullmatch(line.rstrip()):
            if self._title and not self._done:
                raise self._output.error(number, f"a table under {self._title!r} before the next title")
            self._title, self._datatype, self._done = title[1], None, set()
        elif datatype := _DATATYPE.fullmatch(line.rstrip()):
            if not self._title:
                raise self._output.error(number, "the title `# … Test` above the datatype")
            self._datatype = datatype[1]
        elif columns := Columns.read(self._output, number, self._title):
            self._start(number)
            self._columns = columns

    def _start(self, number: int) -> None:
        if not self._title or self._datatype in self._done:
            raise self._output.error(number, "a title `# … Test` of its own above each table")
        self._done.add(self._datatype)

    def _row(self, number: int, columns: Columns) -> None:
        size, values = columns.row(self._output, number)
        last = max(self._rows, default=-1)
        if size <= last:
            raise self._output.error(number, f"a message size above {last}" if columns.has_sizes else "one row only")
        self._rows[size] = values

    def _close(self, number: int) -> None:
        if not self._columns:
            return
        if not self._rows:
            raise self._output.error(number, "a row of figures under the column headings")
        validated = VALIDATION in self._columns.headings
        self._tables.append(Table(self._title, self._datatype, self._columns.numeric, self._rows, validated))
        self._columns, self._rows = None, {}

    def _sentence(self, number: int, line: str) -> None:
        """``osu_init`` and ``osu_hello`` print a sentence instead of a table."""
        init, hello = _INIT.fullmatch(line), _HELLO.fullmatch(line)
        columns: tuple[Column, ...]
        tokens: tuple[str, ...]
        if "Init" in self._title and init:
            columns, tokens = _INIT_COLUMNS, (init[4], init[2], init[3], init[1])
        elif "Hello" in self._title and hello:
            columns, tokens = (_PROCESSES,), (hello[1],)
        else:
            raise self._output.error(number, "a title `# … Test`, column headings, then rows of figures")
        self._start(number)
        values = tuple(
            self._output.positive(number, column.name, token, CEILINGS[column.unit])
            for column, token in zip(columns, tokens, strict=True)
        )
        if len(values) > 1 and not values[1] <= values[0] <= values[2]:
            raise self._output.error(number, "min <= avg <= max")
        self._tables.append(Table(self._title, None, columns, {0: values}, validated=False))
