"""Results of ``kappa-measure pairs``: latency and bandwidth of every pair of nodes, or of a sample of the pairs.

Each result is one JSON object; a sample has an additional file with the figures of its pairs.
"""

import zlib
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta, Struct, field
from numpy.typing import NDArray

from reframe_checks.parsers.json_reader import (
    Count,
    Index,
    MbPerS,
    Microseconds,
    OwnDocument,
    OwnMeasurement,
    Positive,
    Ranks,
    Seconds,
    Size,
    Text,
    require,
    require_each_once,
)
from reframe_checks.parsers.text import ParseError, Unit

OPERATIONS = ("broadcast", "all-gather", "all-to-all", "all-reduce")
NodePair = tuple[Index, Index]
Crc32 = Annotated[int, Meta(ge=0, lt=2**32)]
#: Row by row; ``None`` on the diagonal and for missing measurements.
LatencyMatrix = tuple[tuple[Microseconds | None, ...], ...]
BandwidthMatrix = tuple[tuple[MbPerS | None, ...], ...]
#: A pair in the file of figures, as ``sampled_sweep.hpp`` describes it. The first node has the smaller number.
PAIR = np.dtype(
    [("first", "<u4"), ("second", "<u4"), ("latency_us", "<f4"), ("to_second_mbps", "<f4"), ("to_first_mbps", "<f4"),
     ("sent", "<u4"), ("lost", "<u4"), ("messages", "<u4"), ("wrong_messages", "<u4")]
)  # fmt: skip
_CEILINGS = {"latency_us": Unit.OPERATION_US, "to_second_mbps": Unit.MB_S, "to_first_mbps": Unit.MB_S}


class Packets(NamedTuple):
    """Packets that both nodes of a pair sent and lost during their measurement; 0 without counters."""

    pair: tuple[int, int]
    sent: int
    lost: int


class Payloads(NamedTuple):
    """Number of compared messages of a pair, and number of messages with wrong data."""

    pair: tuple[int, int]
    messages: int
    wrong: int


class PairAlone(OwnDocument, frozen=True):
    """A pair that the program re-measured alone."""

    first: Text
    second: Text
    latency_us: Microseconds
    to_second_mbps: MbPerS = field(name="to_second_MBps")
    to_first_mbps: MbPerS = field(name="to_first_MBps")

    @property
    def pair(self) -> tuple[str, str]:
        return self.first, self.second

    @property
    def bandwidths_mbps(self) -> tuple[float, float]:
        return self.to_second_mbps, self.to_first_mbps


class SampledPairAlone(PairAlone, frozen=True):
    messages: Count
    wrong_messages: Count

    def __post_init__(self) -> None:
        require(self.wrong_messages <= self.messages, "wrong_messages: at most as many as messages")


class CollectiveBlocks(OwnDocument, frozen=True):
    """``wrong_blocks``: (sender, receiver) of each wrong block. A block that all ranks computed together has the
    receiver twice."""

    operation: Literal["broadcast", "all-gather", "all-to-all", "all-reduce"]
    wrong_blocks: tuple[NodePair, ...] = field(name="from_to")
    number: Count = field(name="wrong_blocks")

    def __post_init__(self) -> None:
        require(len(self.wrong_blocks) == self.number, "from_to: as many as wrong_blocks says")


class PairsMeasured(OwnMeasurement, frozen=True):
    """The common facts of sweeps and samples. ``alone``: re-measured pairs, each in the order of ``nodes``."""

    subcommand: Literal["pairs"]
    nodes: tuple[Text, ...]
    ranks_per_node: Ranks
    latency_bytes: Size
    bandwidth_bytes: Size
    window: Positive
    rounds: tuple[Any, ...]
    alone_pairs: Count
    alone: tuple[PairAlone, ...]
    operations: Count
    collectives: tuple[CollectiveBlocks, ...]

    def __post_init__(self) -> None:
        require(len(self.nodes) >= 2, "nodes: two or more")
        require_each_once(self.nodes, "nodes")
        numbers = [one.round for one in self.rounds]
        require(numbers == [*range(1, len(numbers) + 1)] != [], "rounds: round 1 and those after it, in order")
        place = {node: number for number, node in enumerate(self.nodes)}
        for one in self.alone:
            known = place.get(one.first, len(place)) < place.get(one.second, -1)
            require(known, "alone: two of the nodes, in their order")
        require(len({one.pair for one in self.alone}) == len(self.alone) == self.alone_pairs, "alone: each pair once")
        found = [one.operation for one in self.collectives]
        in_order = found == [operation for operation in OPERATIONS if operation in found]
        require(in_order and len(found) == self.operations, "collectives: as many as operations says, each once")
        for each in self.collectives:
            below = all(max(block) < len(self.nodes) for block in each.wrong_blocks)
            require(below, f"from_to: numbers of nodes below {len(self.nodes)}")
        on_nodes = len(self.nodes) == self.run.nodes and self.ranks == self.run.nodes * self.ranks_per_node
        require(on_nodes, f"ranks_per_node: {self.ranks} ranks on {self.run.nodes} nodes")

    @property
    def round_seconds(self) -> tuple[float, ...]:
        return tuple(one.seconds for one in self.rounds)


class SweepRound(OwnDocument, frozen=True):
    """Pairs measured at the same time, and counts for each pair."""

    round: Positive
    seconds: Seconds
    #: The node without a partner.
    idle: Index | None
    pairs: tuple[NodePair, ...]
    packets_sent: tuple[Count, ...]
    packets_lost: tuple[Count, ...]
    messages: tuple[Count, ...]
    wrong_messages: tuple[Count, ...]

    def __post_init__(self) -> None:
        nodes = [node for pair in self.pairs for node in pair]
        require(len({*nodes}) == len(nodes), "pairs: pairs that share no node")
        counts = (self.packets_sent, self.packets_lost, self.messages, self.wrong_messages)
        require({len(count) for count in counts} == {len(self.pairs)}, "packets, messages: a number for each pair")
        few = all(wrong <= compared for wrong, compared in zip(self.wrong_messages, self.messages, strict=True))
        require(few, "wrong_messages: at most as many as messages")


class PairSweepResult(PairsMeasured, frozen=True):
    """n nodes. ``latency_us`` (n x n, symmetric): half of the median round trip. ``bandwidth_mbps`` (n x n, MB/s,
    10^6 bytes per second): the row's node sends to the column's node."""

    pairs: Literal["all"]
    latency_us: LatencyMatrix
    bandwidth_mbps: BandwidthMatrix = field(name="bandwidth_MBps")
    rounds: tuple[SweepRound, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.nodes)
        for name, matrix in (("latency_us", self.latency_us), ("bandwidth_MBps", self.bandwidth_mbps)):
            require([len(row) for row in matrix] == [size] * size, f"{name}: {size} lists of {size} numbers or nulls")
            # Detects a row in the wrong place.
            require(all(matrix[i][i] is None for i in range(size)), f"{name}: null on the diagonal")
        transposed = tuple(zip(*self.latency_us, strict=True))
        require(transposed == self.latency_us, "latency_us: the same latency in both directions")
        pairs = sorted(pair for one in self.rounds for pair in one.pairs)
        require(pairs == [*combinations(range(size), 2)], "rounds: every pair of nodes once")

    @property
    def packets(self) -> tuple[Packets, ...]:
        return tuple(
            Packets(*counted)
            for one in self.rounds
            for counted in zip(one.pairs, one.packets_sent, one.packets_lost, strict=True)
        )

    @property
    def payloads(self) -> tuple[Payloads, ...]:
        return tuple(
            Payloads(*counted)
            for one in self.rounds
            for counted in zip(one.pairs, one.messages, one.wrong_messages, strict=True)
        )

    @property
    def not_measured(self) -> list[tuple[str, str]]:
        """Return the pairs with a missing figure."""
        return [
            (self.nodes[i], self.nodes[j])
            for i, j in combinations(range(len(self.nodes)), 2)
            if None in (self.latency_us[i][j], self.bandwidth_mbps[i][j], self.bandwidth_mbps[j][i])
        ]


class SampledRound(OwnDocument, frozen=True):
    """``pairs``: number of pairs measured at the same time."""

    round: Positive
    pairs: Ranks
    seconds: Seconds


class SamplesDocument(PairsMeasured, frozen=True):
    pairs: Literal["sample"]
    #: A number of 64 bits.
    seed: Text
    rounds_within_leaves: Count
    rounds: tuple[SampledRound, ...]
    alone: tuple[SampledPairAlone, ...]
    figures_crc32: Crc32
    nodes_crc32: Crc32

    def __post_init__(self) -> None:
        super().__post_init__()
        require(nodes_crc32(self.nodes) == self.nodes_crc32, "nodes_crc32: the checksum of the nodes in their order")


class PairSamples(Struct, frozen=True):
    """``pairs`` (``PAIR``): all measured pairs, round by round; a figure that was not measured is NaN. The first
    ``rounds_within_leaves`` rounds are within leaf switches, the others at random. ``round_of``: round of each pair."""

    document: SamplesDocument
    pairs: NDArray[np.void]
    round_of: NDArray[np.int64]

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.document.nodes

    @property
    def round_seconds(self) -> tuple[float, ...]:
        return self.document.round_seconds

    @property
    def alone(self) -> tuple[SampledPairAlone, ...]:
        return self.document.alone

    @property
    def collectives(self) -> tuple[CollectiveBlocks, ...]:
        return self.document.collectives

    @property
    def payloads_alone(self) -> tuple[Payloads, ...]:
        place = {node: number for number, node in enumerate(self.nodes)}
        return tuple(
            Payloads((place[one.first], place[one.second]), one.messages, one.wrong_messages) for one in self.alone
        )

    @property
    def not_measured(self) -> list[tuple[str, str]]:
        """Return the pairs with a missing figure."""
        missing = np.any([np.isnan(self.pairs[name]) for name in _CEILINGS], axis=0)
        return [(self.nodes[pair["first"]], self.nodes[pair["second"]]) for pair in self.pairs[missing]]


def read_samples(text: str, figures: bytes) -> PairSamples:
    """
    :param text: the JSON object.
    :param figures: content of the file with the figures of the pairs.
    :raises ParseError: the text is no such object; the figures do not match its number of pairs and checksum; a pair
        or a figure is invalid; or a node is twice in a round.
    """
    document = SamplesDocument.read(text)
    counts = np.array([one.pairs for one in document.rounds], dtype=np.int64)

    def demand(holds: object, expected: str) -> None:
        if not holds:
            raise ParseError("the file of figures of kappa-measure pairs", expected, text=text)

    whole = len(figures) == counts.sum() * PAIR.itemsize and zlib.crc32(figures) == document.figures_crc32
    demand(whole, f"{counts.sum()} pairs with the checksum {document.figures_crc32}")
    pairs = np.frombuffer(figures, dtype=PAIR)
    round_of = np.repeat(np.arange(len(counts)), counts)
    nodes = len(document.nodes)
    in_order = np.all((pairs["first"] < pairs["second"]) & (pairs["second"] < nodes))
    demand(in_order, f"two of {nodes} nodes in each pair, the smaller first")
    both = np.concatenate([pairs["first"], pairs["second"]]).astype(np.int64)
    places = np.concatenate([round_of, round_of]) * nodes + both
    demand(len(np.unique(places)) == len(places), "pairs that share no node in each round")
    for name, unit in _CEILINGS.items():
        possible = np.all(np.isnan(pairs[name]) | ((pairs[name] > 0) & (pairs[name] <= unit.ceiling)))
        demand(possible, f"{name} above 0 and at most {unit}")
    demand(np.all(pairs["wrong_messages"] <= pairs["messages"]), "at most as many wrong messages as messages")
    return PairSamples(document, pairs, round_of)


def nodes_crc32(nodes: Sequence[str]) -> int:
    """Return the program's checksum of the nodes: CRC-32 of the names, each with a newline."""
    return zlib.crc32("".join(f"{node}\n" for node in nodes).encode())
