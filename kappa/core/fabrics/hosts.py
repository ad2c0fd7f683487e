"""Which host of the platform each rank runs on, and the switches that reduce for them."""

from itertools import pairwise
from typing import NamedTuple

from kappa.core.fabrics.schema import Fabric
from kappa.core.fabrics.shapes import Variant, network_of
from kappa.core.ground.errors import InputError


class Aggregator(NamedTuple):
    """A switch that reduces what ``children`` send; aggregators are numbered as ranks that follow the others."""

    host: str
    children: list[int]


def host_slots(fabric: Fabric, nodes: int, ranks_per_node: int) -> list[str]:
    """A host for each rank, node by node.

    :raises InputError: the fabric holds fewer.
    """
    if not 1 <= nodes <= fabric.nodes:
        raise InputError(f"fabric {fabric.name} has {fabric.nodes} nodes; expected 1 to as many, found {nodes}")
    if not 1 <= ranks_per_node <= fabric.ranks_per_node:
        raise InputError(
            f"fabric {fabric.name} holds {fabric.ranks_per_node} ranks on a node; expected 1 to as many,"
            f" found {ranks_per_node}"
        )
    return [f"n{node}" for node in range(nodes) for _ in range(ranks_per_node)]


def aggregators(
    fabric: Fabric, nodes: int, variant: Variant = "sound", ranks_per_node: int = 1
) -> list[Aggregator]:
    """The tree of switches that reduces over the first ``nodes`` nodes, children before parents; the last is the root.

    Their hosts follow those of :func:`host_slots`.

    :raises InputError: the fabric reduces nothing in its network, or has fewer nodes.
    """
    if not fabric.in_network:
        raise InputError(f"fabric {fabric.name} reduces nothing in its network: it has no key in_network")
    ranks = len(host_slots(fabric, nodes, ranks_per_node))
    network = network_of(fabric, variant)
    leaves = {f"n{node}": network.switch_of(f"n{node}") for node in range(nodes)}
    for root in network.switches:
        ways = {leaf: network.way(root, leaf) for leaf in dict.fromkeys(leaves.values())}
        # Straight down: as many cables to each leaf as there are levels between.
        if all(len(way) == int(root[1:].partition(".")[0]) for way in ways.values()):
            return _numbered(root, list(ways.values()), leaves, ranks)
    raise InputError(f"fabric {fabric.name}, {variant}: no switch is above all of the first {nodes} nodes")


def tree_text(tree: list[Aggregator], ranks: int) -> str:
    """As the pattern ``allreduce --where in-network`` reads it: ``AGGREGATOR: CHILD CHILD ...``, all of them ranks."""
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
