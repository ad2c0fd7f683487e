"""Result of ``ring_traffic``: what each network adapter of each node counted while MPI sent, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class Adapter:
    """``name`` of an interface, or of an RDMA port as ``mlx5_0:1``."""

    name: str
    sent_bytes: int
    received_bytes: int
    ip_over_infiniband: bool = False


@dataclass(frozen=True)
class Traffic:
    """Every node sent ``payload_bytes``."""

    payload_bytes: int
    nodes: dict[str, tuple[Adapter, ...]]

    @property
    def sent_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {node: {one.name: one.sent_bytes for one in adapters} for node, adapters in self.nodes.items()}

    @property
    def received_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {node: {one.name: one.received_bytes for one in adapters} for node, adapters in self.nodes.items()}

    @property
    def ip_over_infiniband(self) -> frozenset[str]:
        """Interfaces that count only TCP and UDP over what could do RDMA."""
        return frozenset(one.name for adapters in self.nodes.values() for one in adapters if one.ip_over_infiniband)


def parse(text: str, *, expect_nodes: int) -> Traffic:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, or a node
        missing, or it or an adapter there twice.
    """
    output = Output.read("ring traffic", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-ring-traffic" or record.integer("version") != 1:
        raise record.error("kappa-ring-traffic, version 1", "format")
    if record.integer("ranks", 2, Quantity.RANKS) != expect_nodes:
        raise record.error(f"{expect_nodes} ranks, one on each node", "ranks")
    listed = record.records("nodes")
    nodes = {node.text("node"): _adapters(node) for node in listed}
    if not len(nodes) == len(listed) == expect_nodes:
        raise record.error(f"{expect_nodes} nodes, each once", "nodes")
    return Traffic(record.integer("bytes", 1, Quantity.BYTES), nodes)


def _adapters(node: Record) -> tuple[Adapter, ...]:
    found = tuple(
        Adapter(
            one.text("name"),
            one.integer("sent", 0, Quantity.BYTES),
            one.integer("received", 0, Quantity.BYTES),
            "ip_over_infiniband" in one and one.flag("ip_over_infiniband"),
        )
        for one in node.records("adapters")
    )
    if len({adapter.name for adapter in found}) != len(found):
        raise node.error("each adapter once", "adapters")
    return found
