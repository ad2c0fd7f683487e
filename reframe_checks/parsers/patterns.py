"""Results of ``pattern``, the program of communication patterns: a JSON object each, times of all iterations in µs."""

import statistics
from dataclasses import dataclass

from reframe_checks.parsers.rank_document import document, one_of, ranks_and_nodes
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Quantity


@dataclass(frozen=True)
class Measured:
    """What every pattern says; ``times_us``: of each iteration, the longest of all ranks."""

    mpi: str
    simulated: bool
    ranks: int
    nodes: int
    times_us: tuple[float, ...]

    @property
    def shortest_us(self) -> float:
        return min(self.times_us)

    @property
    def median_us(self) -> float:
        return statistics.median(self.times_us)


@dataclass(frozen=True)
class RandomRing(Measured):
    """Each rank sends ``message_bytes`` to each of its two neighbours."""

    way: str
    message_bytes: int

    @property
    def bandwidth_mb_s(self) -> float:
        """Of a process, as HPC Challenge defines it: two messages in the time of the best iteration."""
        return 2 * self.message_bytes / self.shortest_us


@dataclass(frozen=True)
class PutBarrier(Measured):
    algorithm: str


@dataclass(frozen=True)
class ParticleExchange(Measured):
    """``pack_us`` and ``put_us``: of each iteration, the longest of all ranks, maybe not of the same rank."""

    barrier: str
    within_nodes: bool
    puts: int
    put_bytes: int
    packed_bytes: int
    largest_put_bytes: int
    pack_us: tuple[float, ...]
    put_us: tuple[float, ...]

    @property
    def best(self) -> int:
        """The iteration with the shortest time."""
        return self.times_us.index(self.shortest_us)


@dataclass(frozen=True)
class NeighbourExchange(Measured):
    message: str
    pairs: int
    lines: int
    messages: int
    message_bytes: int


@dataclass(frozen=True)
class PatternAllreduce(Measured):
    """``times_us`` of the smallest size; ``sizes``: bytes -> times of each iteration. ``cpu_us``: bytes -> CPU time of
    a rank in an iteration, the mean of all; empty of a simulation, where CPUs take none."""

    where: str
    aggregators: int
    sizes: dict[int, tuple[float, ...]]
    cpu_us: dict[int, float]

    @property
    def median_of_sizes_us(self) -> dict[int, float]:
        return {size: statistics.median(times) for size, times in self.sizes.items()}


def random_ring(text: str, *, expect_ranks: int) -> RandomRing:
    """
    :raises ParseError: no JSON object of this pattern, format and ranks, a key missing or of another type,
        or figures that contradict each other; so do all functions of this module.
    """
    record = pattern_document(text, "random-ring", expect_ranks)
    way = one_of(record, "way", ("isend", "put", "get"))
    return RandomRing(*_measured(record), way, record.integer("bytes", 1, Quantity.BYTES))


def put_barrier(text: str, *, expect_ranks: int) -> PutBarrier:
    record = pattern_document(text, "barrier", expect_ranks)
    return PutBarrier(*_measured(record), one_of(record, "algorithm", ("ring", "recursive-doubling")))


def particle_exchange(text: str, *, expect_ranks: int) -> ParticleExchange:
    record = pattern_document(text, "particles", expect_ranks)
    mpi, simulated, ranks, nodes, times = _measured(record)
    packed = record.integer("packed_bytes", 1, Quantity.BYTES)
    put, largest = (record.integer(key, 0, Quantity.BYTES) for key in ("put_bytes", "largest_put_bytes"))
    puts = record.integer("puts")
    within_nodes = record.flag("within_nodes")
    if put > min(packed, largest * puts) or largest > put:
        raise record.error("at least the largest put, at most so many of them, and what was packed", "put_bytes")
    if within_nodes and put != packed:
        raise record.error("as many bytes as were packed", "put_bytes")
    pack_us, put_us = (tuple(record.numbers(key, len(times), Quantity.OPERATION_US)) for key in ("pack_us", "put_us"))
    for key, parts in (("pack_us", pack_us), ("put_us", put_us)):
        if any(part > 1.001 * whole for part, whole in zip(parts, times, strict=True)):
            raise record.error("no time longer than that of the whole iteration", key)
    barrier = one_of(record, "barrier", ("before", "after"))
    return ParticleExchange(
        mpi, simulated, ranks, nodes, times, barrier, within_nodes, puts, put, packed, largest, pack_us, put_us
    )


def neighbour_exchange(text: str, *, expect_ranks: int) -> NeighbourExchange:
    record = pattern_document(text, "neighbour", expect_ranks)
    message = one_of(record, "message", ("pair", "line"))
    pairs, lines, messages = (record.integer(key, 1) for key in ("pairs", "lines", "messages"))
    if lines < pairs or messages != 2 * (pairs if message == "pair" else lines):
        raise record.error("a message in each direction for each pair or line", "messages")
    sent = record.integer("message_bytes", messages, Quantity.BYTES)
    return NeighbourExchange(*_measured(record), message, pairs, lines, messages, sent)


def allreduce(text: str, *, expect_ranks: int) -> PatternAllreduce:
    record = pattern_document(text, "allreduce", expect_ranks)
    iterations = record.integer("iterations", 1)
    sizes: dict[int, tuple[float, ...]] = {}
    cpu_us: dict[int, float] = {}
    simulated = record.flag("simulated")
    for number, entry in enumerate(record.records("sizes")):
        if entry.integer("bytes", 1, Quantity.BYTES) != 8 << number:
            raise entry.error(f"sizes that double from 8 on, here {8 << number}", "bytes")
        sizes[8 << number] = tuple(entry.numbers("times_us", iterations, Quantity.OPERATION_US))
        if not simulated:
            cpu_us[8 << number] = entry.number("cpu_us", Quantity.OPERATION_US, 0)
    if record.integer("largest_bytes", 8, Quantity.BYTES) != 4 << len(sizes):
        raise record.error(f"the largest of the {len(sizes)} sizes", "largest_bytes")
    where = one_of(record, "where", ("host", "in-network"))
    aggregators = record.integer("aggregators", 0, Quantity.RANKS)
    if (aggregators > 0) != (where == "in-network"):
        raise record.error("aggregators in the network, none on hosts", "aggregators")
    return PatternAllreduce(*common_facts(record), sizes[8], where, aggregators, sizes, cpu_us)


def pattern_document(text: str, pattern: str, expect_ranks: int) -> Record:
    """The result of ``pattern`` on so many ranks."""
    return document(text, "pattern", "pattern", pattern, expect_ranks)


def common_facts(record: Record) -> tuple[str, bool, int, int]:
    """MPI library, whether it was simulated, ranks and nodes."""
    return record.text("mpi"), record.flag("simulated"), *ranks_and_nodes(record)


def _measured(record: Record) -> tuple[str, bool, int, int, tuple[float, ...]]:
    times = record.numbers("times_us", record.integer("iterations", 1), Quantity.OPERATION_US)
    return *common_facts(record), tuple(times)
