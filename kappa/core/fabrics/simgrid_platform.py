"""Write a fabric for SimGrid: the platform with its settings in one file, and the host of each rank.

The platform lists the route of each pair, because SimGrid's own clusters have one latency for all links. They support
no mesh, no tapering with it and no loss.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from kappa.core.fabrics.network import Cable, Network, Variant, network_of
from kappa.core.fabrics.schema import Shared, SimulatedFabric
from kappa.core.ground.errors import InputError

_HEAD = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
"""


class Aggregator(NamedTuple):
    """A switch that reduces the data of its ``children``; the numbers of aggregators follow those of the ranks."""

    host: str
    children: list[int]


def host_slots(fabric: SimulatedFabric, nodes: int, ranks_per_node: int) -> list[str]:
    """Return a host for each rank, node by node.

    :raises InputError: the fabric has fewer nodes or ranks.
    """
    if not 1 <= nodes <= fabric.nodes:
        raise InputError(f"fabric {fabric.name}: expected 1 to {fabric.nodes} nodes, found {nodes}")
    if not 1 <= ranks_per_node <= fabric.ranks_per_node:
        raise InputError(
            f"fabric {fabric.name}: expected 1 to {fabric.ranks_per_node} ranks per node, found {ranks_per_node}"
        )
    return [f"n{node}" for node in range(nodes) for _ in range(ranks_per_node)]


def aggregators(
    fabric: SimulatedFabric, nodes: int, variant: Variant = "sound", ranks_per_node: int = 1
) -> list[Aggregator]:
    """Return the tree of switches that reduces over the first ``nodes`` nodes, children before parents, the root last.

    Their hosts follow those of :func:`host_slots`.

    :raises InputError: the fabric does not reduce in its network, or has fewer nodes.
    """
    if not fabric.in_network:
        raise InputError(f"fabric {fabric.name} does not reduce in its network: it lacks the key in_network")
    ranks = len(host_slots(fabric, nodes, ranks_per_node))
    network = network_of(fabric, variant)
    leaves = {f"n{node}": network.switch_of(f"n{node}") for node in range(nodes)}
    for root in network.switches:
        ways = {leaf: network.way(root, leaf) for leaf in dict.fromkeys(leaves.values())}
        # A root reaches each leaf straight down, with as many cables as there are levels in between.
        if all(len(way) == int(root[1:].partition(".")[0]) for way in ways.values()):
            return _numbered(root, list(ways.values()), leaves, ranks)
    raise InputError(f"fabric {fabric.name}, {variant}: no switch is above all of the first {nodes} nodes")


def tree_text(tree: list[Aggregator], ranks: int) -> str:
    """Return the text for the pattern ``allreduce --where in-network``: ``AGGREGATOR: CHILD CHILD ...``, all ranks."""
    return "".join(f"{ranks + place}: {' '.join(map(str, each.children))}\n" for place, each in enumerate(tree))


def _numbered(root: str, ways: list[list[str]], leaves: dict[str, str], ranks: int) -> list[Aggregator]:
    ranks_per_node = ranks // len(leaves)
    below: dict[str, list[str]] = {}
    for node, leaf in leaves.items():
        below.setdefault(leaf, []).append(node)
    for parent, child in (step for way in ways for step in pairwise(way)):
        if child not in below.setdefault(parent, []):
            below[parent].append(child)
    found: list[Aggregator] = []

    def add(switch: str) -> int:
        children: list[int] = []
        for each in below[switch]:
            if each[0] == "n":
                first = int(each[1:]) * ranks_per_node
                children += range(first, first + ranks_per_node)
            else:
                children.append(add(each))
        found.append(Aggregator(switch, children))
        return ranks + len(found) - 1

    add(root)
    return found


def platform_xml(fabric: SimulatedFabric, variant: Variant = "sound", nodes: int | None = None) -> str:
    """Return the platform of the fabric.

    :param nodes: list only the routes between the first ``nodes`` nodes, which SimGrid reads faster.

    :raises InputError: the fabric has no such variant, or fewer nodes.
    """
    if nodes is not None and not 1 <= nodes <= fabric.nodes:
        raise InputError(f"fabric {fabric.name}: expected 1 to {fabric.nodes} nodes, found {nodes}")
    network = network_of(fabric, variant)
    shared = fabric.variants.shared if variant == "shared" else None
    lines = [
        "<!-- " + escape(f"{fabric.name}, {variant}, {fabric.kind}: {fabric.descr}").replace("--", "- -") + " -->",
        '<platform version="4.1">',
        "<config>",
        *(f"<prop id={quoteattr(key)} value={quoteattr(value)}/>" for key, value in settings(fabric).items()),
        "</config>",
        '<zone id="fabric" routing="Full">',
        *_hosts(fabric, network, nodes),
        *_links(fabric, network, shared),
        *_routes(fabric, network, nodes),
        "</zone>",
        "</platform>",
    ]
    return _HEAD + "\n".join(lines) + "\n"


def settings(fabric: SimulatedFabric) -> dict[str, str]:
    """Return SimGrid's settings. They do not depend on the machine that runs the simulation."""
    software = fabric.software
    by_size = software.by_size
    send, receive = (f"0:{_seconds(us.value)}:0" for us in (software.send_us, software.receive_us))
    return {
        "smpi/os": _pieces(by_size.bytes, by_size.send_us) if by_size else send,
        "smpi/ois": _pieces(by_size.bytes, by_size.isend_us) if by_size else send,
        "smpi/or": _pieces(by_size.bytes, by_size.receive_us) if by_size else receive,
        # The links below define latencies and bandwidths for all message sizes.
        "smpi/lat-factor": "0:1",
        "smpi/bw-factor": "0:1",
        "network/TCP-gamma": "0",
        "network/crosstraffic": "no",
        # How flows of different length share a link: SimGrid's own weight, stated because its models differ.
        "network/weight-S": "8775",
        "smpi/send-is-detached-thresh": str(software.eager_limit_bytes.value),
        "smpi/simulate-computation": "no",
        "smpi/host-speed": "1Gf",
        "smpi/coll-selector": software.collectives,
        # Without these, a polling program would wait for ever, because no other event advances the time.
        "smpi/iprobe": "1e-8",
        "smpi/test": "1e-8",
        "smpi/wtime": "1e-8",
    }


def _pieces(sizes: list[int], values_us: list[float]) -> str:
    """Return the linear pieces between sizes in SMPI's format: ``from:seconds at 0 bytes:seconds per byte``."""
    pieces = []
    for (size, value), (after, of_after) in pairwise(zip(sizes, values_us, strict=True)):
        slope = (of_after - value) / (after - size)
        pieces.append((size, value - slope * size, slope))
    # Below the smallest and above the largest size the values at the ends hold.
    pieces = [(0, values_us[0], 0.0), *pieces, (sizes[-1], values_us[-1], 0.0)]
    return ";".join(f"{size}:{_seconds(base)}:{_seconds(slope)}" for size, base, slope in pieces)


def _hosts(fabric: SimulatedFabric, network: Network, nodes: int | None) -> Iterator[str]:
    for node in network.nodes[:nodes]:
        yield f'<host id="{node}" speed="1Gf"/>'
    if fabric.in_network:
        free = "".join(f'<prop id="smpi/{each}" value="0:0:0"/>' for each in ("os", "ois", "or"))
        for switch in _living(network):
            yield f'<host id="{switch}" speed="1Gf">{free}</host>'


def _living(network: Network) -> list[str]:
    ends = {end for cable in network.cables.values() for end in cable.ends}
    return [switch for switch in network.switches if switch in ends]


def _links(fabric: SimulatedFabric, network: Network, shared: Shared | None) -> Iterator[str]:
    for name, cable in network.cables.items():
        left = _left(cable, shared)
        # Half of the node latency is in the sender's node; the other half is at the other end.
        delay = fabric.software.node_latency_us.value / 2 if cable.ends[0][0] == "n" else 0
        yield _link(name, left.bandwidth_gb_s, left.latency_us + delay, "SPLITDUPLEX")
    memory, dma = fabric.node.memory, fabric.node.dma_gb_s
    within = memory.latency_us.value + (fabric.software.node_latency_us.value if dma else 0)
    for node in network.nodes:
        yield _link(f"memory-{node}", memory.bandwidth_gb_s.value, within, "SHARED")
        yield from [_link(f"dma-{node}", dma.value, 0, "SPLITDUPLEX")] if dma else []


def _link(name: str, bandwidth_gb_s: float, latency_us: float, sharing: str) -> str:
    rate = f"{bandwidth_gb_s * 1e9:.12g}Bps"
    return f'<link id="{name}" bandwidth="{rate}" latency="{_seconds(latency_us)}s" sharing_policy="{sharing}"/>'


def _left(cable: Cable, shared: Shared | None) -> Cable:
    """Return the cable with the bandwidth and latency that a second job leaves."""
    if shared is None or not (cable.between_switches or shared.links == "all"):
        return cable
    share = shared.share.value
    packet_us = shared.packet_bytes.value / cable.bandwidth_gb_s / 1e3
    wait_us = share / (2 * (1 - share)) * packet_us
    return cable._replace(bandwidth_gb_s=cable.bandwidth_gb_s * (1 - share), latency_us=cable.latency_us + wait_us)


def _routes(fabric: SimulatedFabric, network: Network, nodes: int | None) -> Iterator[str]:
    ends = network.nodes[:nodes] + (_living(network) if fabric.in_network else [])
    dma = fabric.node.dma_gb_s
    for node in network.nodes[:nodes]:
        through = [f"dma-{node}_UP", f"dma-{node}_DOWN"] if dma else []
        yield _route(node, node, [*through, f"memory-{node}"])
    for source in ends:
        for target in ends:
            if source == target:
                continue
            links = [f"{hop.cable}_{'UP' if hop.up else 'DOWN'}" for hop in network.route(source, target)]
            if dma:
                links = [f"dma-{end}_{way}" for end, way in ((source, "UP"), (target, "DOWN")) if end[0] == "n"] + links
            yield _route(source, target, links)


def _route(source: str, target: str, links: list[str]) -> str:
    inner = "".join(f'<link_ctn id="{link}"/>' for link in links)
    return f'<route src="{source}" dst="{target}" symmetrical="NO">{inner}</route>'


def _seconds(microseconds: float) -> str:
    return f"{microseconds * 1e-6:.12g}"
