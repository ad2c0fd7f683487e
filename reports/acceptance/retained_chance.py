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
from kappa.core.sites.contract import Statistic
from numpy.typing import NDArray
from scipy import special

from kappa.core.ground.figures import counted, figure
from reports.acceptance.judge import ClauseVerdict

DRAWS = 200_000
SEED = 40
#: Distance of the stated machines from the share.
_STEP = 0.02
# Confidence of the one-sided upper limit of the spread.
_CONFIDENCE = 0.95
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
        words = ", ".join(
            f"{figure(100 * speed)} % {'fails' if fails else 'passes'} in {_percent(chance)} ({_percent(most)})"
            for speed, fails, chance, most in self.chances
        )
        return (
            f"{self.statistic} of {counted(self.repeats, 'repeat')}, spread {figure(100 * self.spread, 2)} % "
            f"(95 % limit {figure(100 * self.most_spread, 2)} %): a machine at {words}"
        )


def wrong_answers(accepted: ClauseVerdict, share: float) -> WrongAnswers | None:
    """Return the chances for one accepted figure; ``None`` if fewer than two repeats or a mean of 0 show no spread."""
    clause = accepted.clause
    at_least = clause.comparison == "at_least"
    by_repeat: dict[int, list[float]] = {}
    for sample in accepted.samples:
        by_repeat.setdefault(sample.repeat, []).append(sample.value)
    # The worst node decides, so its noise counts.
    values = [min(one) if at_least else max(one) for one in by_repeat.values()]
    mean = statistics.fmean(values)
    if len(values) < 2 or not mean:
        return None
    spread = statistics.stdev(values) / abs(mean)
    free = len(values) - 1
    most = spread * math.sqrt(free / (2 * float(special.gammaincinv(free / 2, 1 - _CONFIDENCE))))
    kind = clause.statistic
    if kind.kind == "every_node":
        kind = Statistic("minimum" if at_least else "maximum")

    def chance_of(speed: float, noise: float) -> float:
        chance = failing(kind, len(values), at_least, noise, share, speed)
        return chance if speed >= share else 1 - chance

    speeds = sorted({1.0, min(1.0, share + _STEP), max(share - _STEP, share / 2)}, reverse=True)
    chances = tuple((speed, speed >= share, chance_of(speed, spread), chance_of(speed, most)) for speed in speeds)
    return WrongAnswers(spread, most, len(values), str(clause.statistic), chances)


def failing(
    statistic: Statistic, repeats: int, at_least: bool, spread: float, share: float, speed: float
) -> float:
    """Return the chance that a machine at ``speed`` times the accepted one's speed does not keep ``share``.

    :param spread: relative standard deviation of a repeat.
    """
    before, now = (1 + spread * noise for noise in _noise(statistic, repeats))
    failed = speed * now < share * before if at_least else share * now > speed * before
    return float(numpy.mean(failed))


@functools.cache
def _noise(statistic: Statistic, repeats: int) -> NDArray[numpy.float64]:
    """Draw the statistic of standard normal repeats for both runs. Order statistics of uniforms have a beta law."""
    random = numpy.random.default_rng(SEED)
    shape = (2, DRAWS)

    def drawn(rank: int) -> NDArray[numpy.float64]:
        return random.beta(rank, repeats + 1 - rank, shape)

    match statistic.kind:
        case "minimum":
            uniform = drawn(1)
        case "maximum":
            uniform = drawn(repeats)
        case "percentile":
            uniform = drawn(max(1, math.ceil(repeats * statistic.percentile / 100)))
        case _ if repeats % 2:
            uniform = drawn((repeats + 1) // 2)
        case _:
            half = repeats // 2
            upper = drawn(half + 1)
            # Below the upper of the two middle ones, the others are uniform.
            lower = upper * random.beta(half, 1, shape)
            return numpy.asarray(special.ndtri(lower) + special.ndtri(upper)) / 2
    return numpy.asarray(special.ndtri(uniform))


def any_of(figures: Sequence[WrongAnswers]) -> str:
    """Return in words how often an unchanged machine fails one of the figures, if their noise is independent."""
    kept = math.prod(1 - figure.chances[0][2] for figure in figures)
    most = math.prod(1 - figure.chances[0][3] for figure in figures)
    return f"{_percent(1 - kept)} ({_percent(1 - most)})"


def _percent(chance: float) -> str:
    return f"{figure(100 * chance, 2)} %" if chance * DRAWS >= 20 else "< 0.01 %"
