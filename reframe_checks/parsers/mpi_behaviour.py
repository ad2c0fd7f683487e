"""Results of ``kappa-measure mpi``, measurements of the MPI library: one JSON object each.

Every time is a list with one figure per repeat: the median of the repeat's iterations.
"""

import statistics
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from reframe_checks.parsers.json_reader import (
    Count,
    Index,
    Mebibytes,
    OwnDocument,
    OwnMeasurement,
    Positive,
    Ranks,
    Size,
    Times,
    require,
)
from reframe_checks.parsers.text import Unit

Kib = Annotated[float, Meta(ge=1, le=Unit.MEMORY_KIB.ceiling)]
PerSecond = Annotated[float, Meta(gt=0, le=Unit.MESSAGES_S.ceiling)]
#: MPI's levels of thread support, in ascending order.
THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
ThreadLevel = Literal["single", "funneled", "serialized", "multiple"]
#: Collectives that are measured, in this order.
COLLECTIVES = ("broadcast", "gather", "allreduce")
#: Memory that a rank may use besides the table: connections and buffers of MPI.
OTHER_MIB = 16


class MpiMeasurement(OwnMeasurement, frozen=True):
    """The common facts of all measurements."""

    repeats: Positive
    series: tuple[Any, ...]

    def __post_init__(self) -> None:
        for entry in self.series:
            self.require_repeats(entry)

    def require_repeats(self, entry: Struct) -> None:
        """Require one figure for each repeat in the lists of ``entry``.

        :raises ValueError: a list has another length.
        """
        for name in entry.__struct_fields__:
            figures = getattr(entry, name)
            require(not isinstance(figures, tuple) or len(figures) == self.repeats, f"{name}: {self.repeats} figures")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the message sizes in bytes, for a series over sizes."""
        return tuple(one.message_bytes for one in self.series)


class PeerLatencies(OwnDocument, frozen=True):
    """Latencies of rank 0 after messages with ``peers`` other ranks; unexpected: of the receive alone."""

    peers: Ranks
    expected_named_us: Times
    expected_any_us: Times
    unexpected_named_us: Times
    unexpected_any_us: Times


class AnySourceResult(MpiMeasurement, frozen=True):
    """``series``: with 1, 2, 4, … and all peers."""

    subcommand: Literal["mpi any-source"]
    message_bytes: Size = field(name="bytes")
    series: tuple[PeerLatencies, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_peers(self.series, _doublings(self.ranks - 1))


class ThreadFigures(OwnDocument, frozen=True):
    """``latency_us``: of one message, median over all threads; ``messages_per_s``: of a rank, both directions."""

    threads: Ranks
    latency_us: Times
    messages_per_s: tuple[PerSecond, ...]


class ThreadsResult(MpiMeasurement, frozen=True):
    """``provided``: the level that MPI returned for ``asked``; only level multiple permits several threads."""

    subcommand: Literal["mpi threads"]
    asked: ThreadLevel
    provided: ThreadLevel
    message_bytes: Size = field(name="bytes")
    series: tuple[ThreadFigures, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self.series:
            for latency_us, rate in zip(one.latency_us, one.messages_per_s, strict=True):
                # Half of the round trips take the median or longer; each has two messages and two latencies.
                most = 1.001 * 2 * one.threads * 1e6 / latency_us
                require(rate <= most, f"messages_per_s: at most what {one.threads} threads send at {latency_us} us")

    @property
    def counts_of_threads(self) -> tuple[int, ...]:
        return tuple(one.threads for one in self.series)


class MemoryOfRanks(OwnDocument, frozen=True):
    median_kib: Kib
    largest_kib: Kib

    def __post_init__(self) -> None:
        require(self.median_kib <= self.largest_kib, "largest_kib: no less than the median")


class PeerMemory(MemoryOfRanks, frozen=True):
    """Memory of a rank after messages with ``peers`` other ranks."""

    peers: Index


class MemoryResult(MpiMeasurement, frozen=True):
    """``series``: with no peer, with 2, 4, 8, … peers, and with all peers."""

    subcommand: Literal["mpi memory"]
    before_init: MemoryOfRanks
    series: tuple[PeerMemory, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        last = self.ranks - 1
        _require_peers(self.series, [0, *(min(2 * distance, last) for distance in _doublings(self.ranks // 2))])

    @property
    def start_kib(self) -> float:
        """Return the memory that MPI_Init takes."""
        return self.series[0].median_kib - self.before_init.median_kib

    @property
    def per_peer_kib(self) -> float:
        """Return the memory per peer: the slope of a straight line by least squares."""
        peers = [float(one.peers) for one in self.series]
        return statistics.linear_regression(peers, [one.median_kib for one in self.series]).slope


class QueueTimes(OwnDocument, frozen=True):
    """Time from a message's request to its arrival, with ``depth`` other messages or receives in the queue."""

    depth: Count
    unexpected_us: Times
    posted_us: Times


class MatchingResult(MpiMeasurement, frozen=True):
    subcommand: Literal["mpi matching"]
    message_bytes: Size = field(name="bytes")
    series: tuple[QueueTimes, ...]

    @property
    def depths(self) -> tuple[int, ...]:
        return tuple(one.depth for one in self.series)


class CollectiveTimes(OwnDocument, frozen=True):
    """Time of a collective on the slowest rank: MPI's collective, and one through a shared window."""

    operation: Literal["broadcast", "gather", "allreduce"]
    message_bytes: Size = field(name="bytes")
    mpi_us: Times
    shared_us: Times

    @property
    def mpi_over_shared(self) -> float:
        return min(self.mpi_us) / min(self.shared_us)


class SplineTable(OwnDocument, frozen=True):
    """``mib``: memory of all ranks together; ``pass_us``: time of a pass over the table on the slowest rank."""

    mib: Annotated[float, Meta(ge=0, le=Unit.MEMORY_MIB.ceiling)] = field(name="MiB")
    pass_us: Times


class SplineTables(OwnDocument, frozen=True):
    """``shared``: one table for the node; ``copies``: one table for each rank."""

    table_mib: Mebibytes = field(name="table_MiB")
    shared: SplineTable
    copies: SplineTable


class SharedWindowResult(MpiMeasurement, frozen=True):
    subcommand: Literal["mpi shared-window"]
    series: tuple[CollectiveTimes, ...]
    splines: SplineTables

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.run.nodes == 1, "nodes: one node")
        expected = [(operation, size) for operation in COLLECTIVES for size in self.sizes]
        found = [(one.operation, one.message_bytes) for one in self.series]
        require(found == expected, f"series: {', '.join(COLLECTIVES)} of {self.sizes} bytes each")
        for table, times in ((self.shared, 1), (self.copies, self.ranks)):
            self.require_repeats(table)
            above = table.mib - times * self.table_mib
            most = OTHER_MIB * self.ranks
            require(-1 <= above <= most, f"MiB: {times} x {self.table_mib} MiB, and at most {most} MiB besides")

    @property
    def table_mib(self) -> int:
        return self.splines.table_mib

    @property
    def shared(self) -> SplineTable:
        return self.splines.shared

    @property
    def copies(self) -> SplineTable:
        return self.splines.copies

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the bytes per rank, equal for all collectives."""
        return tuple(one.message_bytes for one in self.series if one.operation == COLLECTIVES[0])

    def read_mb_s(self, table: SplineTable) -> float:
        """Return a rank's read speed in its best repeat, in 10^6 bytes per second."""
        return self.table_mib * 2**20 / min(table.pass_us)


def _doublings(most: int) -> list[int]:
    """Return 1, 2, 4, … below ``most``, and ``most``."""
    return [*(1 << power for power in range(most.bit_length()) if 1 << power < most), most]


def _require_peers(series: Sequence[PeerLatencies | PeerMemory], expected: list[int]) -> None:
    require([one.peers for one in series] == expected, f"series: entries with {expected} peers")


def threads(text: str, *, ranks: int, expect_threads: Sequence[int]) -> ThreadsResult:
    """:param expect_threads: requested numbers of threads, in order.
    :raises ParseError: see :meth:`JsonOutput.read`.
    """
    provided = ThreadsResult.read(text, ranks=ranks).provided
    return ThreadsResult.read(
        text, counts_of_threads=[count for count in expect_threads if count == 1 or provided == "multiple"]
    )
