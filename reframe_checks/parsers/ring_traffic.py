"""Result of ``ring_traffic``: what each network adapter of each node counted while MPI sent, and how fast that arrived.

It is one JSON object.
"""

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
class Gpu:
    """``ordinal`` among those of its node, and where it is on PCIe, as ``0000:3b:00.0``."""

    ordinal: int
    pci: str


@dataclass(frozen=True)
class Traffic:
    """Every node sent ``payload_bytes``, half of them to the next node and half to the one before, in the order of
    ``nodes``; ``rates_mb_s`` (10^6 bytes a second): what came from the one before, and what came from the next.
    ``gpus``: in whose memory messages lay, of each node, if they did."""

    payload_bytes: int
    nodes: dict[str, tuple[Adapter, ...]]
    rates_mb_s: dict[str, tuple[float, float]]
    gpus: dict[str, Gpu]

    @property
    def links_mb_s(self) -> list[tuple[str, str, float]]:
        """Each node with the next, and the rate between them in the slower direction."""
        ring = list(self.nodes)
        return [
            (node, after, min(self.rates_mb_s[after][0], self.rates_mb_s[node][1]))
            for node, after in zip(ring, [*ring[1:], ring[0]], strict=True)
        ]

    @property
    def sent_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {node: {one.name: one.sent_bytes for one in adapters} for node, adapters in self.nodes.items()}

    @property
    def received_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {node: {one.name: one.received_bytes for one in adapters} for node, adapters in self.nodes.items()}

    @property
    def speeds_mb_s(self) -> dict[str, float]:
        """Of each node: how fast it sends to, and receives from, the better of its two neighbours, whichever is slower.

        A slow neighbour slows one link of a node, a slow adapter all.
        """
        ring = list(self.nodes)
        rates = [self.rates_mb_s[node] for node in ring]
        speeds = {}
        for i, node in enumerate(ring):
            sent = rates[(i + 1) % len(ring)][0], rates[i - 1][1]
            speeds[node] = min(max(sent), max(rates[i]))
        return speeds

    @property
    def ip_over_infiniband(self) -> frozenset[str]:
        """Interfaces that count only TCP and UDP over what could do RDMA."""
        return frozenset(one.name for adapters in self.nodes.values() for one in adapters if one.ip_over_infiniband)


def parse(text: str, *, expect_nodes: int, expect_gpus: tuple[int, int] | None = None) -> Traffic:
    """
    :param expect_gpus: which GPU nodes of even, and of odd, numbers were to take; None: messages in the host's memory.
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, or a node
        missing, or it or an adapter there twice, or another GPU than expected.
    """
    output = Output.read("ring traffic", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-ring-traffic" or record.integer("version") != 2:
        raise record.error("kappa-ring-traffic, version 2", "format")
    if record.integer("ranks", 2, Quantity.RANKS) != expect_nodes:
        raise record.error(f"{expect_nodes} ranks, one on each node", "ranks")
    listed = record.records("nodes")
    if [node.integer("rank") for node in listed] != list(range(len(listed))):
        raise record.error("the nodes in the order of their ranks", "nodes")
    nodes = {node.text("node"): _adapters(node) for node in listed}
    if not len(nodes) == len(listed) == expect_nodes:
        raise record.error(f"{expect_nodes} nodes, each once", "nodes")
    payload, each_way = (record.integer(key, 1, Quantity.BYTES) for key in ("bytes", "bytes_each_way"))
    if payload != 2 * each_way:
        raise record.error("twice the bytes each way", "bytes")
    rates = {node.text("node"): _rates(node, each_way) for node in listed}
    if expect_gpus is None and any("gpu" in node for node in listed):
        raise record.error("messages in the host's memory", "nodes")
    gpus = {node.text("node"): _gpu(node, expect_gpus) for node in listed} if expect_gpus else {}
    return Traffic(payload, nodes, rates, gpus)


def _gpu(node: Record, expected: tuple[int, int]) -> Gpu:
    gpu = node.record("gpu")
    if gpu.integer("ordinal", 0) != expected[node.integer("rank") % 2]:
        raise gpu.error(f"{expected[node.integer('rank') % 2]}", "ordinal")
    return Gpu(gpu.integer("ordinal", 0), gpu.text("pci"))


def _rates(node: Record, each_way: int) -> tuple[float, float]:
    found = []
    for side in ("before", "next"):
        seconds = node.number(f"from_{side}_s", Quantity.RUN_S, 0)
        rate = node.number(f"from_{side}_MBps", Quantity.MB_S, 0)
        # Six digits of each are printed.
        if not seconds or f"{rate:.6g}" != f"{each_way / seconds / 1e6:.6g}":
            raise node.error("the bytes each way over the time", f"from_{side}_MBps")
        found.append(rate)
    return found[0], found[1]


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
