"""What each node and leaf switch adds to the slowness of its pairs, from a sample of these pairs.

    log(time of i-j) = level + node_i + node_j

Pairs within leaf switches and between them have a level and effects of their own.

A node's effect is the lower quartile of what its pairs take beyond the level and beyond their other nodes: nothing is
faster than its cause, and a pair is often slow because others use the same links at that time. Effects are found in
turns, from none; a fault is rare among the partners of a node, so a few turns suffice. Everything is a table with a row
for each node and a column for each round, so that time and memory grow with the pairs measured.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Floats

QUARTILE = 0.25
TURNS = 4
# Of fewer partners within its leaf switch a node is not told from them.
LEAST_WITHIN = 3

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rounds:
    """n x rounds: with whom each node was measured, and the logarithm of the time, NaN where it was idle."""

    partner: NDArray[np.int32]
    logs: NDArray[np.float32]

    @classmethod
    def of(cls, nodes: int, rounds: int, round_of: Ints, first: Ints, second: Ints, logs: Floats) -> "Rounds":
        """From the pairs of all rounds; each node is in one of a round at most."""
        partner = np.zeros((nodes, rounds), dtype=np.int32)
        table = np.full((nodes, rounds), np.nan, dtype=np.float32)
        for here, there in ((first, second), (second, first)):
            partner[here, round_of] = there
            table[here, round_of] = logs
        return cls(partner, table)


@dataclass(frozen=True)
class SampleFit:
    """Natural logarithms, above 0 is slower than the typical node. ``within`` and ``between`` (n) are a node's effects
    on pairs within its leaf switch and all others, NaN where too few were measured; ``residual`` (n x rounds) is
    what both nodes do not explain of pairs between leaf switches, NaN for others."""

    level_within: float
    level_between: float
    within: Floats
    between: Floats
    residual: NDArray[np.float32]


def fit(rounds: Rounds, leaf: Ints) -> SampleFit:
    """:param leaf: the number of each node's leaf switch; below 0 where it is on none that is known."""
    inside = (leaf[:, None] >= 0) & (leaf[rounds.partner] == leaf[:, None])
    level_within, within, _ = _effects(rounds, inside, LEAST_WITHIN)
    level_between, between, residual = _effects(rounds, ~inside, 1)
    return SampleFit(level_within, level_between, within, between, residual)


def _effects(rounds: Rounds, chosen: NDArray[np.bool_], least: int) -> tuple[float, Floats, NDArray[np.float32]]:
    logs = np.where(chosen, rounds.logs, np.float32(np.nan))
    known = logs[np.isfinite(logs)]
    level = float(np.median(known)) if known.size else np.nan
    enough = np.isfinite(logs).sum(axis=1) >= least
    effects = np.zeros(len(logs), dtype=np.float32)
    for _ in range(TURNS if known.size else 0):
        effects = _lower_quartiles(logs - np.float32(level) - effects[rounds.partner])
        effects = np.nan_to_num(effects - np.float32(np.nanmedian(effects)))
    residual = logs - np.float32(level) - effects[rounds.partner] - effects[:, None]
    if known.size:  # of two typical nodes, also where many pairs have one that is not
        typical = np.float32(np.nanmedian(residual))
        level, residual = level + float(typical), residual - typical
    return level, np.where(enough, effects.astype(float), np.nan), residual


def _lower_quartiles(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of the figures in each row; NaN where there are none."""
    ordered = np.sort(table, axis=1)  # NaN last
    count = np.isfinite(ordered).sum(axis=1)
    place = np.floor(QUARTILE * np.maximum(count - 1, 0)).astype(np.int64)
    return np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
