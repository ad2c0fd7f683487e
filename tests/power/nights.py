"""Nights of nodes with a known fault or none, judged as a site's history is, and how often that finds it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports.history.dataset import MetricSeries
from reports.history.judgement import false_alarms_of, judge_all
from reports.history.robust_statistics import Array

DAY_S = 86400.0
# A Monday, two o'clock in the morning.
_FIRST_S = 1_795_399_200.0
SLOW_NODE = "node0"

#: Noise with a standard deviation of 1, or, where tails have none, as wide as that in the middle.
SHAPES = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "heavy tails (t, 3 degrees of freedom)": lambda rng, size: rng.standard_t(3, size) / 1.13,
    "heavier tails (t, 2 degrees)": lambda rng, size: rng.standard_t(2, size) / 1.21,
    "skewed (lognormal, 0.5)": lambda rng, size: (rng.lognormal(0, 0.5, size) - 1) / 0.5,
}


@dataclass(frozen=True)
class Plan:
    """``values`` of each metric of a node before the fault; ``differ``, a share, is by how much sound nodes do.

    ``weekend``: by how much Saturdays and Sundays are slower, without any fault.
    """

    nodes: int = 1
    checks: int = 1
    values: int = 60
    repeats: int = 3
    spread: float = 0.03
    shape: str = "normal"
    differ: float = 0.0
    weekend: float = 0.0

    @property
    def nights_before(self) -> int:
        return self.values // self.repeats


class NoFacts:
    """In place of the database, which would be asked what else changed."""

    def changes(self, *_: object) -> list[str]:
        return []


def measured(plan: Plan, rng: np.random.Generator, nights: int, slow_down: float = 0.0) -> list[MetricSeries]:
    """The series of all nodes and checks, with so many ``nights`` after those before, slower on one node in them."""
    night = np.repeat(np.arange(plan.nights_before + nights), plan.repeats)
    times = _FIRST_S + night * DAY_S
    usual = 100 * np.where(night % 7 >= 5, 1 - plan.weekend, 1.0)
    found = []
    for node in range(plan.nodes):
        faulty = np.where(night >= plan.nights_before, 1 - slow_down, 1.0) if node == 0 else 1.0
        for check in range(plan.checks):
            noise = SHAPES[plan.shape](rng, len(night))
            level = usual * faulty * (1 + plan.differ * rng.standard_normal())
            found.append(_series(f"Check{check}", f"node{node}", level * (1 + plan.spread * noise), times))
    return found


def _series(check: str, node: str, values: Array, times: Array) -> MetricSeries:
    rows = tuple(f"{time:.0f}:0" for time in times)
    return MetricSeries(
        check, check, "rate", "cpu", "simulated", node, "MB/s", -np.inf, np.inf, "compute", False, values, times, rows
    )


def until(series: MetricSeries, night: int, plan: Plan) -> MetricSeries:
    """``series`` as it was after so many nights."""
    count = night * plan.repeats
    return replace(series, values=series.values[:count], times=series.times[:count], rows=series.rows[:count])


def blamed(series: Sequence[MetricSeries], rate: float | None = None) -> set[str]:
    """The nodes of which a series alarms, at a rate of false alarms other than a site's when there is one."""
    judged = judge_all(NoFacts(), series, rate or false_alarms_of(series))  # type: ignore[arg-type]
    return {one.series.nodes for one in judged if one.worse}


def found_within(plan: Plan, slow_down: float, nights: int, rng: np.random.Generator) -> int:
    """In which night after the fault its node is found, or 0 when not within ``nights``."""
    series = measured(plan, rng, nights, slow_down)
    for night in range(1, nights + 1):
        if SLOW_NODE in blamed([until(one, plan.nights_before + night, plan) for one in series]):
            return night
    return 0


def share_found(plan: Plan, slow_down: float, nights: int, trials: int, seed: int = 1) -> list[float]:
    """The share of ``trials`` in which the fault was found by the first, second, … night."""
    rng = np.random.default_rng(seed)
    when = np.array([found_within(plan, slow_down, nights, rng) for _ in range(trials)])
    return [float(np.mean((when > 0) & (when <= night))) for night in range(1, nights + 1)]


def false_alarms(plan: Plan, nights: int, rng: np.random.Generator, rate: float | None = None) -> int:
    """How often a node is blamed that was not the night before, on a healthy site."""
    series = measured(plan, rng, nights)
    was: set[str] = blamed([until(one, plan.nights_before, plan) for one in series], rate)
    count = 0
    for night in range(1, nights + 1):
        now = blamed([until(one, plan.nights_before + night, plan) for one in series], rate)
        count += len(now - was)
        was = now
    return count
