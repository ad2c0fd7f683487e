"""What a learned bound refuses, lets pass and finds: one sample, one run."""

from dataclasses import dataclass, replace

import numpy as np

from reports.learn.limits import RefusedError, healthy, learn_limits
from reports.learn.proposals import sensitivity_of
from tests.power.nights import Plan, measured

FALSE_ALARMS = 0.001
# Values that each bound is held against.
_NEW = 2000


@dataclass(frozen=True)
class Bound:
    """Shares: of samples refused, of healthy values out of bounds, of slow ones out of bounds; of the statement, the
    slow-down stated in a run and in a week (medians), and how often the former was found."""

    refused: float
    false: float
    finds: dict[float, float]
    stated: float
    stated_week: float
    kept: float


def learned(plan: Plan, slow_downs: tuple[float, ...], trials: int, seed: int = 1) -> Bound:
    """Bounds from ``trials`` samples of ``plan``, held against new values of the same kind."""
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
    return Bound(
        1 - len(false) / trials, float(np.mean(false)), {one: float(np.mean(shares)) for one, shares in finds.items()},
        float(np.median(stated)), float(np.median(weeks)), float(np.mean(kept)),
    )  # fmt: skip


def _below(values: np.ndarray, bound: float) -> float:
    return float(np.mean(values < bound))
