"""Bounds that prove little: what is met more than ten times over would be met by a cluster ten times slower, too.

Relative bounds, of a node against the median of its equals, are told apart: all nodes may be slow alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.headroom import headroom

LOOSE = 10.0
LOOSEST = 5


@dataclass(frozen=True)
class Loose:
    """A bound with ``times`` of headroom at the value nearest to it."""

    check: str
    metric: str
    times: float


@dataclass(frozen=True)
class Tightness:
    """Of the bounds whose headroom says something. ``bounds``: how many are absolute; ``median`` of their headroom;
    ``loose``: the loosest of them first; ``relative`` and ``relative_median``: the same of the relative ones."""

    bounds: int
    median: float | None
    loose: tuple[Loose, ...]
    relative: int
    relative_median: float | None


def tightness_of(cases: Sequence[CaseVerdict]) -> Tightness:
    """Of each metric of each check, by its value that is nearest to its bound."""
    absolute: dict[tuple[str, str], float] = {}
    relative: dict[tuple[str, str], float] = {}
    for case in cases:
        for metric in case.metrics:
            times = headroom(metric)
            if times is not None:
                nearest = relative if metric.relative else absolute
                key = case.case.check_class or case.case.name, metric.metric.name
                nearest[key] = min(times, nearest.get(key, times))
    loose = [Loose(*key, times) for key, times in absolute.items() if times > LOOSE]
    return Tightness(
        bounds=len(absolute),
        median=median(absolute.values()) if absolute else None,
        loose=tuple(sorted(loose, key=lambda one: -one.times)),
        relative=len(relative),
        relative_median=median(relative.values()) if relative else None,
    )
