"""Bounds that prove little: what is met more than ten times over would be met by a cluster ten times slower, too."""

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
    """``median``: of the headroom of all bounds where it says something, ``None`` without any; ``loose``: the loosest
    first; ``bounds``: how many there are."""

    bounds: int
    median: float | None
    loose: tuple[Loose, ...]


def tightness_of(cases: Sequence[CaseVerdict]) -> Tightness:
    """Of each metric of each check, by its value that is nearest to its bound."""
    nearest: dict[tuple[str, str], float] = {}
    for case in cases:
        for metric in case.metrics:
            times = headroom(metric)
            if times is not None:
                key = case.case.check_class or case.case.name, metric.metric.name
                nearest[key] = min(times, nearest.get(key, times))
    loose = [Loose(*key, times) for key, times in nearest.items() if times > LOOSE]
    return Tightness(
        bounds=len(nearest),
        median=median(nearest.values()) if nearest else None,
        loose=tuple(sorted(loose, key=lambda one: -one.times)),
    )
