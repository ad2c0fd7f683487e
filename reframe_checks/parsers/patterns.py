"""Results of ``kappa-measure pattern``: one JSON object per communication pattern, times of all iterations in µs."""

import statistics
from collections.abc import Iterable
from itertools import chain
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType, field

from reframe_checks.parsers.json_reader import (
    Bytes,
    Count,
    Index,
    Number,
    OwnDocument,
    OwnMeasurement,
    Positive,
    Ranks,
    ShortMicroseconds,
    Size,
    Text,
    Times,
    require,
)

VICTIM_PATTERNS = ("latency", "bandwidth", "allreduce")
#: The load that sends no messages.
CONTROL = "compute"


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


class VictimSamples(NamedTuple):
    """Times of one victim pattern in us, one tuple per round: alone, and beside a load."""

    alone_us: tuple[Times, ...]
    beside_us: tuple[Times, ...]

    def impact(self, percent: int = 50) -> float:
        """Return GPCNeT's congestion impact factor: a percentile beside a load over the same percentile alone."""
        return _percentile(chain(*self.beside_us), percent) / _percentile(chain(*self.alone_us), percent)

    def impacts_of_rounds(self) -> tuple[float, ...]:
        """Return each round's impact: the ratio of its medians."""
        rounds = zip(self.alone_us, self.beside_us, strict=True)
        return tuple(statistics.median(beside) / statistics.median(alone) for alone, beside in rounds)


class _Samples(OwnDocument, frozen=True):
    """Times of all rounds, one after the other."""

    alone_us: Times
    beside_us: Times


class AggressorLoad(OwnDocument, frozen=True):
    """Number of aggressor operations in each round, and the samples of each of ``VICTIM_PATTERNS``."""

    load: Text
    operations: tuple[Positive, ...]
    latency: _Samples
    bandwidth: _Samples
    allreduce: _Samples

    @property
    def samples(self) -> dict[str, VictimSamples]:
        return {name: self._in_rounds(getattr(self, name)) for name in VICTIM_PATTERNS}

    def _in_rounds(self, samples: _Samples) -> VictimSamples:
        each = len(samples.alone_us) // len(self.operations)
        starts = range(0, len(samples.alone_us), each)
        alone, beside = (
            tuple(times[start : start + each] for start in starts) for times in (samples.alone_us, samples.beside_us)
        )
        return VictimSamples(alone, beside)


class CongestionResult(PatternResult, frozen=True):
    """``load_list``: each load once, the control among them."""

    subcommand: Literal["pattern congestion"]
    victims: Ranks
    aggressors: Ranks
    aggressor_bytes: Size
    rounds: Positive
    load_list: tuple[AggressorLoad, ...] = field(name="loads")

    def __post_init__(self) -> None:
        require(self.victims + self.aggressors == self.ranks, f"victims: with the aggressors {self.ranks} ranks")
        require(min(self.victims, self.aggressors) >= 2, "victims: two or more, and two aggressors or more")
        require(len(self.loads) == len(self.load_list), "loads: each load once")
        require(CONTROL in self.loads, f"loads: the control {CONTROL} among the loads")
        for load in self.load_list:
            require(len(load.operations) == self.rounds, f"operations: a number for each of {self.rounds} rounds")
            for samples in (load.latency, load.bandwidth, load.allreduce):
                counts = {len(samples.alone_us), len(samples.beside_us)}
                all_of_it = self.rounds * self.iterations
                require(counts == {all_of_it}, f"alone_us, beside_us: lists of {all_of_it} times")

    @property
    def loads(self) -> dict[str, AggressorLoad]:
        return {one.load: one for one in self.load_list}

    def above_control(self) -> list[tuple[str, str]]:
        """Return (load, pattern) where the impact of every round exceeds the control's impact in every round."""
        samples = {name: load.samples for name, load in self.loads.items()}
        highest = {pattern: max(of.impacts_of_rounds()) for pattern, of in samples.pop(CONTROL).items()}
        return [
            (name, pattern)
            for name, by_pattern in samples.items()
            for pattern, of in by_pattern.items()
            if min(of.impacts_of_rounds()) > highest[pattern]
        ]


def _percentile(values: Iterable[float], percent: int) -> float:
    """Return the smallest value that at least ``percent`` % of all values do not exceed."""
    ordered = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]

