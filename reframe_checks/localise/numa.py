"""Which path between two NUMA domains of a node is slow: against the same path of other nodes, and against others of
the node that should be like it.
"""

import statistics
from collections.abc import Mapping

from reframe_checks.localise.finding import Finding, ranked
from reframe_checks.localise.nodes import suspects_of_nodes
from reframe_checks.parsers.node_numa import OnMemory, Pair


def suspects_of_paths(nodes: Mapping[str, Mapping[Pair, OnMemory]], *, least_slowdown: float) -> list[Finding]:
    """Ranked findings: nodes whose bandwidth or latency between two domains is slower than the median node's, and links
    between domains that are slower than those of the same distance in their node, of which there are one or more.

    :param least_slowdown: what is less times slower is no suspect.
    """
    pairs = set.intersection(*(set(paths) for paths in nodes.values()))
    against_nodes = [
        finding
        for pair in sorted(pairs)
        for quantity, speed in (("triad", _bandwidth), ("latency", _nearness))
        for finding in suspects_of_nodes(
            f"{quantity} of the cores of domain {pair[0]} on memory of domain {pair[1]}",
            {node: speed(paths[pair]) for node, paths in nodes.items()},
            least_slowdown=least_slowdown,
        )
    ]
    named = {finding.name for finding in against_nodes}
    return ranked(
        [
            *against_nodes,
            *(
                finding
                for node, paths in nodes.items()
                if node not in named
                for finding in odd_links(node, paths, least_slowdown=least_slowdown)
            ),
        ]
    )


def odd_links(node: str, paths: Mapping[Pair, OnMemory], *, least_slowdown: float) -> list[Finding]:
    """A path whose bandwidth is that much smaller than the median of those of the same distance.

    There are no nodes to compare with, or all are alike; each way of a link is a path, so that of two domains one way
    is held against the other.
    """
    found = []
    for distance in sorted({one.distance for one in paths.values()}):
        alike = {pair: one.triad_mb_s for pair, one in paths.items() if one.distance == distance}
        for (cores, memory), triad in alike.items():
            usual = statistics.median_high(alike.values())
            if usual >= least_slowdown * triad:
                slowdown = usual / triad
                name = f"{node}: cores of domain {cores} on memory of domain {memory}"
                evidence = f"{slowdown:.2f} times slower than {len(alike)} paths of distance {distance}"
                found.append(Finding("link", name, (node,), "triad", slowdown / least_slowdown, slowdown, evidence))
    return found


def _bandwidth(found: OnMemory) -> float:
    return found.triad_mb_s


def _nearness(found: OnMemory) -> float:
    return 1 / found.latency_ns
