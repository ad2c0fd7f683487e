"""Findings: evidence of a measurement against a node, a link or a switch; and the search for slow nodes."""

import math
import statistics
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kappa.core.ground.spread import robust_deviation
from kappa.core.record.evidence import Finding

Floats = NDArray[np.float64]

# Expected number of false positives in a run of healthy nodes with normal noise.
EXPECTED_FALSE = 0.01
# Lower limit of the noise, in logarithms (2 %): a few samples may agree by chance.
NOISE_FLOOR = 0.02


def ranked(findings: list[Finding]) -> list[Finding]:
    """Sort findings: those without a measurement first, then by score."""
    return sorted(findings, key=lambda finding: -math.inf if finding.score is None else -finding.score)


def noise(values: Floats, floor: float = NOISE_FLOOR) -> float:
    """Return the robust standard deviation of the finite values; at least ``floor``, also without values."""
    deviation = robust_deviation(values)
    return deviation if deviation > floor else floor


def least_score(candidates: int) -> float:
    """Return the score that healthy ones of ``candidates`` exceed ``EXPECTED_FALSE`` times per run (Bonferroni)."""
    return NormalDist().inv_cdf(1 - EXPECTED_FALSE / max(candidates, 1))


def suspects_of_nodes(quantity: str, speeds: Mapping[str, float], *, least_slowdown: float) -> list[Finding]:
    """Return ranked findings: nodes whose robust z-score and whose slow-down are both too large.

    The score alone would name a node of very equal machines for 0.1 %; the slow-down alone would name a node of noisy
    machines for their noise. (Score: Iglewicz & Hoaglin 1993; here in logarithms, because speeds scatter by factors.)

    :param speeds: node -> speed above 0, larger is faster.
    :param least_slowdown: a node is a suspect only if it is at least this factor slower than the median node.
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
    """Return the least speed divided by the median speed."""
    return min(speeds.values()) / statistics.median(speeds.values())
