"""Result of ``pair_sweep``: latency and bandwidth between every pair of nodes, one JSON object."""

from dataclasses import dataclass
from itertools import combinations

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

# Row by row; ``None`` on the diagonal and where nothing was measured.
Matrix = tuple[tuple[float | None, ...], ...]
OPERATIONS = ("broadcast", "all-gather", "all-to-all", "all-reduce")


@dataclass(frozen=True)
class Alone:
    """A pair measured again while no other was; bandwidths from the first to the second node and back."""

    pair: tuple[str, str]
    latency_us: float
    bandwidths_mbps: tuple[float, float]


@dataclass(frozen=True)
class Packets:
    """What both nodes of a pair sent while they were measured, and how many of it got lost; 0 where nothing counts."""

    pair: tuple[int, int]
    sent: int
    lost: int


@dataclass(frozen=True)
class Payloads:
    """Messages between a pair whose content was compared with what had been sent, and how many of them had another."""

    pair: tuple[int, int]
    messages: int
    wrong: int


@dataclass(frozen=True)
class Collective:
    """``wrong_blocks``: (sender, receiver) of what did not arrive; one that all have made together has the receiver
    twice."""

    operation: str
    wrong_blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PairSweep:
    """n nodes; latency (n x n, symmetric) is half of the median round trip, in ``bandwidth_mbps`` (n x n, MB/s,
    10^6 bytes a second) the row sends to the column."""

    mpi: str
    nodes: tuple[str, ...]
    ranks_per_node: int
    latency_bytes: int
    bandwidth_bytes: int
    latency_us: Matrix
    bandwidth_mbps: Matrix
    round_seconds: tuple[float, ...]
    packets: tuple[Packets, ...]
    payloads: tuple[Payloads, ...]
    alone: tuple[Alone, ...]
    collectives: tuple[Collective, ...]

    @property
    def not_measured(self) -> list[tuple[str, str]]:
        """Pairs of which a figure is missing."""
        return [
            (self.nodes[i], self.nodes[j])
            for i, j in combinations(range(len(self.nodes)), 2)
            if None in (self.latency_us[i][j], self.bandwidth_mbps[i][j], self.bandwidth_mbps[j][i])
        ]


def parse(text: str) -> PairSweep:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a matrix
        of another size or with figures in the wrong place, or rounds that are not those of every pair once.
    """
    output = Output.read("pair sweep", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-pair-sweep" or record.integer("version") != 3:
        raise record.error("kappa-pair-sweep, version 3", "format")
    nodes = tuple(record.texts("nodes"))
    if len(nodes) < 2 or len(set(nodes)) != len(nodes):
        raise record.error("two nodes or more, each once", "nodes")
    latency_us = _matrix(record, "latency_us", len(nodes), Quantity.OPERATION_US)
    if tuple(zip(*latency_us, strict=True)) != latency_us:
        raise record.error("the same latency in both directions", "latency_us")
    bandwidth_mbps = _matrix(record, "bandwidth_MBps", len(nodes), Quantity.MB_S)
    round_seconds, packets, payloads = _rounds(record, len(nodes))
    return PairSweep(
        mpi=record.text("mpi"),
        nodes=nodes,
        ranks_per_node=record.integer("ranks_per_node", 1, Quantity.RANKS),
        latency_bytes=record.integer("latency_bytes", 1),
        bandwidth_bytes=record.integer("bandwidth_bytes", 1),
        latency_us=latency_us,
        bandwidth_mbps=bandwidth_mbps,
        round_seconds=round_seconds,
        packets=packets,
        payloads=payloads,
        alone=tuple(sorted(read_alone(record, nodes), key=lambda alone: alone.pair)),
        collectives=read_collectives(record, len(nodes)),
    )


def _matrix(record: Record, key: str, nodes: int, quantity: Quantity) -> Matrix:
    matrix = tuple(tuple(row) for row in record.matrix(key, nodes, nodes, quantity))
    # A row that has slipped to another place shows itself here.
    if any(matrix[i][i] is not None for i in range(nodes)):
        raise record.error("null on the diagonal", key)
    return matrix


def _rounds(record: Record, nodes: int) -> tuple[tuple[float, ...], tuple[Packets, ...], tuple[Payloads, ...]]:
    packets: list[Packets] = []
    payloads: list[Payloads] = []
    seconds = []
    for number, entry in enumerate(record.records("rounds"), start=1):
        if entry.integer("round") != number:
            raise entry.error(f"round {number}", "round")
        pairs = entry.pairs("pairs")
        if len({node for pair in pairs for node in pair}) != 2 * len(pairs):
            raise entry.error("pairs that share no node", "pairs")
        keys = ("packets_sent", "packets_lost", "messages", "wrong_messages")
        sent, lost, messages, wrong = counts = [entry.integers(key) for key in keys]
        if any(len(count) != len(pairs) for count in counts):
            raise entry.error("a number for each pair", ", ".join(keys))
        if any(bad > compared for bad, compared in zip(wrong, messages, strict=True)):
            raise entry.error("at most as many as messages", "wrong_messages")
        packets += map(Packets, pairs, sent, lost)
        payloads += map(Payloads, pairs, messages, wrong)
        seconds.append(entry.number("seconds", Quantity.RUN_S, 0))
    if sorted(packet.pair for packet in packets) != list(combinations(range(nodes), 2)):
        raise record.error("every pair of nodes once", "rounds")
    return tuple(seconds), tuple(packets), tuple(payloads)


def read_collectives(record: Record, nodes: int) -> tuple[Collective, ...]:
    found = []
    for entry in record.records("collectives"):
        blocks = tuple(entry.ordered_pairs("from_to", nodes))
        if len(blocks) != entry.integer("wrong_blocks"):
            raise entry.error("as many as wrong_blocks says", "from_to")
        if entry.text("operation") not in OPERATIONS:
            raise entry.error(f"one of {', '.join(OPERATIONS)}", "operation")
        found.append(Collective(entry.text("operation"), blocks))
    if len({each.operation for each in found}) != len(found) or len(found) != record.integer("operations"):
        raise record.error("as many as operations says, each once", "collectives")
    return tuple(sorted(found, key=lambda each: each.operation))


def read_alone(record: Record, nodes: tuple[str, ...]) -> list[Alone]:
    place = {node: number for number, node in enumerate(nodes)}
    found: dict[tuple[str, str], Alone] = {}
    for entry in record.records("alone"):
        pair = (entry.text("first"), entry.text("second"))
        first, second = (place.get(node, len(nodes)) for node in pair)
        if not first < second < len(nodes) or pair in found:
            raise entry.error("two of the nodes, in their order, each pair once")
        latency_us = entry.number("latency_us", Quantity.OPERATION_US, 0)
        bandwidths = tuple(entry.number(key, Quantity.MB_S, 0) for key in ("to_second_MBps", "to_first_MBps"))
        if not (latency_us and all(bandwidths)):
            raise entry.error("figures above 0")
        found[pair] = Alone(pair, latency_us, (bandwidths[0], bandwidths[1]))
    if len(found) != record.integer("alone_pairs"):
        raise record.error(f"as many pairs as alone_pairs says, found {len(found)}", "alone")
    return list(found.values())
