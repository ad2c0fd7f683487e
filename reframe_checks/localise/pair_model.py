"""Each pair's slowness as the sum of what its two nodes add, robustly fitted; what is left is the link's own.

    log(time of i-j) = level + node_i + node_j + crossing_ij * distance + link_ij

``crossing`` is 1 where the nodes are on different leaf switches. Nodes and links are like their kind unless the
figures say otherwise, so both count with Huber's loss: a few large faults do not move the rest (Huber 1964). It is
minimised by iteratively reweighted least squares; the normal equations have one row for each node, not for each
pair, so that a thousand nodes take seconds. The pull of a node towards the median node, and of the distance to none,
weighs as much as one pair; it decides between one slow link and several fast ones where few nodes leave that open.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Floats, noise

# Of Huber's loss: 95 % efficient with normal noise.
HUBER = 1.345
ITERATIONS, TOLERANCE = 100, 1e-6


@dataclass(frozen=True)
class PairFit:
    """Natural logarithms, above 0 is slower. ``node`` (n) is relative to the median node; ``link`` (n x n,
    symmetric) is what the nodes do not explain, NaN where nothing was measured; ``typical`` what a pair of median
    nodes takes within a switch."""

    typical: float
    node: Floats
    link: Floats


def fit(slowness: Floats, crossing: NDArray[np.bool_] | None = None) -> PairFit:
    """
    :param slowness: n x n, symmetric, the logarithm of a time (or of 1 / bandwidth); NaN where unknown.
    :param crossing: n x n, which pairs are on different switches.
    :raises ValueError: fewer than three nodes, which no pair can be told apart with.
    """
    n = len(slowness)
    if n < 3:
        raise ValueError("nodes can be told apart from three nodes up")
    known = np.isfinite(slowness) & ~np.eye(n, dtype=bool)
    y = np.where(known, slowness, 0.0)
    z = np.where(known & crossing, 1.0, 0.0) if crossing is not None else np.zeros((n, n))
    # A distance that all pairs have, or none, is part of the level.
    distant = bool(z.any() and (known & (z == 0)).any())
    half, distance = _start(np.where(known, slowness, np.nan)), 0.0
    for _ in range(ITERATIONS):
        residual = np.where(known, y - half[:, None] - half[None, :] - distance * z, np.nan)
        centre = float(np.median(half))
        # The residuals' own noise sets where the loss turns linear, for nodes and links alike.
        knee = HUBER * noise(residual)
        weight = np.where(known, knee / np.maximum(np.abs(np.where(known, residual, 0)), knee), 0)
        pull = knee / np.maximum(np.abs(half - centre), knee)
        matrix = weight + np.diag(weight.sum(axis=1) + pull)
        right = (weight * y).sum(axis=1) + pull * centre
        if distant:
            column = (weight * z).sum(axis=1)
            corner = (weight * z).sum() / 2 + knee / max(abs(distance), knee)
            matrix = np.block([[matrix, column[:, None]], [column[None, :], np.array([[corner]])]])
            right = np.append(right, (weight * z * y).sum() / 2)
        solution = np.linalg.solve(matrix, right)
        moved = float(np.max(np.abs(solution[:n] - half)))
        half, distance = solution[:n], float(solution[n]) if distant else 0.0
        if moved < TOLERANCE:
            break
    centre = float(np.median(half))
    link = np.where(known, y - half[:, None] - half[None, :] - distance * z, np.nan)
    return PairFit(typical=2 * centre, node=half - centre, link=link)


def _start(slowness: Floats) -> Floats:
    """The median of each node's pairs less half of the median of all: already right with few faults."""
    level = float(np.nanmedian(slowness)) if np.isfinite(slowness).any() else 0.0
    medians = [np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else level for row in slowness]
    return np.array(medians) - level / 2
