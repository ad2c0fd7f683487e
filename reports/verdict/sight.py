"""What the bounds of a run can see: the slow-down that each finds, the weakest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.verdict.case_verdict import CaseVerdict

WEAKEST = 5


def found(in_a_run: float, in_a_week: float) -> str:
    """The two slow-downs, in words."""
    return f"{in_a_run:.1%} slower in a run, {in_a_week:.1%} in a week of nights"


@dataclass(frozen=True)
class Sight:
    """The bound of a metric of a case; the slow-downs that it finds with 95 %, as shares of the healthy value."""

    case: str
    metric: str
    in_a_run: float
    in_a_week: float

    def __str__(self) -> str:
        return f"{self.case} {self.metric}: {found(self.in_a_run, self.in_a_week)}"


@dataclass(frozen=True)
class SightOfRun:
    """``stated``: what the learned bounds say, the weakest first; ``silent``: how many bounds say nothing."""

    stated: tuple[Sight, ...]
    silent: int

    @property
    def weakest(self) -> tuple[Sight, ...]:
        return self.stated[:WEAKEST]


def sight_of(cases: Sequence[CaseVerdict]) -> SightOfRun:
    """Of every bounded metric of ``cases``, those that share a bound and its sight once."""
    stated: dict[Sight, None] = {}
    silent = 0
    for case in cases:
        for metric in case.metrics:
            source = metric.source
            if not metric.bounded:
                continue
            if source is None or source.finds_in_a_run is None or source.finds_in_a_week is None:
                silent += 1
            else:
                stated[Sight(case.case.title, metric.metric.name, source.finds_in_a_run, source.finds_in_a_week)] = None
    return SightOfRun(tuple(sorted(stated, key=lambda sight: -sight.in_a_run)), silent)
