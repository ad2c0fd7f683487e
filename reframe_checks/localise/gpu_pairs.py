"""Which GPU of which node is slow, and which two GPUs only with each other, of rates between neighbouring nodes.

A GPU is as fast as its fastest pair, since nothing is faster than its cause, and is held against others in
``rails.py``. What a pair lacks beyond its slower GPU,

    log(min(fastest pair of GPU g of node a, that of GPU h of node b) / rate of the pair),

is that of the path between them: of one kind of pair on all nodes it is how nodes are made (g and h hang on different
switches), and beyond the median of its kind a finding against the link.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from reframe_checks.localise.finding import Finding, least_score, noise, ranked
from reframe_checks.localise.rails import suspects_of_rails

#: Of the nodes' names, in the order of the ring: (node, GPU, node, GPU).
Pair = tuple[str, int, str, int]


def fastest_pairs(rates: Mapping[Pair, float]) -> dict[tuple[str, int], float]:
    """(node, GPU) -> rate of its fastest pair."""
    fastest: dict[tuple[str, int], float] = {}
    for (first, g, second, h), rate in rates.items():
        for gpu in ((first, g), (second, h)):
            fastest[gpu] = max(rate, fastest.get(gpu, 0.0))
    return fastest


def suspects_of_gpus(
    quantity: str, nodes: Sequence[str], gpus: int, rates: Mapping[Pair, float], *, least_slowdown: float
) -> list[Finding]:
    """Ranked findings, the strongest evidence first.

    :param gpus: of each node, two or more.
    :param rates: of each pair that was measured; what was not measured of a GPU is a finding.
    :param least_slowdown: what is less times slower than its like is no suspect.
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
            f"between GPU {g} of {a} and GPU {h} of {b} is {np.exp(effect):.2f} times slower than the two explain",
        )
        for (a, g, b, h), effect in zip(pairs, lost, strict=True)
        if effect >= np.log(least_slowdown) and effect / spread >= needed
    ]  # fmt: skip
    return ranked(found)
