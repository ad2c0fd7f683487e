"""Results of ``kappa-measure pattern``: one JSON object per communication pattern, times of all iterations in µs."""

import statistics
from typing import Literal

from msgspec import UNSET, UnsetType, field

from reframe_checks.parsers.json_reader import (
    Bytes,
    Count,
    Index,
    Number,
    OwnDocument,
    OwnMeasurement,
    Positive,
    ShortMicroseconds,
    Size,
    Times,
    require,
)


class PatternResult(OwnMeasurement, frozen=True):
    """The common facts of all patterns."""

    iterations: Positive


class TimedPattern(PatternResult, frozen=True):
    """``times_us``: longest time of all ranks, for each iteration."""

    times_us: Times

    def __post_init__(self) -> None:
        require(len(self.times_us) == self.iterations, f"times_us: a list of {self.iterations} times")

    @property
    def shortest_us(self) -> float:
        return min(self.times_us)

    @property
    def median_us(self) -> float:
        return statistics.median(self.times_us)


class RandomRingResult(TimedPattern, frozen=True):
    """Each rank sends ``message_bytes`` to each of its two neighbours."""

    subcommand: Literal["pattern random-ring"]
    way: Literal["isend", "put", "get"]
    message_bytes: Size = field(name="bytes")
    seed: Count

    @property
    def bandwidth_mb_s(self) -> float:
        """Return a process's bandwidth by HPC Challenge's definition: two messages in the best iteration's time."""
        return 2 * self.message_bytes / self.shortest_us


class PutBarrierResult(TimedPattern, frozen=True):
    subcommand: Literal["pattern barrier"]
    algorithm: Literal["ring", "recursive-doubling"]


class ParticleExchangeResult(TimedPattern, frozen=True):
    """``pack_us``, ``put_us``: longest time of all ranks, for each iteration; possibly of different ranks."""

    subcommand: Literal["pattern particles"]
    barrier: Literal["before", "after"]
    within_nodes: bool
    puts: Count
    put_bytes: Bytes
    packed_bytes: Size
    largest_put_bytes: Bytes
    pack_us: Times
    put_us: Times
    seed: Count
    drawn: Count
    drift: Number
    record_bytes: Size
    #: Packing speed of a simulated rank.
    pack_gb_s: Number | None

    def __post_init__(self) -> None:
        super().__post_init__()
        within = self.largest_put_bytes <= self.put_bytes <= min(self.packed_bytes, self.largest_put_bytes * self.puts)
        require(within, "put_bytes: at least the largest put, at most so many of them, and what was packed")
        require(not self.within_nodes or self.put_bytes == self.packed_bytes, "put_bytes: as many as were packed")
        for parts in (self.pack_us, self.put_us):
            require(len(parts) == self.iterations, f"pack_us, put_us: lists of {self.iterations} times")
            shorter = all(part <= 1.001 * whole for part, whole in zip(parts, self.times_us, strict=True))
            require(shorter, "pack_us, put_us: no time longer than the whole iteration")

    @property
    def best(self) -> int:
        """Return the index of the iteration with the shortest time."""
        return self.times_us.index(self.shortest_us)


class NeighbourExchangeResult(TimedPattern, frozen=True):
    subcommand: Literal["pattern neighbour"]
    message: Literal["pair", "line"]
    pairs: Positive
    lines: Positive
    messages: Positive
    message_bytes: Size

    def __post_init__(self) -> None:
        super().__post_init__()
        both_ways = 2 * (self.pairs if self.message == "pair" else self.lines)
        require(self.pairs <= self.lines, "lines: a line or more for each pair")
        require(self.messages == both_ways, "messages: one in each direction for each pair or line")
        require(self.messages <= self.message_bytes, "message_bytes: a byte or more for each message")


class SumTimes(OwnDocument, frozen=True):
    """``cpu_us``: CPU time per rank and iteration, mean; absent in a simulation, which has no CPU time."""

    size: Size = field(name="bytes")
    times_us: Times
    cpu_us: ShortMicroseconds | UnsetType = UNSET


class AllreduceResult(PatternResult, frozen=True):
    subcommand: Literal["pattern allreduce"]
    where: Literal["host", "in-network"]
    aggregators: Index
    largest_bytes: Size
    series: tuple[SumTimes, ...] = field(name="sizes")
    level_latency_us: Number | None
    segment_bytes: Size | None

    def __post_init__(self) -> None:
        sizes = [one.size for one in self.series]
        require(sizes == [8 << number for number in range(len(sizes))], "sizes: sizes that double from 8 on")
        require(sizes[-1:] == [self.largest_bytes], f"largest_bytes: the largest of the {len(sizes)} sizes")
        for one in self.series:
            require(len(one.times_us) == self.iterations, f"times_us: a list of {self.iterations} times")
            require((one.cpu_us is UNSET) == self.simulated, "cpu_us: a time on a machine that is not simulated")
        of_network = self.where == "in-network"
        require((self.aggregators > 0) == of_network, "aggregators: some in the network, none on hosts")

    @property
    def sizes(self) -> dict[int, Times]:
        return {one.size: one.times_us for one in self.series}

    @property
    def cpu_us(self) -> dict[int, float]:
        return {one.size: one.cpu_us for one in self.series if one.cpu_us is not UNSET}

    @property
    def median_of_sizes_us(self) -> dict[int, float]:
        return {size: statistics.median(times) for size, times in self.sizes.items()}
