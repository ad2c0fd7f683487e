"""Result of ``pair_sweep`` where it measured a sample of the pairs: one JSON object, and a file with all figures."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reframe_checks.parsers.pair_sweep import Alone, Collective, Payloads, read_alone, read_collectives
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

#: A pair in the file of figures, as ``sampled_sweep.hpp`` describes it. The first node has the smaller number.
PAIR = np.dtype(
    [("first", "<u4"), ("second", "<u4"), ("latency_us", "<f4"), ("to_second_mbps", "<f4"), ("to_first_mbps", "<f4"),
     ("sent", "<u4"), ("lost", "<u4"), ("messages", "<u4"), ("wrong_messages", "<u4")]
)  # fmt: skip
_CEILINGS = {
    "latency_us": Quantity.OPERATION_US,
    "to_second_mbps": Quantity.MB_S,
    "to_first_mbps": Quantity.MB_S,
}


@dataclass(frozen=True)
class PairSamples:
    """``pairs`` (``PAIR``) are all that were measured, round by round: the first ``rounds_within_leaves`` rounds within
    leaf switches, the others at random; figures are NaN where none was measured. ``round_of`` is the round of each."""

    mpi: str
    nodes: tuple[str, ...]
    ranks_per_node: int
    latency_bytes: int
    bandwidth_bytes: int
    rounds_within_leaves: int
    round_seconds: tuple[float, ...]
    pairs: NDArray[np.void]
    round_of: NDArray[np.int64]
    alone: tuple[Alone, ...]
    payloads_alone: tuple[Payloads, ...]
    collectives: tuple[Collective, ...]

    @property
    def not_measured(self) -> list[tuple[str, str]]:
        """Pairs of which a figure is missing."""
        missing = np.any([np.isnan(self.pairs[name]) for name in _CEILINGS], axis=0)
        return [(self.nodes[pair["first"]], self.nodes[pair["second"]]) for pair in self.pairs[missing]]


def parse(text: str, figures: bytes) -> PairSamples:
    """
    :param text: the JSON object.
    :param figures: what is in the file beside it.
    :raises ParseError: the text is not one JSON object of this format and version, a key is missing or of another
        type; or the figures are not those that it tells of, a pair is none, or a node is twice in a round.
    """
    output = Output.read("pair samples", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-pair-samples" or record.integer("version") != 1:
        raise record.error("kappa-pair-samples, version 1", "format")
    nodes = tuple(record.texts("nodes"))
    if len(nodes) < 2 or len(set(nodes)) != len(nodes):
        raise record.error("two nodes or more, each once", "nodes")
    seconds, counts = _rounds(record)
    if len(figures) != counts.sum() * PAIR.itemsize or zlib.crc32(figures) != record.integer("figures_crc32"):
        raise record.error(f"the checksum of {counts.sum()} pairs in the file of figures", "figures_crc32")
    pairs = np.frombuffer(figures, dtype=PAIR)
    round_of = np.repeat(np.arange(len(counts)), counts)
    _require_pairs(record, pairs, round_of, len(nodes))
    if nodes_crc32(nodes) != record.integer("nodes_crc32"):
        raise record.error("the checksum of the nodes in their order", "nodes_crc32")
    return PairSamples(
        mpi=record.text("mpi"),
        nodes=nodes,
        ranks_per_node=record.integer("ranks_per_node", 1, Quantity.RANKS),
        latency_bytes=record.integer("latency_bytes", 1),
        bandwidth_bytes=record.integer("bandwidth_bytes", 1),
        rounds_within_leaves=record.integer("rounds_within_leaves"),
        round_seconds=seconds,
        pairs=pairs,
        round_of=round_of,
        alone=tuple(sorted(read_alone(record, nodes), key=lambda one: one.pair)),
        payloads_alone=_payloads_alone(record, nodes),
        collectives=read_collectives(record, len(nodes)),
    )


def nodes_crc32(nodes: Sequence[str]) -> int:
    """As the program has it: of the names, each with an end of line."""
    return zlib.crc32("".join(f"{node}\n" for node in nodes).encode())


def _rounds(record: Record) -> tuple[tuple[float, ...], NDArray[np.int64]]:
    seconds, counts = [], []
    for number, entry in enumerate(record.records("rounds"), start=1):
        if entry.integer("round") != number:
            raise entry.error(f"round {number}", "round")
        counts.append(entry.integer("pairs", 1, Quantity.RANKS))
        seconds.append(entry.number("seconds", Quantity.RUN_S, 0))
    if not counts:
        raise record.error("one round or more", "rounds")
    return tuple(seconds), np.array(counts, dtype=np.int64)


def _require_pairs(record: Record, pairs: NDArray[np.void], round_of: NDArray[np.int64], nodes: int) -> None:
    if not np.all((pairs["first"] < pairs["second"]) & (pairs["second"] < nodes)):
        raise record.error(f"two of {nodes} nodes in each pair of the file of figures, the smaller first", "nodes")
    both = np.concatenate([pairs["first"], pairs["second"]]).astype(np.int64)
    places = np.concatenate([round_of, round_of]) * nodes + both
    if len(np.unique(places)) != len(places):
        raise record.error("pairs that share no node in each round of the file of figures", "rounds")
    for name, quantity in _CEILINGS.items():
        if not np.all(np.isnan(pairs[name]) | ((pairs[name] > 0) & (pairs[name] <= quantity.ceiling))):
            raise record.error(f"{name} above 0 and at most {quantity} in the file of figures")
    if np.any(pairs["wrong_messages"] > pairs["messages"]):
        raise record.error("at most as many wrong messages as messages in the file of figures")


def _payloads_alone(record: Record, nodes: tuple[str, ...]) -> tuple[Payloads, ...]:
    place = {node: number for number, node in enumerate(nodes)}
    found = []
    for entry in record.records("alone"):
        messages, wrong = entry.integer("messages"), entry.integer("wrong_messages")
        if wrong > messages:
            raise entry.error("at most as many as messages", "wrong_messages")
        found.append(Payloads((place[entry.text("first")], place[entry.text("second")]), messages, wrong))
    return tuple(sorted(found, key=lambda one: one.pair))
