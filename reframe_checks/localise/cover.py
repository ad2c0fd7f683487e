"""The fewest nodes and links that explain every bad pair (a greedy cover)."""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

Pair = tuple[int, int]


def cover(bad: Mapping[Pair, float], partners: Sequence[int]) -> Iterator[tuple[tuple[int, ...], list[Pair]]]:
    """What is blamed, (node,) or (i, j), and the bad pairs that it explains.

    :param bad: the weight of each bad pair, the smaller number first; of equal nodes the heaviest is blamed.
    :param partners: with how many others each node was measured; it is blamed where more than half of its pairs are
        bad.
    """
    left: dict[int, set[int]] = defaultdict(set)
    total: dict[int, float] = defaultdict(float)
    for pair, weight in bad.items():
        for node, other in (pair, pair[::-1]):
            left[node].add(other)
            total[node] += weight
    heap = [(-len(others), -total[node], node) for node, others in left.items()]
    heapq.heapify(heap)
    while heap:
        count, weight, node = heapq.heappop(heap)
        others = left[node]
        if -count != len(others):  # some of them are explained by now
            heapq.heappush(heap, (-len(others), weight, node))
        elif len(others) >= 2 and 2 * len(others) > partners[node]:
            yield (node,), sorted((min(node, other), max(node, other)) for other in others)
            for other in others:
                left[other].discard(node)
            left[node] = set()
    for i in sorted(left):
        yield from (((i, j), [(i, j)]) for j in sorted(left[i]) if i < j)


def blamed(nodes: Sequence[str], members: tuple[int, ...]) -> tuple[Literal["node", "link"], str, tuple[str, ...]]:
    """Kind, name and nodes of what ``cover`` blames."""
    names = tuple(nodes[member] for member in members)
    return ("node" if len(names) == 1 else "link"), "-".join(names), names
