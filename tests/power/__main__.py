"""Command line: ``python -m tests.power``."""

import argparse
import pathlib
import sys
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import stats

from kappa.core.ground.whole_files import write_atomically
from tests.power.bounds import learned
from tests.power.nights import SHAPES, Plan, false_alarms, share_found

BEGIN, END = "<!-- power: begin -->", "<!-- power: end -->"
SLOW_DOWNS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
NIGHTS_A_MONTH = 30
_SITE = Plan(nodes=4, checks=25)


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.power", description="What bounds and nights see, by simulation.")
    parser.add_argument("--trials", type=int, default=400, help="of each figure (%(default)s)")
    parser.add_argument("--months", type=int, default=12, help="of a healthy site of 100 metrics (%(default)s)")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="write the tables between its marks")
    options = parser.parse_args()
    text = "\n".join([
        f"{options.trials} simulated trials of each figure, {options.months} months of each healthy site.", "",
        *_bounds(options.trials), "", *_shapes(options.trials), "", *_nights(options.trials), "",
        *_curves(options.trials), "", *_together(options.trials), "", *_healthy(options.months),
    ])  # fmt: skip
    print(text)
    if options.table:
        document = options.table.read_text(encoding="utf-8")
        before, found, rest = document.partition(BEGIN)
        _, ended, after = rest.partition(END)
        if not found or not ended:
            print(f"{options.table}: no line {BEGIN} or {END}", file=sys.stderr)
            return 1
        write_atomically(options.table, f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


def _table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    titles = list(header)
    return [f"**{title}**", "", _row(titles), _row(["---"] * len(titles)), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _bounds(trials: int) -> list[str]:
    """One run against a bound: the curve of each size of sample."""
    rows = []
    for values in (20, 60, 200):
        found = learned(Plan(values=values, repeats=1), SLOW_DOWNS, trials)
        rows.append([f"{values}", *(_share(found.finds[one]) for one in SLOW_DOWNS), _share(found.stated)])
    header = ["values learned from", *(f"{_share(one)} slower" for one in SLOW_DOWNS), "states that it finds"]
    return _table("One run, spread 3 %: found by the learned bound", header, rows)


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
        "noise, spread 3 %", "values", "states for a run", "so much is found in", "states for a week",
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
        "3 repeats, 8 nodes, nothing before, sound ones alike": Plan(nodes=8, values=0),
        "3 repeats, 30 nodes, nothing before, sound ones differ by 0.5 %": Plan(nodes=30, values=0, differ=0.005),
        "1 check, 3 repeats, weekends 6 % slower": Plan(values=90, weekend=0.06),
        **{f"1 check, 3 repeats, {shape}": Plan(shape=shape) for shape in list(SHAPES)[1:]},
    }
    rows = [[name, *map(_share, share_found(plan, 0.05, 5, trials))] for name, plan in kinds.items()]
    header = ["evidence", *(f"night {night}" for night in range(1, 6))]
    return _table("5 % slower, spread 3 %: what adds up", header, rows)


def _healthy(months: int) -> list[str]:
    plans = {f"{repeats} repeats": replace(_SITE, repeats=repeats) for repeats in (1, 2, 3)}
    plans |= {f"3 repeats, {shape}": replace(_SITE, shape=shape) for shape in list(SHAPES)[1:]}
    plans["3 repeats, weekends 6 % slower"] = replace(_SITE, values=90, weekend=0.06)
    plans["3 repeats, nodes differ by 1 %"] = replace(_SITE, differ=0.01)
    rows = []
    for name, plan in plans.items():
        rng = np.random.default_rng(1)
        counts = [false_alarms(plan, NIGHTS_A_MONTH, rng) for _ in range(months)]
        rows.append([name, f"{np.mean(counts):.2f}", f"{most_a_month(sum(counts), months):.2f}"])
        print(rows[-1], file=sys.stderr, flush=True)
    header = ["nights", "false alarms a month", "at most, with 95 % confidence"]
    return _table("A healthy site of 4 nodes with 25 metrics each: nodes blamed anew", header, rows)


def most_a_month(alarms: int, months: int) -> float:
    """The highest rate that is compatible with so many alarms (Garwood 1936: they come independently), one-sided."""
    return float(stats.chi2.ppf(0.95, 2 * (alarms + 1))) / 2 / months


if __name__ == "__main__":
    sys.exit(main())
