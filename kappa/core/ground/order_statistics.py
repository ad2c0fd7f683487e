"""Compute statistics over repeats and their confidence, without an assumption on the distribution."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import figure

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Statistic:
    """``kind`` is median, minimum, maximum, percentile or every_node, or another title; ``percentile`` in per cent."""

    kind: str
    percentile: float = math.nan
    nodes: int = 0

    def __str__(self) -> str:
        if self.kind == "percentile":
            return f"{self.percentile:g}th percentile"
        return f"each of {self.nodes} nodes" if self.kind == "every_node" else self.kind


@dataclass(frozen=True)
class Interval:
    """Hold an interval in the samples' unit, or ``None`` without one; ``method`` states method and confidence."""

    low: float | None
    high: float | None
    method: str


def value_of(statistic: Statistic, values: Sequence[float], at_least: bool) -> float:
    """Return the statistic of one or more finite ``values``; for every node, the worst value.

    A percentile is the nearest rank, so it is an order statistic (Hyndman and Fan 1996, definition 1).
    """
    ordered = sorted(values)
    match statistic.kind:
        case "median":
            return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        case "percentile":
            return ordered[max(0, math.ceil(len(ordered) * statistic.percentile / 100) - 1)]
        case "minimum":
            return ordered[0]
        case "maximum":
            return ordered[-1]
        case _:
            return ordered[0] if at_least else ordered[-1]


def interval_of(statistic: Statistic, values: Sequence[float]) -> Interval:
    """Return the confidence interval of the statistic.

    - Median and percentile: the narrowest pair of order statistics that covers the population's value with
      ``CONFIDENCE`` (David and Nagaraja 2003, Order Statistics, 7.1). With too few samples the pair spans all samples
      and has the confidence that they give.
    - Minimum and maximum: no interval. The tolerance limit of Wilks (1941) gives the share of all runs that they bound.
    """
    match statistic.kind:
        case "median":
            return _order_statistics(sorted(values), 0.5)
        case "percentile":
            return _order_statistics(sorted(values), statistic.percentile / 100)
        case "every_node":
            return Interval(None, None, "every node was measured in every repeat; the worst value decides")
        case kind:
            share = math.floor(100 * (1 - CONFIDENCE) ** (1 / len(values)))
            side = "below" if kind == "minimum" else "above"
            sure = f"95 % confidence that at least {share} % of all runs are not {side} it (Wilks)"
            return Interval(None, None, sure)


def _order_statistics(ordered: Sequence[float], quantile: float) -> Interval:
    count = len(ordered)
    if count == 1:
        return Interval(None, None, "one sample gives no interval")
    below = [0.0, *itertools.accumulate(_binomial(count, k, quantile) for k in range(count + 1))]
    # The quantile lies between the order statistics i and j when i to j - 1 samples are below it.
    pairs = [(j - i, -(below[j] - below[i]), i, j) for i in range(1, count + 1) for j in range(i + 1, count + 1)]
    sure = [pair for pair in pairs if -pair[1] >= CONFIDENCE]
    if sure:
        _, negative, low, high = min(sure)
        coverage = -negative
    else:
        low, high, coverage = 1, count, max(0.0, below[count] - below[1])
    return Interval(
        ordered[low - 1],
        ordered[high - 1],
        f"{figure(100 * coverage, 3)} % confidence, order statistics {low} and {high} of {count}",
    )


def _binomial(count: int, successes: int, probability: float) -> float:
    """Return a binomial probability by logarithms, because the coefficient of a thousand samples exceeds a double."""
    log_ways = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
    return math.exp(log_ways + successes * math.log(probability) + (count - successes) * math.log1p(-probability))
