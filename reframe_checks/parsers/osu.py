"""Parse tables of OSU Micro-Benchmarks in C and of mpi4py's OSU demos, which print the same tables in another form.

Tried with 7.4 and mpi4py 4.1.2 (recorded) and with 5.6, 5.7.1, 5.8, 6.2, 7.1 and 7.5 (published). The parser reads
tables by their headings, whatever the version; an unknown heading is an error.

Also supported: ``-f`` (minimum, maximum, iterations), ``-c`` (every row must have Pass), ``-z`` (tail percentiles),
``-T all`` (a table for each datatype), non-blocking collectives, ``osu_init``, ``osu_hello``.
"""

import itertools
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reframe_checks.parsers.text import INTEGER, Output, ParseError, Unit


class OsuColumn(NamedTuple):
    """A column; ``unit`` as OSU prints it, ``count`` for a plain number."""

    name: str
    unit: str


@dataclass(frozen=True)
class OsuTable:
    """One table: ``rows`` maps the message size in bytes to a value for each of ``columns``.

    A table without sizes (a barrier, ``osu_init``) has one row with the key 0. ``validated``: the benchmark checked
    the data of every row (``-c``).
    """

    title: str
    datatype: str | None
    columns: tuple[OsuColumn, ...]
    rows: dict[int, tuple[float, ...]]
    validated: bool


_VALIDATION = OsuColumn("Validation", "")
_LATENCY = OsuColumn("Latency", "us")
_BANDWIDTH = OsuColumn("Bandwidth", "MB/s")
_RATE = OsuColumn("Message rate", "1/s")
_PROCESSES = OsuColumn("Processes", "count")
_INIT_COLUMNS = (*(OsuColumn(f"{name} Init", "ms") for name in ("Avg", "Min", "Max")), _PROCESSES)
# Unit of a column -> unit of its figures.
_UNITS = {
    "us": Unit.OPERATION_US, "ms": Unit.OPERATION_MS, "MB/s": Unit.MB_S, "1/s": Unit.MESSAGES_S, "count": Unit.COUNT,
    "B": Unit.BYTES, "%": Unit.PERCENT,
}  # fmt: skip
# OSU 5 prints "Latency(us)".
_HEADINGS = {
    "Latency (us)": _LATENCY, "Latency(us)": _LATENCY, "Latency [us]": _LATENCY,
    "Bandwidth (MB/s)": _BANDWIDTH, "Bandwidth [MB/s]": _BANDWIDTH, "MB/s": _BANDWIDTH, "Messages/s": _RATE,
    "Iterations": OsuColumn("Iterations", "count"), "Transmit Size": OsuColumn("Transmit Size", "B"),
    "Overlap(%)": OsuColumn("Overlap", "%"), "Validation": _VALIDATION,
} | {
    f"{name}(us)": OsuColumn(name, "us")
    for name in (
        "Avg Latency", "Min Latency", "Max Latency",
        "Overall", "Compute", "Coll. Init", "MPI_Test", "MPI_Wait", "Pure Comm.", "Min Comm.", "Max Comm.",
    )
}  # fmt: skip
_HEADING = re.compile(
    r" *(?:(?P<fixed>" + "|".join(map(re.escape, _HEADINGS)) + r")"
    r"|(?P<tail>P[1-9][0-9]?(?:\.[0-9]{1,3})? Tail) (?:Lat\((?P<us>us)\)|BW\((?P<mb>MB/s)\)))"
)
_HEADER = re.compile(r"#? *(?P<size>Size(?: \[B\])?(?![^ ]))?(?P<headings>.*)")
# These can be 0.00: parts of a call can be shorter than the last of two decimals.
_MAY_BE_ZERO = {"Compute", "Coll. Init", "MPI_Test", "MPI_Wait", "Overlap"}
_VARIED = re.compile(r"# \[ pairs: [0-9]{1,9} \] \[ window size: varied \]")
# At least two decimals: a number with one decimal was cut off.
_DECIMAL = r"[0-9]{1,15}\.[0-9]{2,9}"
_TITLE = re.compile(
    r"(?:# )?(OSU [A-Za-z/_() -]{1,100} Test v[0-9]{1,2}(?:\.[0-9]{1,2}){1,2}(?:-[\w.]{1,20})?)"
    r"|# ((?:Kappa )?MPI [A-Za-z/_() -]{1,100} Test)"
)
_DATATYPE = re.compile(r"# Datatype: (MPI_[A-Z0-9_]{1,60})\.")
_INIT = re.compile(rf"nprocs: ({INTEGER}), min: ({INTEGER}) ms, max: ({INTEGER}) ms, avg: ({INTEGER}) ms")
_HELLO = re.compile(rf"This is a test with ({INTEGER}) processes")
# Neighbourhood collectives print this above their title.
_TOPOLOGY = re.compile(r"Dimensions size = [0-9 ]{1,100}|Time took to create topology graph:[0-9]{1,15}\.[0-9]{2} us\.")
_LINK = re.compile(r"^@link ([\w.-]{1,255}) ([\w.-]{1,255})$", re.MULTILINE)
_CHOICES: dict[str, Callable[[Iterable[float]], float]] = {"min": min, "median": statistics.median, "max": max}


def parse(
    text: str, *, expect_sizes: Sequence[int] | None = None, expect_tables: int | None = None
) -> tuple[OsuTable, ...]:
    """Parse every table of ``text``, in order; there are several tables if a job repeated the benchmark.

    :param expect_sizes: required message sizes of every table. Without them, the parser cannot detect a lost row or
        output that was cut off between two rows.
    :param expect_tables: required number of tables.
    :raises ParseError: a line is no table, blank line or comment; a value is not finite and above 0 (0.00 means that
        the clock is too coarse for the iterations); sizes do not increase; a row failed validation; a heading is
        unknown or contradicts the title; or a size or table is missing.
    """
    output = Output.read("OSU output", text)
    tables = _TableReader(output).tables()
    if expect_tables is not None and len(tables) != expect_tables:
        raise output.missing(f"{expect_tables} tables, found {len(tables)}")
    for index, table in enumerate(tables, start=1):
        if missing := sorted({*(expect_sizes or ())} - {*table.rows}):
            raise output.missing(f"message sizes {missing} in table {index} ({table.title})")
    return tables


def curve(tables: Sequence[OsuTable], pick: Literal["min", "median", "max"], column: int = 0) -> dict[int, float]:
    """Return the minimum, median or maximum over the repeats of a benchmark: message size in bytes -> value.

    :raises ParseError: there is no table, or tables differ in title, datatype, columns or sizes.
    """
    if not tables:
        raise ParseError("OSU repeats", "at least one table")
    first = _identity(tables[0])
    for index, table in enumerate(tables[1:], start=2):
        if _identity(table) != first:
            raise ParseError("OSU repeats", f"a table of {first} each time, table {index} has {_identity(table)}")
    return {size: _CHOICES[pick](table.rows[size][column] for table in tables) for size in tables[0].rows}


def _identity(table: OsuTable) -> tuple[object, ...]:
    return table.title, table.datatype, [column.name for column in table.columns], list(table.rows)


def links(text: str, *, message_bytes: int, expect_nodes: int, expect_repeats: int) -> dict[tuple[str, str], float]:
    """Parse the tables of ``ring_of_links.sh``: (node, node) -> best bandwidth of the link in MB/s.

    Each table follows a line ``@link NODE NODE``.

    :raises ParseError: there is no link; text precedes the first link; a table is missing; the number of measurements
        of a link is wrong; they are not consecutive; the links are no ring of ``expect_nodes`` nodes (two: one link).
    """
    before, *parts = _LINK.split("".join(f"{line}\n" for line in Output.read("link bandwidths", text).lines))
    pairs = list(zip(parts[0::3], parts[1::3], strict=True))
    samples: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}

    def require(holds: bool, expected: str) -> None:
        if not holds:
            raise ParseError("link bandwidths", expected, text=text, line=1)

    require(bool(pairs) and not before.strip(), "a line `@link NODE NODE`")
    at_one_go = len(list(itertools.groupby(pairs))) == len(samples)
    require(at_one_go, "the measurements of a link one after the other")
    for pair, output in zip(pairs, parts[2::3], strict=True):
        tables = parse(output, expect_sizes=[message_bytes], expect_tables=1)
        samples[pair].append(curve(tables, "max")[message_bytes])
    for pair, values in samples.items():
        enough = f"{expect_repeats} measurements of {'-'.join(pair)}, found {len(values)}"
        require(len(values) == expect_repeats, enough)
    starts, ends = (sorted(nodes) for nodes in zip(*samples, strict=True))
    closed = len(samples) == (expect_nodes if expect_nodes > 2 else 1) and (expect_nodes == 2 or starts == ends)
    require(closed, f"links that close a ring of {expect_nodes} nodes")
    return {pair: max(values) for pair, values in samples.items()}


class _TableReader:
    """Read title, comments, column headings and rows, in this order, repeatedly."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._title = ""
        self._datatype: str | None = None
        # Datatypes that have a table under the current title. A second table of one needs a new title.
        self._done: set[str | None] = set()
        self._columns: _Columns | None = None
        # OSU 7.1 names the datatype below the headings; the headings then apply to several datatypes.
        self._named_below = False
        self._rows: dict[int, tuple[float, ...]] = {}
        self._tables: list[OsuTable] = []

    def tables(self) -> tuple[OsuTable, ...]:
        for number, line in enumerate(self._output.lines, start=1):
            if self._datatype_below_headings(number, line):
                continue
            comment = not line.strip() or line.startswith("#") or _TITLE.fullmatch(line.rstrip())
            if comment or _TOPOLOGY.fullmatch(line):
                self._close(number)
            if comment:
                self._comment(number, line)
            elif self._columns:
                self._row(number, self._columns)
            elif not _TOPOLOGY.fullmatch(line) and not self._heading(number):
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
            self._title, self._datatype, self._done = title[1] or title[2], None, set()
        elif datatype := _DATATYPE.fullmatch(line.rstrip()):
            if not self._title:
                raise self._output.error(number, "the title `# … Test` above the datatype")
            self._datatype = datatype[1]
        elif _VARIED.fullmatch(line.rstrip()):
            raise self._output.error(number, "one window size (`-W`): `-V` prints a table of several")
        else:
            self._heading(number)

    def _heading(self, number: int) -> bool:
        """Read line ``number`` and return if it has column headings; they lack # where OSU 5 has no sizes."""
        columns = _Columns.read(self._output, number, self._title)
        if columns:
            self._start(number)
            self._columns, self._named_below = columns, False
        return bool(columns)

    def _datatype_below_headings(self, number: int, line: str) -> bool:
        """Read line ``number`` and return if it names the datatype of the rows below, under existing headings."""
        columns, datatype = self._columns, _DATATYPE.fullmatch(line.rstrip())
        first = not self._rows and self._datatype is None
        if not datatype or not columns or not (first or (self._rows and self._named_below)):
            return False
        if first:
            self._done.discard(None)
        else:
            self._close(number)
        self._datatype = datatype[1]
        self._start(number)
        self._columns, self._named_below = columns, True
        return True

    def _start(self, number: int) -> None:
        if not self._title or self._datatype in self._done:
            raise self._output.error(number, "a title `# … Test` of its own above each table")
        self._done.add(self._datatype)

    def _row(self, number: int, columns: "_Columns") -> None:
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
        columns = tuple(column for column in self._columns.headings if column != _VALIDATION)
        validated = _VALIDATION in self._columns.headings
        self._tables.append(OsuTable(self._title, self._datatype, columns, self._rows, validated))
        self._columns, self._rows = None, {}

    def _sentence(self, number: int, line: str) -> None:
        """Parse the sentence that ``osu_init`` and ``osu_hello`` print instead of a table."""
        columns: tuple[OsuColumn, ...]
        tokens: tuple[str, ...]
        if "Init" in self._title and (init := _INIT.fullmatch(line)):
            columns, tokens = _INIT_COLUMNS, (init[4], init[2], init[3], init[1])
        elif "Hello" in self._title and (hello := _HELLO.fullmatch(line)):
            columns, tokens = (_PROCESSES,), (hello[1],)
        else:
            raise self._output.error(number, "a title `# … Test`, column headings, then rows of figures")
        self._start(number)
        values = tuple(
            self._output.positive(number, column.name, token, _UNITS[column.unit])
            for column, token in zip(columns, tokens, strict=True)
        )
        if len(values) > 1 and not values[1] <= values[0] <= values[2]:
            raise self._output.error(number, "min <= avg <= max")
        self._tables.append(OsuTable(self._title, None, columns, {0: values}, validated=False))


@dataclass(frozen=True)
class _Columns:
    """The columns of a table: possibly a message size, then ``headings``."""

    has_sizes: bool
    headings: tuple[OsuColumn, ...]

    @classmethod
    def read(cls, output: Output, number: int, title: str) -> "_Columns | None":
        """Return the columns of the heading on line ``number``; ``None`` if it is an ordinary comment.

        mpi4py's bandwidth demos print "Latency [us]" above MB/s: the title decides.
        """
        found = _HEADER.fullmatch(output.lines[number - 1].rstrip())
        if not found or not (found["size"] or _HEADING.match(found["headings"])):
            return None
        text = found["headings"]
        columns: list[OsuColumn] = []
        position = 0
        while position < len(text):
            heading = _HEADING.match(text, position)
            if not heading:
                raise output.error(number, f"a known column heading, found {text[position:].strip()[:60]!r}")
            tail = heading["tail"]
            columns.append(OsuColumn(tail, heading["us"] or heading["mb"]) if tail else _HEADINGS[heading["fixed"]])
            position = heading.end()
        units = [unit for word, unit in (("latency", "us"), ("bandwidth", "MB/s")) if word in title.lower()]
        if units == ["MB/s"] and text.strip() == "Latency [us]":
            columns = [_BANDWIDTH]
        if len(set(columns)) != len(columns) or [column.unit for column in columns[:1]] != units:
            raise output.error(number, f"a title that says latency or bandwidth, and its columns; title {title!r}")
        return cls(bool(found["size"]), tuple(columns))

    def row(self, output: Output, number: int) -> tuple[int, tuple[float, ...]]:
        """Return the message size (0 without sizes) and the figures on line ``number``."""
        names = ["size"] * self.has_sizes + [column.name for column in self.headings]
        tokens = output.lines[number - 1].split()
        if len(tokens) != len(names):
            raise output.error(number, f"{len(names)} columns ({', '.join(names)}), found {len(tokens)}")
        token = tokens.pop(0) if self.has_sizes else "0"
        if not re.fullmatch(INTEGER, token):
            raise output.error(number, f"a message size in bytes, found {token[:40]!r}")
        values = {}
        for column, figure in zip(self.headings, tokens, strict=True):
            if column != _VALIDATION:
                values[column.name] = _value(output, number, column, figure)
            elif figure != "Pass":
                raise output.error(number, f"validation Pass, found {figure[:40]!r}")
        _check_row(output, number, int(token), values)
        return int(token), tuple(values.values())


def _value(output: Output, number: int, column: OsuColumn, token: str) -> float:
    if not re.fullmatch(INTEGER if column.unit in ("count", "B") else _DECIMAL, token):
        raise output.error(number, f"{column.name} as a plain number, found {token[:40]!r}")
    if column.name in _MAY_BE_ZERO and not float(token):
        return 0.0
    return output.positive(number, f"{column.name} ({column.unit})", token, _UNITS[column.unit])


def _check_row(output: Output, number: int, size: int, values: dict[str, float]) -> None:
    """Check that dependent figures of one row agree, to the printed precision."""
    # Not of Pure Comm.: with few iterations, its mean of all ranks is outside of Min Comm. and Max Comm.
    low, middle, high = (values.get(f"{which} Latency") for which in ("Min", "Avg", "Max"))
    if low and middle and high and not low - 0.01 <= middle <= high + 0.01:
        raise output.error(number, "Min Latency <= Avg Latency <= Max Latency")
    bandwidth, rate = values.get(_BANDWIDTH.name), values.get(_RATE.name)
    if bandwidth and rate and size:
        # Both have two decimals: half a unit of the last one of each, in messages per second.
        rounding = 0.0051 * 1e6 / size + 0.0051
        if abs(bandwidth * 1e6 / size - rate) > rounding + 1e-9 * rate:
            raise output.error(number, "a message rate of bandwidth / message size")
