"""Which of two leaf switches has slow nodes. There is no third to say what is usual, and with few nodes one fast pair
among slow ones looks like one slow pair among fast ones; but nothing is faster than its cause: a node whose fastest
pair is slow is slow itself, or on a slow switch."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, least_score, noise


def slow_one_of_two(
    quantity: str,
    nodes: Sequence[str],
    logs: Floats,
    members: Mapping[str, NDArray[np.intp]],
    *,
    least: float,
    slow_share: float,
) -> list[Finding]:
    """The switch whose nodes are slow to all others and to each other, or none.

    :param logs: n x n, symmetric, logarithms of a time; NaN where nothing was measured.
    :param members: the nodes of each of the two leaf switches.
    :param least: effects below this are none.
    :param slow_share: of the nodes of a switch that have to be slow.
    """
    best = np.min(np.where(np.isfinite(logs), logs, np.inf), axis=1)
    effects = {label: float(np.median(best[inside])) for label, inside in members.items()}
    healthy, slow = sorted(effects, key=lambda label: effects[label])
    effect = effects[slow] - effects[healthy]
    spread = noise(np.concatenate([best[members[label]] - effects[label] for label in members]))
    share = float(np.mean(best[members[slow]] - effects[healthy] >= least))
    if not np.isfinite(effect) or effect < least or effect / spread < least_score(2) or share < slow_share:
        return []
    return [
        Finding(
            "switch", slow, tuple(nodes[i] for i in members[slow]), quantity, effect / spread, float(np.exp(effect)),
            f"the fastest pairs of its {len(members[slow])} nodes are typically {np.exp(effect):.2f} times slower than "
            f"those of {healthy}",
        )
    ]  # fmt: skip
