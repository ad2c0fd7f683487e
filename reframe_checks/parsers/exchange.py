"""Results of ``kappa-node exchange``: lost, late and repeated packets between the nodes of a job."""

from typing import Annotated

from msgspec import Meta

from kappa.node.watch.exchange import MOST_PEERS
from reframe_checks.parsers.job_scripts import without_sums
from reframe_checks.parsers.json_reader import Count, OwnDocument, Text, decode, require
from reframe_checks.parsers.text import Output, Unit


class Exchanged(OwnDocument, frozen=True):
    """The TCP segments that ``node`` sent to ``peer``, and the datagrams that ``node`` received from ``peer``.

    ``failure``: why a long message did not arrive. ``refused``: why the node's own kernel did not send a datagram.
    ``answered_by``: another node that has the peer's address, or whose adapter answers for it.
    """

    node: Text
    peer: Text
    failure: Text | None
    refused: Text | None
    answered_by: Text | None
    connects: Count
    slow_connects: Count
    segments: Count
    retransmitted: Count
    duplicate_segments: Count
    reordered_segments: Count
    out_of_order_segments: Count
    datagrams: Count
    missing: Count
    long_datagrams: Count
    missing_long: Count
    out_of_order: Count
    twice: Count
    longest_outage_ms: Annotated[float, Meta(ge=0, le=1000 * Unit.RUN_S.ceiling)]

    def __post_init__(self) -> None:
        require(self.node != self.peer, "peer: another node")
        for part, whole in (
            ("slow_connects", "connects"),
            ("missing", "datagrams"),
            ("missing_long", "long_datagrams"),
            ("long_datagrams", "datagrams"),
        ):
            require(getattr(self, part) <= getattr(self, whole), f"{part}: at most as many as {whole}")


def exchanged(text: str, *, expect_nodes: int) -> tuple[Exchanged, ...]:
    """Parse a line of JSON and its SHA-256 for each node and peer, in order of their names.

    :raises ParseError: a line was changed, is no such object or repeats a pair; a node is missing; or only one of the
        two nodes of a pair reports it.
    """
    output = without_sums(Output.read("kappa-node exchange output", text))
    found: dict[tuple[str, str], Exchanged] = {}
    for number in range(1, len(output.lines) + 1):
        one = decode(output, range(number, number + 1), Exchanged)
        if (one.node, one.peer) in found:
            raise output.error(number, f"each peer of a node once, found {one.node} and {one.peer} again")
        found[one.node, one.peer] = one
    nodes = {node for node, _ in found}
    if len(nodes) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(nodes)} ({', '.join(sorted(nodes))})")
    for node, peer in found:
        if (peer, node) not in found:
            raise output.missing(f"what {peer} has exchanged with {node}")
    least = min(expect_nodes - 1, MOST_PEERS)
    for node in nodes:
        if sum(one == node for one, _ in found) != least:
            raise output.missing(f"{least} peers of {node}")
    return tuple(found[pair] for pair in sorted(found))
