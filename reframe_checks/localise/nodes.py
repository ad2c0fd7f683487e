"""Which node is slower than the others: one figure for each node, held against the median node."""

from collections.abc import Mapping

import numpy as np

from reframe_checks.localise.finding import Finding, least_score, noise, ranked


def suspects_of_nodes(quantity: str, speeds: Mapping[str, float], *, least_slowdown: float) -> list[Finding]:
    """Ranked findings: nodes whose robust z-score and whose slowdown are both too large.

    The score alone would name a node of equal machines for a per mille, the slowdown alone one of noisy machines for
    their noise (Iglewicz & Hoaglin 1993 on the score; here in logarithms, as speeds scatter by factors).

    :param speeds: above 0, larger is faster.
    :param least_slowdown: what is less times slower than the median node is no suspect.
    """
    slowness = -np.log(np.array(list(speeds.values())))
    effects = slowness - np.median(slowness)
    scores = effects / noise(effects)
    needed = least_score(len(speeds))
    return ranked(
        [
            Finding(
                "node", node, (node,), quantity, float(score), float(np.exp(effect)),
                f"{np.exp(effect):.2f} times slower than the median of {len(speeds)} nodes",
            )
            for node, effect, score in zip(speeds, effects, scores, strict=True)
            if effect >= np.log(least_slowdown) and score >= needed
        ]
    )  # fmt: skip
