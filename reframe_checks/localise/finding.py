"""Findings: what a measurement says against a node, a link or a switch; slow nodes."""

import math
import statistics
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kappa.core.ground.spread import robust_deviation
from kappa.core.record.evidence import Finding

Floats = NDArray[np.float64]

# So many names are expected to be wrong in a run of healthy nodes with normal noise.
EXPECTED_FALSE = 0.01
# Noise is never taken to be smaller than this, in logarithms (2 %): a few samples may agree by chance.
NOISE_FLOOR = 0.02


def ranked(findings: list[Finding]) -> list[Finding]:
    """Sort findings: those without a measurement first, then by score."""
    return sorted(findings, key=lambda finding: -math.inf if finding.score is None else -finding.score)


def noise(values: Floats, floor: float = NOISE_FLOOR) -> float:
    """Robust standard deviation of the finite values, not below ``floor``, which it is without any."""
    deviation = robust_deviation(values)
    return deviation if deviation > floor else floor


def least_score(candidates: int) -> float:
    """The score that a healthy one of ``candidates`` exceeds ``EXPECTED_FALSE`` times a run (Bonferroni)."""
    return NormalDist().inv_cdf(1 - EXPECTED_FALSE / max(candidates, 1))


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


def slowest_share(speeds: Mapping[object, float]) -> float:
    """Return the least speed over the median one."""
    return min(speeds.values()) / statistics.median(speeds.values())
