"""Results of ``mpi_behaviour``, the program of how the MPI library itself behaves: a JSON object each.

Every time is a list with one figure for each repeat, which is the median of its iterations.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reframe_checks.parsers.rank_document import document, one_of, ranks_and_nodes
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Quantity

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


#: Levels of thread support, each of which has what those before it have.
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")


@dataclass(frozen=True)
class OnThreads:
    """``latency_us``: of one message, the median of all threads; ``messages_per_s``: of a rank, both ways."""

    threads: int
    latency_us: Repeats
    messages_per_s: Repeats


@dataclass(frozen=True)
class Threads(Measured):
    """``provided``: the level that MPI gives for ``asked``; several threads only where that is multiple."""

    asked: str
    provided: str
    message_bytes: int
    series: tuple[OnThreads, ...]


@dataclass(frozen=True)
class WithMemory:
    """What a rank has in memory when it has exchanged messages with ``peers`` others: of the median and the largest."""

    peers: int
    median_kib: float
    largest_kib: float


@dataclass(frozen=True)
class Memory(Measured):
    """``before_init_kib``: of the median rank; ``series``: with no peer, then with 2, 4, 8, … and all."""

    before_init_kib: float
    series: tuple[WithMemory, ...]

    @property
    def start_kib(self) -> float:
        """What MPI has taken when MPI_Init returns."""
        return self.series[0].median_kib - self.before_init_kib

    @property
    def per_peer_kib(self) -> float:
        """The slope over peers: a straight line by least squares."""
        peers = [float(one.peers) for one in self.series]
        return statistics.linear_regression(peers, [one.median_kib for one in self.series]).slope


@dataclass(frozen=True)
class OfSize:
    """Time of a message, among several at once, by both kinds of operations."""

    message_bytes: int
    nonblocking_us: Repeats
    persistent_us: Repeats


@dataclass(frozen=True)
class Persistent(Measured):
    messages: int
    series: tuple[OfSize, ...]


@dataclass(frozen=True)
class Overlapped:
    message_bytes: int
    communication_us: Repeats
    computation_us: Repeats
    both_us: Repeats

    @property
    def hidden_percent(self) -> float:
        """Of the communication, what does not show when the rank computes meanwhile; of the median repeat."""
        shares = [
            1 - (both - computation) / communication
            for communication, computation, both in zip(
                self.communication_us, self.computation_us, self.both_us, strict=True
            )
        ]
        return 100 * min(1.0, max(0.0, statistics.median(shares)))


@dataclass(frozen=True)
class Overlap(Measured):
    operation: str
    series: tuple[Overlapped, ...]


@dataclass(frozen=True)
class BehindOthers:
    """Time from asking for a message until it is there, while ``depth`` others wait, or receives for others."""

    depth: int
    unexpected_us: Repeats
    posted_us: Repeats


@dataclass(frozen=True)
class Matching(Measured):
    message_bytes: int
    series: tuple[BehindOthers, ...]


#: Collectives that are measured, in this order.
COLLECTIVES = ("broadcast", "gather", "allreduce")
#: What else a rank may have taken meanwhile: connections and buffers of MPI.
OTHER_MIB = 16


@dataclass(frozen=True)
class Collective:
    """Time of a collective on the slowest rank, by MPI's own and through a window that all ranks share."""

    operation: str
    message_bytes: int
    mpi_us: Repeats
    shared_us: Repeats

    @property
    def mpi_over_shared(self) -> float:
        return min(self.mpi_us) / min(self.shared_us)


@dataclass(frozen=True)
class Table:
    """Of splines: ``mib`` in the memory of all ranks together, and the time of a pass over it on the slowest rank."""

    mib: float
    pass_us: Repeats


@dataclass(frozen=True)
class SharedWindow(Measured):
    """``shared``: a table of ``table_mib`` that the node holds once, ``copies``: one in each rank."""

    series: tuple[Collective, ...]
    table_mib: int
    shared: Table
    copies: Table

    def read_mb_s(self, table: Table) -> float:
        """Of a rank, in its best repeat, 10^6 bytes a second."""
        return self.table_mib * 2**20 / min(table.pass_us)


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
    _require_steps(record, [entry.peers for entry in series], expected, "peers")
    return AnySource(*measured, record.integer("bytes", 1, Quantity.BYTES), series)


def threads(text: str, *, expect_ranks: int, expect_threads: Sequence[int]) -> Threads:
    """:param expect_threads: numbers of threads that were asked for, in order."""
    record = _document(text, "threads", expect_ranks)
    measured = _measured(record)
    asked, provided = (one_of(record, key, THREAD_LEVELS) for key in ("asked", "provided"))
    expected = [count for count in expect_threads if count == 1 or provided == "multiple"]
    series = tuple(
        OnThreads(
            entry.integer("threads", 1, Quantity.RANKS),
            _us(entry, "latency_us", measured),
            tuple(entry.numbers("messages_per_s", measured[3], Quantity.MESSAGES_S)),
        )
        for entry in record.records("series")
    )
    _require_steps(record, [one.threads for one in series], expected, "threads")
    for one in series:
        for latency_us, rate in zip(one.latency_us, one.messages_per_s, strict=True):
            # Half of the round trips take the median or longer, each of them two messages and two latencies.
            if rate > 1.001 * 2 * one.threads * 1e6 / latency_us:
                raise record.error(f"no more messages than {one.threads} threads send at {latency_us} us", "series")
    return Threads(*measured, asked, provided, record.integer("bytes", 1, Quantity.BYTES), series)


def memory(text: str, *, expect_ranks: int) -> Memory:
    record = _document(text, "memory", expect_ranks)
    measured = _measured(record)
    before = record.record("before_init")
    before_kib, _ = _of_all_ranks(before)
    series = tuple(
        WithMemory(entry.integer("peers", 0, Quantity.RANKS), *_of_all_ranks(entry))
        for entry in record.records("series")
    )
    last = measured[1] - 1
    distances = _doublings(measured[1] // 2)
    _require_steps(record, [one.peers for one in series], [0, *(min(2 * one, last) for one in distances)], "peers")
    return Memory(*measured, before_kib, series)


def persistent(text: str, *, expect_ranks: int, expect_sizes: Sequence[int]) -> Persistent:
    """:param expect_sizes: bytes of a message, in order."""
    record = _document(text, "persistent", expect_ranks)
    measured = _measured(record)
    series = tuple(
        OfSize(
            entry.integer("bytes", 1, Quantity.BYTES),
            _us(entry, "nonblocking_us", measured),
            _us(entry, "persistent_us", measured),
        )
        for entry in record.records("series")
    )
    _require_steps(record, [one.message_bytes for one in series], expect_sizes, "bytes")
    return Persistent(*measured, record.integer("messages", 1), series)


def overlap(text: str, *, expect_ranks: int, expect_operation: str, expect_sizes: Sequence[int]) -> Overlap:
    record = _document(text, "overlap", expect_ranks)
    measured = _measured(record)
    operation = one_of(record, "operation", (expect_operation,))
    keys = ("communication_us", "computation_us", "both_us")
    series = tuple(
        Overlapped(entry.integer("bytes", 1, Quantity.BYTES), *(_us(entry, key, measured) for key in keys))
        for entry in record.records("series")
    )
    _require_steps(record, [one.message_bytes for one in series], expect_sizes, "bytes")
    return Overlap(*measured, operation, series)


def matching(text: str, *, expect_ranks: int, expect_depths: Sequence[int]) -> Matching:
    """:param expect_depths: of the queues, in order."""
    record = _document(text, "matching", expect_ranks)
    measured = _measured(record)
    series = tuple(
        BehindOthers(entry.integer("depth"), _us(entry, "unexpected_us", measured), _us(entry, "posted_us", measured))
        for entry in record.records("series")
    )
    _require_steps(record, [one.depth for one in series], expect_depths, "others")
    return Matching(*measured, record.integer("bytes", 1, Quantity.BYTES), series)


def shared_window(text: str, *, expect_ranks: int, expect_sizes: Sequence[int], expect_table_mib: int) -> SharedWindow:
    """:param expect_sizes: bytes of a rank, in order, of each collective."""
    record = _document(text, "shared-window", expect_ranks)
    measured = _measured(record)
    if measured[2] != 1:
        raise record.error("one node", "nodes")
    series = tuple(
        Collective(
            one_of(entry, "operation", COLLECTIVES),
            entry.integer("bytes", 1, Quantity.BYTES),
            _us(entry, "mpi_us", measured),
            _us(entry, "shared_us", measured),
        )
        for entry in record.records("series")
    )
    expected = [(operation, size) for operation in COLLECTIVES for size in expect_sizes]
    if [(one.operation, one.message_bytes) for one in series] != expected:
        raise record.error(f"{', '.join(COLLECTIVES)} of {', '.join(map(str, expect_sizes))} bytes each", "series")
    splines = record.record("splines")
    if splines.integer("table_MiB", 1, Quantity.MEMORY_MIB) != expect_table_mib:
        raise splines.error(f"{expect_table_mib} MiB", "table_MiB")
    tables = []
    for key, times in (("shared", 1), ("copies", measured[1])):
        table = splines.record(key)
        mib = table.number("MiB", Quantity.MEMORY_MIB, 0)
        if not -1 <= mib - times * expect_table_mib <= OTHER_MIB * measured[1]:
            raise table.error(f"{times} x {expect_table_mib} MiB, and at most {OTHER_MIB} MiB of a rank besides", "MiB")
        tables.append(Table(mib, _us(table, "pass_us", measured)))
    return SharedWindow(*measured, series, expect_table_mib, *tables)


_ANY_SOURCE = ("expected_named_us", "expected_any_us", "unexpected_named_us", "unexpected_any_us")


def _doublings(most: int) -> list[int]:
    """1, 2, 4, … below ``most``, and ``most``."""
    found = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [*found, most]


def _require_steps(record: Record, found: Sequence[int], expected: Sequence[int], unit: str) -> None:
    if [*found] != [*expected]:
        raise record.error(f"entries with {', '.join(map(str, expected))} {unit}", "series")


def _of_all_ranks(record: Record) -> tuple[float, float]:
    median, largest = (record.number(key, Quantity.MEMORY_KIB, 1) for key in ("median_kib", "largest_kib"))
    if median > largest:
        raise record.error("no less than the median", "largest_kib")
    return median, largest


def _document(text: str, measured: str, expect_ranks: int) -> Record:
    return document(text, "mpi_behaviour", "measured", measured, expect_ranks)


def _measured(record: Record) -> tuple[str, int, int, int]:
    return record.text("mpi"), *ranks_and_nodes(record), record.integer("repeats", 1)


def _us(entry: Record, key: str, measured: tuple[str, int, int, int]) -> Repeats:
    return tuple(entry.numbers(key, measured[3], Quantity.OPERATION_US))
