"""Simulate nodes with a known fault or none, and count what learned bounds and nights find.

The code that judges a site's history judges them. With the default options, this takes half an hour.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from kappa.core.vocabulary.check_pages import as_markdown
from reports.history.dataset import MetricSeries
from reports.history.judgement import false_alarms_of, judge_all
from reports.history.robust_statistics import Array
from reports.learn.limits import RefusedError, healthy, learn_limits
from reports.learn.proposals import sensitivity_of
from tests.tables import Place, add_table

PLACE = Place("<!-- power: begin -->", "<!-- power: end -->")
SLOW_DOWNS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
NIGHTS_A_MONTH = 30
FALSE_ALARMS = 0.001
# Values that each bound is compared with.
_NEW = 2000
DAY_S = 86400.0
# A Monday, two o'clock in the morning.
_FIRST_S = 1_795_399_200.0
SLOW_NODE = "node0"

#: Noise with a standard deviation of 1; tails without one are scaled to the same width in the middle.
SHAPES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "heavy tails (t, 3 degrees of freedom)": lambda rng, size: rng.standard_t(3, size) / 1.13,
    "heavier tails (t, 2 degrees)": lambda rng, size: rng.standard_t(2, size) / 1.21,
    "skewed (lognormal, 0.5)": lambda rng, size: (rng.lognormal(0, 0.5, size) - 1) / 0.5,
}


@dataclass(frozen=True)
class Plan:
    """A simulated site. ``values``: of each metric of a node before the fault; ``spread``: standard deviation, a share.

    ``differ``: spread of the levels of healthy nodes, a share. ``weekend``: how much slower Saturdays and Sundays are
    without any fault, a share.
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


_SITE = Plan(nodes=4, checks=25)


class NoFacts:
    """Stand in for the history database, which knows no other changes here."""

    def changes(self, *_: object) -> list[str]:
        return []


def measured(plan: Plan, rng: np.random.Generator, nights: int, slow_down: float = 0.0) -> list[MetricSeries]:
    """Return the series of all nodes and checks: the nights of ``plan``, then ``nights`` with one node slower."""
    night = np.repeat(np.arange(plan.nights_before + nights), plan.repeats)
    times = _FIRST_S + night.astype(np.float64) * DAY_S
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
    """Return ``series`` as it was after ``night`` nights."""
    count = night * plan.repeats
    return replace(series, values=series.values[:count], times=series.times[:count], rows=series.rows[:count])


def blamed(series: Sequence[MetricSeries], rate: float | None = None) -> set[str]:
    """Return the nodes with a worse series; ``rate`` replaces the site's rate of false positives."""
    judged = judge_all(NoFacts(), series, rate or false_alarms_of(series))  # type: ignore[arg-type]
    return {one.series.nodes for one in judged if one.worse}


def found_within(plan: Plan, slow_down: float, nights: int, rng: np.random.Generator) -> int:
    """Return the night after the fault that finds its node, or 0 if none of ``nights`` does."""
    series = measured(plan, rng, nights, slow_down)
    for night in range(1, nights + 1):
        if SLOW_NODE in blamed([until(one, plan.nights_before + night, plan) for one in series]):
            return night
    return 0


def share_found(plan: Plan, slow_down: float, nights: int, trials: int, seed: int = 1) -> list[float]:
    """Return the share of ``trials`` that found the fault by the first, second, … night."""
    rng = np.random.default_rng(seed)
    when = np.array([found_within(plan, slow_down, nights, rng) for _ in range(trials)])
    return [float(np.mean((when > 0) & (when <= night))) for night in range(1, nights + 1)]


def false_alarms(plan: Plan, nights: int, rng: np.random.Generator, rate: float | None = None) -> int:
    """Count, on a healthy site, how often a night blames a node that the night before did not blame."""
    series = measured(plan, rng, nights)
    was: set[str] = blamed([until(one, plan.nights_before, plan) for one in series], rate)
    count = 0
    for night in range(1, nights + 1):
        now = blamed([until(one, plan.nights_before + night, plan) for one in series], rate)
        count += len(now - was)
        was = now
    return count


@dataclass(frozen=True)
class PowerOfBounds:
    """The power of learned bounds, all values as shares.

    ``refused``: of the samples; ``false``: of healthy values out of bounds; ``finds``: slow-down -> of slow values out
    of bounds; ``stated``, ``stated_week``: median stated slow-downs; ``kept``: of values slower by the stated
    slow-down of a run that are out of bounds.
    """

    refused: float
    false: float
    finds: dict[float, float]
    stated: float
    stated_week: float
    kept: float


def learned(plan: Plan, slow_downs: tuple[float, ...], trials: int, seed: int = 1) -> PowerOfBounds:
    """Learn bounds from ``trials`` samples of ``plan`` and compare new values of the same kind with them."""
    rng = np.random.default_rng(seed)
    false, stated, weeks, kept = [], [], [], []
    finds: dict[float, list[float]] = {slow_down: [] for slow_down in slow_downs}
    for _ in range(trials):
        (sample,) = measured(plan, rng, 0)
        try:
            usual = healthy(sample.values, sample.times)
            limits = learn_limits(usual, -1, FALSE_ALARMS)
        except RefusedError:
            continue
        (new,) = measured(replace(plan, values=_NEW, repeats=1), rng, 0)
        false.append(_below(new.values, limits.lower))
        for slow_down, shares in finds.items():
            shares.append(_below(new.values * (1 - slow_down), limits.lower))
        if seen := sensitivity_of(usual, limits, FALSE_ALARMS, len(usual.values), plan.repeats):
            stated.append(seen.in_a_run)
            weeks.append(seen.in_a_week)
            kept.append(_below(new.values * (1 - seen.in_a_run), limits.lower))
    return PowerOfBounds(
        1 - len(false) / trials, float(np.mean(false)), {one: float(np.mean(shares)) for one, shares in finds.items()},
        float(np.median(stated)), float(np.median(weeks)), float(np.mean(kept)),
    )  # fmt: skip


def _below(values: Array, bound: float) -> float:
    return float(np.mean(values < bound))


def tables(trials: int, months: int) -> str:
    """Return the tables of docs/power.md: ``trials`` of each share, ``months`` of each healthy site."""
    return "\n".join([
        f"Each share comes from {trials} simulated trials, each row of the last table from {months} months.", "",
        *_bounds(trials), "", *_shapes(trials), "", *_nights(trials), "", *_curves(trials), "", *_together(trials), "",
        *_healthy(months),
    ])  # fmt: skip


def _table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    return [f"**{title}**", "", as_markdown(tuple(row) for row in (header, *rows))]


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _bounds(trials: int) -> list[str]:
    """Return the share that a bound finds in one run, for each size of sample."""
    rows = []
    for values in (20, 60, 200):
        found = learned(Plan(values=values, repeats=1), SLOW_DOWNS, trials)
        rows.append([f"{values}", *(_share(found.finds[one]) for one in SLOW_DOWNS), _share(found.stated)])
    header = ["values learned from", *(f"{_share(one)} slower" for one in SLOW_DOWNS), "stated slow-down"]
    return _table("One run, spread 3 %: share found by the learned bound", header, rows)


def _shapes(trials: int) -> list[str]:
    rows = []
    plans = [(shape, Plan(shape=shape, repeats=1)) for shape in SHAPES]
    plans += [(f"weekends {_share(slower)} slower", Plan(weekend=slower, repeats=1)) for slower in (0.06, 0.1)]
    for values in (20, 60, 200):
        for name, plan in plans:
            if plan.weekend and values < 60:
                continue
            found = learned(replace(plan, values=values), (), trials)
            told = found.stated, found.kept, found.stated_week, found.refused, found.false
            rows.append([name, f"{values}", *map(_share, told)])
    header = [
        "noise, spread 3 %", "values", "stated for a run", "stated slow-down found in", "stated for a week",
        "samples refused", "healthy values out of bounds, once",
    ]  # fmt: skip
    return _table("Noise of other shapes, one value a night", header, rows)


def _nights(trials: int) -> list[str]:
    rows = []
    for values in (60, 180):
        for repeats in (1, 2, 3):
            shares = share_found(Plan(values=values, repeats=repeats), 0.05, 7, trials)
            rows.append([f"{values}", f"{repeats}", *map(_share, shares)])
    header = ["values before", "repeats a night", *(f"night {night}" for night in range(1, 8))]
    return _table("One metric, 5 % slower, spread 3 %: found by the first, second, … night", header, rows)


def _curves(trials: int) -> list[str]:
    slow_downs = SLOW_DOWNS[:7]
    rows = []
    for spread in (0.01, 0.03, 0.06):
        for repeats in (1, 2, 3):
            plan = Plan(repeats=repeats, spread=spread)
            shares = [share_found(plan, slow_down, 5, trials)[-1] for slow_down in slow_downs]
            rows.append([_share(spread), f"{repeats}", *map(_share, shares)])
    header = ["spread", "repeats a night", *(f"{_share(one)} slower" for one in slow_downs)]
    return _table("One metric, 60 values before: found within five nights", header, rows)


def _together(trials: int) -> list[str]:
    kinds = {
        "1 check, 2 repeats": Plan(repeats=2),
        "2 checks, 2 repeats": Plan(repeats=2, checks=2),
        "3 checks, 1 repeat": Plan(repeats=1, checks=3),
        "3 checks, 2 repeats": Plan(repeats=2, checks=3),
        "3 repeats, 8 nodes, no earlier values, healthy nodes alike": Plan(nodes=8, values=0),
        "3 repeats, 30 nodes, no earlier values, healthy nodes differ by 0.5 %": Plan(nodes=30, values=0, differ=0.005),
        "1 check, 3 repeats, weekends 6 % slower": Plan(values=90, weekend=0.06),
        **{f"1 check, 3 repeats, {shape}": Plan(shape=shape) for shape in list(SHAPES)[1:]},
    }
    rows = [[name, *map(_share, share_found(plan, 0.05, 5, trials))] for name, plan in kinds.items()]
    header = ["evidence", *(f"night {night}" for night in range(1, 6))]
    return _table("5 % slower, spread 3 %: evidence that adds up", header, rows)


def _healthy(months: int) -> list[str]:
    plans = {f"{repeats} repeat{'s' * (repeats > 1)}": replace(_SITE, repeats=repeats) for repeats in (1, 2, 3)}
    plans |= {f"3 repeats, {shape}": replace(_SITE, shape=shape) for shape in list(SHAPES)[1:]}
    plans["3 repeats, weekends 6 % slower"] = replace(_SITE, values=90, weekend=0.06)
    plans["3 repeats, nodes differ by 1 %"] = replace(_SITE, differ=0.01)
    rows = []
    for name, plan in plans.items():
        rng = np.random.default_rng(1)
        counts = [false_alarms(plan, NIGHTS_A_MONTH, rng) for _ in range(months)]
        rows.append([name, f"{np.mean(counts):.2f}", f"{most_a_month(sum(counts), months):.2f}"])
        print(": ".join(rows[-1]), file=sys.stderr, flush=True)
    header = ["nights", "false positives a month", "95 % upper bound"]
    return _table("A healthy site of 4 nodes with 25 metrics each: false positives", header, rows)


def most_a_month(alarms: int, months: int) -> float:
    """Return the one-sided 95 % upper bound of the rate per month (Garwood 1936), if alarms are independent."""
    return float(stats.chi2.ppf(0.95, 2 * (alarms + 1))) / 2 / months


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    parser.add_argument("--trials", type=int, default=400, metavar="N", help="trials of each figure (default: 400)")
    parser.add_argument("--months", type=int, default=12, metavar="N", help="months of a healthy site (default: 12)")
    add_table(parser)
    options = parser.parse_args()
    text = tables(options.trials, options.months)
    print(text)
    if options.table:
        PLACE.write(options.table, text)


if __name__ == "__main__":
    main()
