"""Chance that a retained figure gets the wrong verdict, from the spread of the accepted repeats.

Both the accepted and the new figure are statistics of noisy repeats. The noise is taken as normal, with the relative
standard deviation of the accepted repeats. The chances are simulated with a fixed seed, so a plan gives them again.
"""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from scipy import special

from kappa.core.ground.figures import counted, figure
from kappa.core.ground.order_statistics import Statistic
from reports.acceptance.kinds.clause import ClauseVerdict

DRAWS = 200_000
# Draws at once: a thousand repeats fit in memory.
_BLOCK = 2_000
METHOD = (
    f"chances: simulated, {DRAWS} seeded draws of both runs; normal noise with the spread of the accepted repeats, "
    "in brackets with its limit"
)


@dataclass(frozen=True)
class WrongAnswers:
    """``spread``: standard deviation of the accepted repeats over their mean; ``most_spread``: its upper 95 % limit.

    ``chances`` are (speed, fails, chance, chance at ``most_spread``): speed of the machine as a share of the accepted
    one; whether the wrong answer is *not met*.
    """

    spread: float
    most_spread: float
    repeats: int
    statistic: str
    chances: tuple[tuple[float, bool, float, float], ...]

    def __str__(self) -> str:
        chances = ", ".join(
            f"{figure(100 * speed)} % {'fails' if fails else 'passes'} in {_percent(chance)} ({_percent(most)})"
            for speed, fails, chance, most in self.chances
        )
        return (
            f"{self.statistic} of {counted(self.repeats, 'repeat')}, spread {figure(100 * self.spread, 2)} % "
            f"(95 % limit {figure(100 * self.most_spread, 2)} %): a machine at {chances}"
        )


def wrong_answers(accepted: ClauseVerdict, share: float) -> WrongAnswers | None:
    """Return the chances for one accepted figure; ``None`` if fewer than two repeats or a mean of 0 show no spread."""
    statistic, at_least = accepted.clause.statistic, accepted.clause.comparison == "at_least"
    by_repeat: dict[int, list[float]] = {}
    for sample in accepted.samples:
        by_repeat.setdefault(sample.repeat, []).append(sample.value)
    # The worst node decides, so its noise counts.
    values = [min(nodes) if at_least else max(nodes) for nodes in by_repeat.values()]
    if len(values) < 2 or not statistics.fmean(values):
        return None
    spread, free = statistics.stdev(values) / abs(statistics.fmean(values)), len(values) - 1
    most = spread * math.sqrt(free / float(special.chdtri(free, 0.95)))

    def chance(speed: float, noise: float) -> float:
        fails = failing(statistic, len(values), at_least, noise, share, speed)
        return fails if speed >= share else 1 - fails

    speeds = sorted({1.0, min(1.0, share + 0.02), max(share - 0.02, share / 2)}, reverse=True)
    chances = tuple((speed, speed >= share, chance(speed, spread), chance(speed, most)) for speed in speeds)
    return WrongAnswers(spread, most, len(values), str(statistic), chances)


def failing(statistic: Statistic, repeats: int, at_least: bool, spread: float, share: float, speed: float) -> float:
    """Return the chance that a machine at ``speed`` times the accepted one's speed does not keep ``share``.

    :param spread: relative standard deviation of a repeat.
    """
    before, now = 1 + spread * _noise(statistic, repeats, at_least)
    return float(numpy.mean(speed * now < share * before if at_least else share * now > speed * before))


@functools.cache
def _noise(statistic: Statistic, repeats: int, at_least: bool) -> NDArray[numpy.float64]:
    """Draw the statistic of standard normal repeats, for both runs."""
    random = numpy.random.default_rng(seed=40)

    def drawn() -> NDArray[numpy.float64]:
        draws = random.standard_normal((2, _BLOCK, repeats))
        if statistic.kind == "median":
            return numpy.median(draws, axis=2)
        if statistic.kind == "percentile":
            return numpy.percentile(draws, statistic.percentile, axis=2, method="inverted_cdf")
        lowest = statistic.kind == "minimum" or (statistic.kind == "every_node" and at_least)
        return draws.min(axis=2) if lowest else draws.max(axis=2)

    return numpy.concatenate([drawn() for _ in range(DRAWS // _BLOCK)], axis=1)


def any_of(figures: Sequence[WrongAnswers]) -> str:
    """Return in words how often an unchanged machine fails one of the figures, if their noise is independent."""
    kept = math.prod(1 - answers.chances[0][2] for answers in figures)
    most = math.prod(1 - answers.chances[0][3] for answers in figures)
    return f"{_percent(1 - kept)} ({_percent(1 - most)})"


def _percent(chance: float) -> str:
    return f"{figure(100 * chance, 2)} %" if chance * DRAWS >= 20 else "< 0.01 %"
