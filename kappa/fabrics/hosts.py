"""Which host of the platform each rank runs on, and the switches that reduce for them."""

from itertools import pairwise
from typing import NamedTuple

from kappa.fabrics.schema import Fabric
from kappa.fabrics.shapes import Variant, network_of
from kappa.ground.errors import InputError


class Aggregator(NamedTuple):
    """A switch that reduces what ``children`` send: numbers below the number of nodes are nodes, the rest aggregators.

    Aggregator i of a tree over n nodes is numbered n + i.
    """

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


def aggregators(fabric: Fabric, nodes: int, variant: Variant = "sound") -> list[Aggregator]:
    """The tree of switches that reduces over the first ``nodes`` nodes, children before parents; the last is the root.

    :raises InputError: the fabric reduces nothing in its network, or has fewer nodes.
    """
    if not fabric.in_network:
        raise InputError(f"fabric {fabric.name} reduces nothing in its network: it has no key in_network")
    host_slots(fabric, nodes, 1)
    network = network_of(fabric, variant)
    leaves = {f"n{node}": network.switch_of(f"n{node}") for node in range(nodes)}
    for root in network.switches:
        ways = {leaf: network.way(root, leaf) for leaf in leaves.values()}
        # Straight down: as many cables to each leaf as there are levels between.
        if all(len(way) == int(root[1:].partition(".")[0]) for way in ways.values()):
            return _numbered(root, list(ways.values()), leaves, nodes)
    raise InputError(f"fabric {fabric.name}, {variant}: no switch is above all of the first {nodes} nodes")


def _numbered(root: str, ways: list[list[str]], leaves: dict[str, str], nodes: int) -> list[Aggregator]:
    below: dict[str, list[str]] = {}
    for node, leaf in leaves.items():
        below.setdefault(leaf, []).append(node)
    for parent, child in (step for way in ways for step in pairwise(way)):
        if child not in below.setdefault(parent, []):
            below[parent].append(child)
    found: list[Aggregator] = []

    def add(switch: str) -> int:
        children = [int(each[1:]) if each[0] == "n" else add(each) for each in below[switch]]
        found.append(Aggregator(switch, children))
        return nodes + len(found) - 1

    add(root)
    return found
