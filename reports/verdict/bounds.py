"""Report how much the bounds of a run prove: their headroom, and the slow-down that each bound finds.

A cluster that is ten times slower still meets a bound with more than ten times of headroom. Relative bounds compare a
node with the median of its equals. They are counted apart, because all nodes may be slow alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict

LOOSE = 10.0
LOOSEST = 5
WEAKEST = 5


def headroom(verdict: MetricVerdict) -> float | None:
    """Return how many times better than its nearer bound the value is: 1 at the bound, less beyond it.

    A ratio has the same scale for a latency and for a bandwidth.

    Return ``None`` without a value or a bound, for a bound of 0, for an exact bound (lower equals upper), and if value
    and bound have different signs.
    """
    metric = verdict.metric
    if metric.value is None or not math.isfinite(metric.value) or metric.lower == metric.upper:
        return None
    ratios = [_ratio(metric.value, metric.lower)] if metric.lower is not None else []
    ratios += [_ratio(metric.upper, metric.value)] if metric.upper is not None else []
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if known and len(known) == len(ratios) else None


def _ratio(more: float, less: float) -> float | None:
    """Return ``more`` divided by ``less``; for two negative numbers the inverse; ``None`` for other signs."""
    if more > 0 and less > 0:
        return more / less
    return less / more if more < 0 and less < 0 else None


@dataclass(frozen=True)
class LooseBound:
    """Describe a bound that has ``times`` of headroom at its nearest value."""

    check: str
    metric: str
    times: float


@dataclass(frozen=True)
class Tightness:
    """Summarise the bounds that have a headroom.

    ``bounds``, ``median``: number of absolute bounds and their median headroom. ``loose``: absolute bounds with a
    headroom above ``LOOSE``, loosest first. ``relative``, ``relative_median``: the same for relative bounds.
    """

    bounds: int
    median: float | None
    loose: tuple[LooseBound, ...]
    relative: int
    relative_median: float | None


def tightness_of(cases: Sequence[CaseVerdict]) -> Tightness:
    """Take for each metric of each check the value that is nearest to its bound, and summarise these headrooms."""
    absolute: dict[tuple[str, str], float] = {}
    relative: dict[tuple[str, str], float] = {}
    for case in cases:
        for metric in case.metrics:
            times = headroom(metric)
            if times is not None:
                nearest = relative if metric.metric.relative else absolute
                key = case.case.check_class or case.case.name, metric.metric.name
                nearest[key] = min(times, nearest.get(key, times))
    loose = [LooseBound(*key, times) for key, times in absolute.items() if times > LOOSE]
    return Tightness(
        bounds=len(absolute),
        median=median(absolute.values()) if absolute else None,
        loose=tuple(sorted(loose, key=lambda one: -one.times)),
        relative=len(relative),
        relative_median=median(relative.values()) if relative else None,
    )


def slow_downs_in_words(in_a_run: float, in_a_week: float) -> str:
    """Return the two slow-downs in words."""
    return f"{in_a_run:.1%} slower in one run, {in_a_week:.1%} in a week of nights"


@dataclass(frozen=True)
class BoundSensitivity:
    """State the slow-downs that a metric's bound finds with 95 % probability, as shares of the healthy value."""

    case: str
    metric: str
    in_a_run: float
    in_a_week: float

    def __str__(self) -> str:
        return f"{self.case} {self.metric}: {slow_downs_in_words(self.in_a_run, self.in_a_week)}"


@dataclass(frozen=True)
class RunSensitivity:
    """List the learned bounds with known slow-downs (``stated``, weakest first) and count the others (``silent``)."""

    stated: tuple[BoundSensitivity, ...]
    silent: int

    @property
    def weakest(self) -> tuple[BoundSensitivity, ...]:
        return self.stated[:WEAKEST]


def sensitivity_of(cases: Sequence[CaseVerdict]) -> RunSensitivity:
    """Return the slow-downs that the bounds of ``cases`` find; equal bounds of one metric count once."""
    stated: dict[BoundSensitivity, None] = {}
    silent = 0
    for case in cases:
        for metric in case.metrics:
            source = metric.metric.source
            if not metric.metric.bounded:
                continue
            if source is None or source.finds_in_a_run is None or source.finds_in_a_week is None:
                silent += 1
            else:
                stated[
                    BoundSensitivity(case.title, metric.metric.name, source.finds_in_a_run, source.finds_in_a_week)
                ] = None
    return RunSensitivity(tuple(sorted(stated, key=lambda sight: -sight.in_a_run)), silent)
