"""By how much a figure changed, and how sure that is: logarithms, so that half and double are equally far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.compare.figures import Sample

CONFIDENCE = 0.95
# What a few runs were alike by chance is no certainty.
LEAST_DEVIATION = 0.005
# Nodes that both runs measured, each against itself.
LEAST_PAIRS = 3


@dataclass(frozen=True)
class Noise:
    """What earlier runs say of a figure: the standard deviation of its logarithm, of so many degrees of freedom."""

    deviation: float
    freedom: int


@dataclass(frozen=True)
class Change:
    """Shares: 0.1 is ten per cent more than before. ``low`` and ``high`` hold the change with 95 %, ``None`` where one
    value stands against one and nothing says how much it varies; ``p`` is how often a mere variation is as large."""

    share: float
    low: float | None = None
    high: float | None = None
    p: float = 1.0


def noise_of(values: Sequence[float]) -> Noise | None:
    """Of one value of each run; ``None`` with fewer than three."""
    if len(values) < 3 or min(values) <= 0:
        return None
    return Noise(max(float(np.std(np.log(values), ddof=1)), LEAST_DEVIATION), len(values) - 1)


def change(before: Sequence[Sample], after: Sequence[Sample], noise: Noise | None = None) -> Change | None:
    """From ``before`` to ``after``; ``None`` where a ratio says nothing, at values of 0 and below.

    The interval follows from the nodes that both measured, or else from the values of each side where both have
    several, or else from the ``noise`` between earlier runs.
    """
    if not before or not after or min(sample.value for sample in (*before, *after)) <= 0:
        return None
    pairs = _pairs(before, after)
    if len(pairs) >= LEAST_PAIRS:
        return _estimated(float(np.mean(pairs)), float(np.std(pairs, ddof=1)) / math.sqrt(len(pairs)), len(pairs) - 1)
    one, other = (np.log([sample.value for sample in side]) for side in (before, after))
    step = float(other.mean() - one.mean())
    if min(len(one), len(other)) >= 2:
        parts = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
        return _estimated(step, math.sqrt(sum(parts)), _welch(parts, (len(one) - 1, len(other) - 1)))
    if noise:
        return _estimated(step, noise.deviation * math.sqrt(1 / len(one) + 1 / len(other)), noise.freedom)
    return Change(math.expm1(step))


def _pairs(before: Sequence[Sample], after: Sequence[Sample]) -> list[float]:
    """The logarithm of each node's ratio, of nodes that each side measured once by themselves."""
    sides = [{sample.nodes: sample.value for sample in side if len(sample.nodes) == 1} for side in (before, after)]
    if any(len(values) < len(side) for values, side in zip(sides, (before, after), strict=True)):
        return []
    return [math.log(sides[1][node] / value) for node, value in sides[0].items() if node in sides[1]]


def _welch(parts: tuple[float, float], freedom: tuple[int, int]) -> float:
    """Degrees of freedom by Welch and Satterthwaite."""
    whole = sum(parts)
    return whole**2 / sum(part**2 / free for part, free in zip(parts, freedom, strict=True)) if whole else sum(freedom)


def _estimated(step: float, error: float, freedom: float) -> Change:
    from scipy import special  # noqa: PLC0415 (what a page without an earlier run need not load)

    reach = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2 * float(special.stdtr(freedom, -abs(step) / error)) if error else float(step == 0)
    return Change(math.expm1(step), math.expm1(step - reach), math.expm1(step + reach), p)
