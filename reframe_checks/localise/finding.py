"""What a measurement says against a node, a link or a switch."""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kappa.core.record.evidence import Finding

Floats = NDArray[np.float64]

# So many names are expected to be wrong in a run of healthy nodes with normal noise.
EXPECTED_FALSE = 0.01
# Noise is never taken to be smaller than this, in logarithms (2 %): a few samples may agree by chance.
NOISE_FLOOR = 0.02


def ranked(findings: list[Finding]) -> list[Finding]:
    """What could not be measured first, then by score."""
    return sorted(findings, key=lambda finding: -math.inf if finding.score is None else -finding.score)


def noise(values: Floats) -> float:
    """Robust standard deviation (1.4826 times the median absolute deviation), not below the floor."""
    known = values[np.isfinite(values)]
    if not known.size:
        return NOISE_FLOOR
    return max(1.4826 * float(np.median(np.abs(known - np.median(known)))), NOISE_FLOOR)


def least_score(candidates: int) -> float:
    """The score that a healthy one of ``candidates`` exceeds ``EXPECTED_FALSE`` times a run (Bonferroni)."""
    return NormalDist().inv_cdf(1 - EXPECTED_FALSE / max(candidates, 1))
