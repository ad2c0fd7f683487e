"""Columns of OSU's tables: what their headings say, and which figures they may hold."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity


@dataclass(frozen=True)
class Column:
    """``unit`` as OSU prints it, ``count`` for a plain number."""

    name: str
    unit: str


VALIDATION = Column("Validation", "")
LATENCY = Column("Latency", "us")
BANDWIDTH = Column("Bandwidth", "MB/s")
MESSAGE_RATE = Column("Message rate", "1/s")

# By the unit of the column.
CEILINGS = {
    "us": Quantity.OPERATION_US,
    "ms": Quantity.OPERATION_MS,
    "MB/s": Quantity.MB_S,
    "1/s": Quantity.MESSAGES_S,
    "count": Quantity.COUNT,
    "B": Quantity.BYTES,
    "%": Quantity.PERCENT,
}

# "Latency(us)" is OSU 5.
_HEADINGS = {
    "Latency (us)": LATENCY,
    "Latency(us)": LATENCY,
    "Latency [us]": LATENCY,
    "Bandwidth (MB/s)": BANDWIDTH,
    "Bandwidth [MB/s]": BANDWIDTH,
    "MB/s": BANDWIDTH,
    "Messages/s": MESSAGE_RATE,
    "Iterations": Column("Iterations", "count"),
    "Transmit Size": Column("Transmit Size", "B"),
    "Overlap(%)": Column("Overlap", "%"),
    "Validation": VALIDATION,
} | {
    f"{name}(us)": Column(name, "us")
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

# Parts of a call that can take less than the two decimals show.
_MAY_BE_ZERO = {"Compute", "Coll. Init", "MPI_Test", "MPI_Wait", "Overlap"}
_BOUNDS = (("Min Latency", "Avg Latency", "Max Latency"), ("Min Comm.", "Pure Comm.", "Max Comm."))
_INTEGER = re.compile(INTEGER)
# Two decimals at least: one alone is a number that was cut off.
_DECIMAL = re.compile(r"[0-9]{1,15}\.[0-9]{2,9}")


@dataclass(frozen=True)
class Columns:
    """What each row of one table holds: perhaps a message size, then ``headings``."""

    has_sizes: bool
    headings: tuple[Column, ...]

    @property
    def numeric(self) -> tuple[Column, ...]:
        return tuple(column for column in self.headings if column != VALIDATION)

    @classmethod
    def read(cls, output: Output, number: int, title: str) -> "Columns | None":
        """Columns as line ``number`` heads them; ``None`` if it is an ordinary comment.

        mpi4py's bandwidth demos head their MB/s with "Latency [us]": the title decides.
        """
        found = _HEADER.fullmatch(output.lines[number - 1].rstrip())
        if not found or not (found["size"] or _HEADING.match(found["headings"])):
            return None
        text = found["headings"]
        columns: list[Column] = []
        position = 0
        while position < len(text):
            heading = _HEADING.match(text, position)
            if not heading:
                raise output.error(number, f"a known column heading, found {text[position:].strip()[:60]!r}")
            tail = heading["tail"]
            columns.append(Column(tail, heading["us"] or heading["mb"]) if tail else _HEADINGS[heading["fixed"]])
            position = heading.end()
        units = [unit for word, unit in (("latency", "us"), ("bandwidth", "MB/s")) if word in title.lower()]
        if units == ["MB/s"] and text.strip() == "Latency [us]":
            columns = [BANDWIDTH]
        if len(set(columns)) != len(columns) or [column.unit for column in columns[:1]] != units:
            raise output.error(number, f"a title that says latency or bandwidth, and its columns; title {title!r}")
        return cls(bool(found["size"]), tuple(columns))

    def row(self, output: Output, number: int) -> tuple[int, tuple[float, ...]]:
        """Message size (0 without sizes) and figures on line ``number``."""
        names = ["size"] * self.has_sizes + [column.name for column in self.headings]
        tokens = output.lines[number - 1].split()
        if len(tokens) != len(names):
            raise output.error(number, f"{len(names)} columns ({', '.join(names)}), found {len(tokens)}")
        size = _size(output, number, tokens.pop(0)) if self.has_sizes else 0
        values = {
            column: _value(output, number, column, token)
            for column, token in zip(self.headings, tokens, strict=True)
            if not _validated(output, number, column, token)
        }
        _check_row(output, number, size, values)
        return size, tuple(values.values())


def _size(output: Output, number: int, token: str) -> int:
    if not _INTEGER.fullmatch(token):
        raise output.error(number, f"a message size in bytes, found {token[:40]!r}")
    return int(token)


def _validated(output: Output, number: int, column: Column, token: str) -> bool:
    if column == VALIDATION and token != "Pass":
        raise output.error(number, f"validation Pass, found {token[:40]!r}")
    return column == VALIDATION


def _value(output: Output, number: int, column: Column, token: str) -> float:
    pattern = _INTEGER if column.unit in ("count", "B") else _DECIMAL
    if not pattern.fullmatch(token):
        raise output.error(number, f"{column.name} as a plain number, found {token[:40]!r}")
    if column.name in _MAY_BE_ZERO and not float(token):
        return 0.0
    return output.positive(number, f"{column.name} ({column.unit})", token, CEILINGS[column.unit])


def _check_row(output: Output, number: int, size: int, values: dict[Column, float]) -> None:
    """Figures of one row that depend on each other have to agree, to the precision printed."""
    named = {column.name: value for column, value in values.items()}
    for low, middle, high in _BOUNDS:
        if {low, middle, high} <= named.keys() and not named[low] - 0.01 <= named[middle] <= named[high] + 0.01:
            raise output.error(number, f"{low} <= {middle} <= {high}")
    if {BANDWIDTH, MESSAGE_RATE} <= values.keys() and size:
        # Both have two decimals: half of the last one of each, in messages per second.
        rounding = 0.0051 * 1e6 / size + 0.0051
        if abs(values[BANDWIDTH] * 1e6 / size - values[MESSAGE_RATE]) > rounding + 1e-9 * values[MESSAGE_RATE]:
            raise output.error(number, "a message rate of bandwidth / message size")
