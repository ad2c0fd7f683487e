"""Chance that a retained figure gets the wrong verdict, from the spread of the accepted repeats.

Both the accepted and the new figure are statistics of noisy repeats. The noise is taken as normal, with the relative
standard deviation of the accepted repeats. The chances are simulated with a fixed seed, so a plan gives them again.
"""

import functools
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray
from scipy import special

from kappa.core.ground.figures import counted, figure
from kappa.core.ground.order_statistics import Statistic, value_of
from reports.acceptance.kinds.clause import ClauseVerdict

DRAWS = 200_000


def wrong_answers(accepted: ClauseVerdict, share: float) -> dict[str, Any] | None:
    """Return the chances for one accepted figure; ``None`` if fewer than two repeats or a mean of 0 show no spread.

    ``spread``: standard deviation of the repeats over their mean; ``most_spread``: its upper 95 % limit. ``chances``
    are (speed of the machine as a share of the accepted one, whether the wrong answer is *not met*, chance, chance at
    ``most_spread``).
    """
    statistic, at_least = accepted.clause.statistic, accepted.clause.comparison == "at_least"
    # The worst node decides, so its noise counts.
    worst = min if at_least else max
    by_repeat = itertools.groupby(accepted.samples, key=lambda sample: sample.repeat)
    values = [worst(sample.value for sample in samples) for _, samples in by_repeat]
    mean, free = statistics.fmean(values), len(values) - 1
    if not free or not mean:
        return None
    spread = statistics.stdev(values) / abs(mean)
    most = spread * math.sqrt(free / float(special.chdtri(free, 0.95)))
    chances = []
    for speed in sorted({1.0, min(1.0, share + 0.02), max(share - 0.02, share / 2)}, reverse=True):
        fails = [failing(statistic, len(values), at_least, noise, share, speed) for noise in (spread, most)]
        chances.append((speed, speed >= share, *(fails if speed >= share else (1 - chance for chance in fails))))
    repeats = {"repeats": len(values), "statistic": str(statistic)}
    return {"spread": spread, "most_spread": most, **repeats, "chances": chances}


def failing(statistic: Statistic, repeats: int, at_least: bool, spread: float, share: float, speed: float) -> float:
    """Return the chance that a machine at ``speed`` times the accepted one's speed does not keep ``share``.

    :param spread: relative standard deviation of a repeat.
    """
    before, now = 1 + spread * _noise(statistic, repeats, at_least)
    return float(numpy.mean(speed * now < share * before if at_least else share * now > speed * before))


@functools.cache
def _noise(statistic: Statistic, repeats: int, at_least: bool) -> NDArray[numpy.float64]:
    """Draw the statistic of standard normal repeats, for both runs.

    The k-th of n uniform values has the law Beta(k, n + 1 - k) (David and Nagaraja 2003, Order Statistics, 2.3).
    """
    random = numpy.random.default_rng(seed=40)
    rank = value_of(statistic, range(1, repeats + 1), at_least)
    lower = math.floor(rank)
    shares = random.beta(lower, repeats + 1 - lower, (2, DRAWS))
    noise = special.ndtri(shares)
    if lower < rank:
        # The median of an even number is the mean of two; the upper one is the lowest of those above the lower one.
        upper = shares + (1 - shares) * random.beta(1, repeats - lower, (2, DRAWS))
        noise = (noise + special.ndtri(upper)) / 2
    return numpy.asarray(noise)


def described(answers: dict[str, Any] | None) -> str:
    """Return the chances for one figure in words."""
    if answers is None:
        return "the repeats show no spread: the chance is unknown"
    chances = ", ".join(
        f"{figure(100 * speed)} % {'fails' if fails else 'passes'} in {_percent(chance)} ({_percent(most)})"
        for speed, fails, chance, most in answers["chances"]
    )
    return (
        f"{answers['statistic']} of {counted(answers['repeats'], 'repeat')}, spread "
        f"{figure(100 * answers['spread'], 2)} % (95 % limit {figure(100 * answers['most_spread'], 2)} %): "
        f"a machine at {chances}"
    )


def any_of(known: Sequence[dict[str, Any]]) -> str:
    """Return in words how often an unchanged machine fails one of the figures, if their noise is independent."""
    chance, most = (1 - math.prod(1 - answers["chances"][0][column] for answers in known) for column in (2, 3))
    return f"{_percent(chance)} ({_percent(most)})"


def _percent(chance: float) -> str:
    return f"{figure(100 * chance, 2)} %" if chance * DRAWS >= 20 else "< 0.01 %"
