"""Results of ``mpi_behaviour``, the program of how the MPI library itself behaves: a JSON object each.

Every time is a list with one figure for each repeat, which is the median of its iterations.
"""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

#: Of each repeat.
Repeats = tuple[float, ...]


@dataclass(frozen=True)
class Measured:
    """What every measurement says."""

    mpi: str
    ranks: int
    nodes: int
    repeats: int


@dataclass(frozen=True)
class WithPeers:
    """Latencies of rank 0 once it has exchanged messages with ``peers`` others; unexpected: of the receive alone."""

    peers: int
    expected_named_us: Repeats
    expected_any_us: Repeats
    unexpected_named_us: Repeats
    unexpected_any_us: Repeats


@dataclass(frozen=True)
class AnySource(Measured):
    """``series``: with 1, 2, 4, … and all peers."""

    message_bytes: int
    series: tuple[WithPeers, ...]


def any_source(text: str, *, expect_ranks: int) -> AnySource:
    """
    :raises ParseError: no JSON object of this measurement, format and ranks, a key missing or of another type, or
        figures that contradict each other; so do all functions of this module.
    """
    record = _document(text, "any-source", expect_ranks)
    measured = _measured(record)
    entries = record.records("series")
    expected = _doublings(measured[1] - 1)
    series = tuple(
        WithPeers(entry.integer("peers", 1, Quantity.RANKS), *(_us(entry, key, measured) for key in _ANY_SOURCE))
        for entry in entries
    )
    if [entry.peers for entry in series] != expected:
        raise record.error(f"entries with {', '.join(map(str, expected))} peers", "series")
    return AnySource(*measured, record.integer("bytes", 1, Quantity.BYTES), series)


_ANY_SOURCE = ("expected_named_us", "expected_any_us", "unexpected_named_us", "unexpected_any_us")


def _doublings(most: int) -> list[int]:
    """1, 2, 4, … below ``most``, and ``most``."""
    found = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [*found, most]


def _document(text: str, measured: str, expect_ranks: int) -> Record:
    output = Output.read(f"mpi_behaviour {measured}", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-mpi-behaviour" or record.integer("version") != 1:
        raise record.error("kappa-mpi-behaviour, version 1", "format")
    if record.text("measured") != measured:
        raise record.error(f"a measurement of {measured}", "measured")
    if record.integer("ranks", 2, Quantity.RANKS) != expect_ranks:
        raise record.error(f"{expect_ranks} ranks", "ranks")
    return record


def _measured(record: Record) -> tuple[str, int, int, int]:
    ranks, nodes = record.integer("ranks"), record.integer("nodes", 1, Quantity.RANKS)
    if nodes > ranks:
        raise record.error("no more nodes than ranks", "nodes")
    return record.text("mpi"), ranks, nodes, record.integer("repeats", 1)


def _us(entry: Record, key: str, measured: tuple[str, int, int, int]) -> Repeats:
    return tuple(entry.numbers(key, measured[3], Quantity.OPERATION_US))
