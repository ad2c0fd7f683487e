"""How much the bounds of a run prove: their headroom, and the slow-down that each finds.

A cluster that is ten times slower would still meet a bound with more than ten times of headroom. Relative bounds
compare a node with the median of its equals; they are counted apart, since all nodes may be slow alike.
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
    """How many times better than its nearer bound the value is: 1 at the bound, less beyond it.

    A ratio is the same scale for a latency and for a bandwidth.

    ``None`` where a ratio says nothing: without a bound or a value, at a bound of 0, of an exact one, and where value
    and bound have different signs.
    """
    value = verdict.metric.value
    if value is None or not math.isfinite(value) or verdict.lower == verdict.upper:
        return None
    ratios = [_ratio(value, bound) for bound in (verdict.lower,) if math.isfinite(bound)]
    ratios += [_ratio(bound, value) for bound in (verdict.upper,) if math.isfinite(bound)]
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if known and len(known) == len(ratios) else None


def _ratio(more: float, less: float) -> float | None:
    """``more`` over ``less``; of two negative numbers the other way round."""
    if more > 0 and less > 0:
        return more / less
    return less / more if more < 0 and less < 0 else None


@dataclass(frozen=True)
class LooseBound:
    """A bound with ``times`` of headroom at the value nearest to it."""

    check: str
    metric: str
    times: float


@dataclass(frozen=True)
class Tightness:
    """Bounds whose headroom says something: the number of absolute ones, the ``median`` of their headroom, the
    ``loose`` ones, loosest first; and the number of relative ones with their median."""

    bounds: int
    median: float | None
    loose: tuple[LooseBound, ...]
    relative: int
    relative_median: float | None


def tightness_of(cases: Sequence[CaseVerdict]) -> Tightness:
    """Judge each metric of each check by its value that is nearest to its bound."""
    absolute: dict[tuple[str, str], float] = {}
    relative: dict[tuple[str, str], float] = {}
    for case in cases:
        for metric in case.metrics:
            times = headroom(metric)
            if times is not None:
                nearest = relative if metric.relative else absolute
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
    """The two slow-downs, in words."""
    return f"{in_a_run:.1%} slower in a run, {in_a_week:.1%} in a week of nights"


@dataclass(frozen=True)
class BoundSensitivity:
    """The bound of a metric of a case; the slow-downs that it finds with 95 %, as shares of the healthy value."""

    case: str
    metric: str
    in_a_run: float
    in_a_week: float

    def __str__(self) -> str:
        return f"{self.case} {self.metric}: {slow_downs_in_words(self.in_a_run, self.in_a_week)}"


@dataclass(frozen=True)
class RunSensitivity:
    """``stated``: what the learned bounds say, the weakest first; ``silent``: how many bounds say nothing."""

    stated: tuple[BoundSensitivity, ...]
    silent: int

    @property
    def weakest(self) -> tuple[BoundSensitivity, ...]:
        return self.stated[:WEAKEST]


def sensitivity_of(cases: Sequence[CaseVerdict]) -> RunSensitivity:
    """Count every bounded metric of ``cases``; metrics that share a bound and its slow-downs count once."""
    stated: dict[BoundSensitivity, None] = {}
    silent = 0
    for case in cases:
        for metric in case.metrics:
            source = metric.source
            if not metric.bounded:
                continue
            if source is None or source.finds_in_a_run is None or source.finds_in_a_week is None:
                silent += 1
            else:
                stated[
                    BoundSensitivity(case.case.title, metric.metric.name, source.finds_in_a_run, source.finds_in_a_week)
                ] = None
    return RunSensitivity(tuple(sorted(stated, key=lambda sight: -sight.in_a_run)), silent)
