"""Find slow parts of nodes: NUMA domains and the paths between them, adapters, GPUs."""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, least_score, noise, ranked, suspects_of_nodes
from reframe_checks.parsers.core_programs import DomainPair, MemoryPath

# Slow paths between two NUMA domains of a node, compared with the same path of other nodes, and with similar paths of
# the node.


def suspects_of_paths(nodes: Mapping[str, Mapping[DomainPair, MemoryPath]], *, least_slowdown: float) -> list[Finding]:
    """Return ranked findings: nodes and links between domains.

    A node is named if its bandwidth or latency between two domains is slower than the median node's. A link is named if
    it is slower than the links of the same distance in its node.

    :param least_slowdown: the least factor by which a suspect is slower.
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


def odd_links(node: str, paths: Mapping[DomainPair, MemoryPath], *, least_slowdown: float) -> list[Finding]:
    """Return a finding for each path whose bandwidth is much smaller than the median of the paths of the same distance.

    This works without other nodes. Each direction of a link is a path, so with two domains one direction is compared
    with the other.
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


def _bandwidth(found: MemoryPath) -> float:
    return found.triad_mb_s


def _nearness(found: MemoryPath) -> float:
    return 1 / found.latency_ns


# Slow adapters, or GPUs, from one figure for each node and each of its adapters.
# Each adapter of a node is compared with its other adapters, and with the same adapter of the other nodes:
#     log(time of node i over adapter r) = level_r + node_i + own_ir
# ``level`` is the median over nodes. ``node`` is the median of the rest over the node's adapters (of an even number,
# the faster of the middle two). So an adapter that is slow on all nodes, a node that is slow over all adapters, and one
# slow adapter of one node are three different findings.


def suspects_of_rails(
    quantity: str,
    nodes: Sequence[str],
    rails: Sequence[str],
    slowness: Floats,
    *,
    least_slowdown: float,
    what: str = "adapters",
) -> list[Finding]:
    """Return ranked findings, the strongest evidence first. A slow adapter of a node is a finding against the node.

    :param quantity: the name of the measured quantity, for readers.
    :param rails: names of the adapters (or GPUs), the same on every node; two or more.
    :param what: the word for the rails, for readers.
    :param slowness: a row for each node, a column for each adapter, any unit of time; NaN where nothing was measured.
    :param least_slowdown: the least factor by which a suspect is slower than its equals.
    """
    logs, least = np.log(slowness), float(np.log(least_slowdown))
    levels = np.array([_middle(column) for column in logs.T])
    rest = logs - levels
    node = np.array([_middle(row) for row in rest])
    own = np.array([_against_others(row) for row in rest])
    found = _not_measured(quantity, nodes, rails, logs)
    found += [
        Finding(
            "rail", rails[r], (), quantity, score, float(np.exp(effect)),
            f"over {rails[r]} of all nodes is {np.exp(effect):.2f} times slower than over others: check its switches",
        )
        for (r,), effect, score in _outstanding(_against_others(levels), least, max(noise(own), _spread(levels)))
    ]  # fmt: skip
    found += [
        Finding(
            "node", nodes[i], (nodes[i],), quantity, score, float(np.exp(effect)),
            f"over its {len(rails)} {what} is {np.exp(effect):.2f} times slower than the median node's",
        )
        for (i,), effect, score in _outstanding(node - _middle(node), least, noise(node))
    ]  # fmt: skip
    found += [
        Finding(
            "node", nodes[i], (nodes[i],), quantity, score, float(np.exp(effect)),
            f"over {rails[r]} is {np.exp(effect):.2f} times slower than over its other {what}",
        )
        for (i, r), effect, score in _outstanding(own, least, noise(own))
    ]  # fmt: skip
    return ranked(found)


def _middle(values: Floats) -> float:
    """Return the median, of an even number the smaller of the middle two; NaN without values."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[(len(known) - 1) // 2]) if known.size else float("nan")


def _against_others(values: Floats) -> Floats:
    """Return each value minus the middle of the others."""
    return np.array([value - _middle(np.delete(values, place)) for place, value in enumerate(values)])


def _spread(levels: Floats) -> float:
    """Return the noise between adapters, which may be at different distances from the cores; 0 for three or fewer."""
    return noise(levels) if len(levels) > 3 else 0.0


def _outstanding(effects: Floats, least: float, spread: float) -> list[tuple[NDArray[np.intp], float, float]]:
    """Return place, effect and score of each value that is too slow and beyond the noise."""
    needed = least_score(effects.size)
    with np.errstate(invalid="ignore"):
        places = np.argwhere((effects >= least) & (effects / spread >= needed))
    return [(place, float(effects[tuple(place)]), float(effects[tuple(place)] / spread)) for place in places]


def _not_measured(quantity: str, nodes: Sequence[str], rails: Sequence[str], logs: Floats) -> list[Finding]:
    return [
        Finding("node", nodes[i], (nodes[i],), quantity, None, None, f"over {rails[r]} was not measured")
        for i, r in np.argwhere(~np.isfinite(logs))
    ]


# Slow GPUs of nodes, and pairs of GPUs that are slow only with each other, from rates between neighbouring nodes.
# A GPU counts as fast as its fastest pair, and is compared with others as an adapter is. The slow-down of a pair beyond
# its slower GPU,
#     log(min(fastest pair of GPU g of node a, fastest pair of GPU h of node b) / rate of the pair),
# belongs to the path between them. If all nodes have it for one kind of pair, it is their design (g and h are on
# different PCIe switches). Beyond the median of its kind, it is a finding against the link.

#: (node, GPU, node, GPU), in the order of the ring.
GpuPair = tuple[str, int, str, int]


def fastest_pairs(rates: Mapping[GpuPair, float]) -> dict[tuple[str, int], float]:
    """Return the rate of each GPU's fastest pair: (node, GPU) -> rate."""
    fastest: dict[tuple[str, int], float] = {}
    for (first, g, second, h), rate in rates.items():
        for gpu in ((first, g), (second, h)):
            fastest[gpu] = max(rate, fastest.get(gpu, 0.0))
    return fastest


def suspects_of_gpus(
    quantity: str, nodes: Sequence[str], gpus: int, rates: Mapping[GpuPair, float], *, least_slowdown: float
) -> list[Finding]:
    """Return ranked findings, the strongest evidence first.

    :param gpus: number of GPUs of each node, two or more.
    :param rates: measured pair -> rate; a GPU without a rate is a finding.
    :param least_slowdown: the least factor by which a suspect is slower than its equals.
    """
    fastest = fastest_pairs(rates)
    table = np.array([[fastest.get((node, gpu), np.nan) for gpu in range(gpus)] for node in nodes])
    names = [f"GPU {gpu}" for gpu in range(gpus)]
    found = suspects_of_rails(quantity, nodes, names, 1 / table, least_slowdown=least_slowdown, what="GPUs")
    pairs = list(rates)
    lost = np.log([min(fastest[a, g], fastest[b, h]) / rates[a, g, b, h] for a, g, b, h in pairs])
    kinds = np.array([gpus * min(g, h) + max(g, h) for _, g, _, h in pairs])
    for kind in np.unique(kinds):
        lost[kinds == kind] -= np.median(lost[kinds == kind])
    spread, needed = noise(lost), least_score(len(pairs))
    found += [
        Finding(
            "link", f"{a}-{b}", (a, b), quantity, float(effect / spread), float(np.exp(effect)),
            f"between GPU {g} of {a} and GPU {h} of {b} is {np.exp(effect):.2f} times slower than the two GPUs explain",
        )
        for (a, g, b, h), effect in zip(pairs, lost, strict=True)
        if effect >= np.log(least_slowdown) and effect / spread >= needed
    ]  # fmt: skip
    return ranked(found)
