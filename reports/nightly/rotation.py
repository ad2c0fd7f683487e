"""Which nodes are measured one by one tonight, so that each has its turn within a stated number of nights."""

import math
from collections.abc import Collection, Mapping


def tonight(
    nodes: Collection[str], last_turn: Mapping[str, float], last_covered: Mapping[str, float], nights: int
) -> list[str]:
    """The nodes whose turn it is: those whose last turn is longest ago, never given first, equal ones by name.

    A share of ``1 / nights`` of ``nodes``, rounded up, so that each node has a turn in any ``nights`` nights in a row.
    It is the turn that counts, not what came of it, else a node that nothing can measure would keep its place at the
    front for ever and the others would have none. Those that their last turn left uncovered have another on top,
    longest waiting first, as many again at most.

    :param last_turn: when each node had its last turn; any figure that grows with time.
    :param last_covered: the same of the last turn that came to a result.
    :param nights: at least 1.
    """
    if nights < 1:
        raise ValueError(f"expected at least 1 night, found {nights}")
    order = sorted(set(nodes), key=lambda node: (last_turn.get(node, -math.inf), node))
    share = math.ceil(len(order) / nights)
    left_out = [node for node in order[share:] if last_covered.get(node, -math.inf) < last_turn.get(node, -math.inf)]
    return [*order[:share], *left_out[:share]]
