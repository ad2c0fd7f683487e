"""Which adapter of which node is slow: one figure for each node and each of its adapters, or GPUs.

Each adapter of a node is held against its other adapters, and against the same adapter of the other nodes:

    log(time of node i over adapter r) = level_r + node_i + own_ir

``level`` is the median over nodes, and ``node`` the median over what is left of its adapters (of an even number the
faster of the middle two: nothing is faster than its cause). So an adapter that is slow on all nodes, a node that is
slow over all adapters, and one adapter of one node are three different findings.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, least_score, noise, ranked


def suspects_of_rails(
    quantity: str,
    nodes: Sequence[str],
    rails: Sequence[str],
    slowness: Floats,
    *,
    least_slowdown: float,
    what: str = "adapters",
) -> list[Finding]:
    """Ranked findings, the strongest evidence first. A slow adapter of a node is a finding against the node.

    :param quantity: what was measured, for people.
    :param rails: adapters (or GPUs) by their names on every node, two or more.
    :param what: what the rails are, for people.
    :param slowness: a row for each node, a column for each adapter, any unit of time; NaN where nothing was measured.
    :param least_slowdown: what is less times slower than its like is no suspect.
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
            f"over {rails[r]} of all nodes is {np.exp(effect):.2f} times slower than over the others: its switches?",
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
    """The median, of an even number the smaller of the middle two; NaN of none."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[(len(known) - 1) // 2]) if known.size else float("nan")


def _against_others(values: Floats) -> Floats:
    """Each less the middle of the others."""
    return np.array([value - _middle(np.delete(values, place)) for place, value in enumerate(values)])


def _spread(levels: Floats) -> float:
    """Of equal adapters, which may lie differently far from the cores; two or three do not tell."""
    return noise(levels) if len(levels) > 3 else 0.0


def _outstanding(effects: Floats, least: float, spread: float) -> list[tuple[NDArray[np.intp], float, float]]:
    """Place, effect and score of each that is too slow, and beyond the noise."""
    needed = least_score(effects.size)
    with np.errstate(invalid="ignore"):
        places = np.argwhere((effects >= least) & (effects / spread >= needed))
    return [(place, float(effects[tuple(place)]), float(effects[tuple(place)] / spread)) for place in places]


def _not_measured(quantity: str, nodes: Sequence[str], rails: Sequence[str], logs: Floats) -> list[Finding]:
    return [
        Finding("node", nodes[i], (nodes[i],), quantity, None, None, f"over {rails[r]} was not measured")
        for i, r in np.argwhere(~np.isfinite(logs))
    ]
