"""Which nodes are measured one by one tonight, so that each has its turn within a stated number of nights."""

import math
from collections.abc import Collection, Mapping


def tonight(nodes: Collection[str], last_covered: Mapping[str, float], nights: int) -> list[str]:
    """The nodes whose turn it is: those longest not covered, never covered first, equal ones by name.

    A share of ``1 / nights`` of ``nodes``, rounded up, so that as long as every night ends, each node is covered once
    in any ``nights`` nights in a row. A node that a night left out keeps its place at the front.

    :param last_covered: when each node was covered last; any figure that grows with time.
    :param nights: at least 1.
    """
    if nights < 1:
        raise ValueError(f"expected at least 1 night, found {nights}")
    order = sorted(set(nodes), key=lambda node: (last_covered.get(node, -math.inf), node))
    return order[: math.ceil(len(order) / nights)]
