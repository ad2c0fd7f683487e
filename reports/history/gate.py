"""All series of a site judged, worst first, with what changed at each finding."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports.history.direction import worse_sign
from reports.history.findings import Finding, Kind, judge_series
from reports.history.query import History, Series, day

QUIET, WORSE, CANNOT_JUDGE = 0, 1, 2


@dataclass(frozen=True)
class Judged:
    series: Series
    finding: Finding
    worse: bool
    changes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        if not self.finding.changed:
            return self.finding.kind.value
        return f"{self.finding.kind.value}, {'worse' if self.worse else 'better'}"

    @property
    def since(self) -> str:
        """When the change began; of a quiet series, of its first value."""
        index = self.finding.at if self.finding.changed else 0
        return day(self.series.times[min(index, len(self.series.times) - 1)])


def judge_history(
    history: History, newest: int, false_alarms: float, since: float = 0.0, across_nodes: bool = False
) -> list[Judged]:
    """Judge the ``newest`` values of each series; changes that were over before ``since`` (seconds) are left out."""
    judged = [_judge(history, series, false_alarms, since) for series in history.series(newest, across_nodes)]
    return sorted(judged, key=lambda one: (not one.worse, not one.finding.changed, -abs(one.finding.change)))


def _judge(history: History, series: Series, false_alarms: float, since: float) -> Judged:
    finding = judge_series(series.values, false_alarms)
    newest = len(series.values) - 1
    if finding.changed and series.times[newest if finding.kind is Kind.DRIFT else finding.at] < since:
        finding = Finding(Kind.QUIET, finding.after, finding.after, finding.z, finding.at, finding.points)
    if not finding.changed:
        return Judged(series, finding, False)
    drift = finding.kind is Kind.DRIFT
    changes = history.changes(series, 0 if drift else finding.at - 1, newest if drift else finding.at)
    worse = finding.worse(worse_sign(series.lower, series.upper, series.unit))
    return Judged(series, finding, worse, tuple(changes))


def exit_status(judged: Sequence[Judged]) -> int:
    if any(one.worse for one in judged):
        return WORSE
    return QUIET if any(one.finding.kind is not Kind.THIN for one in judged) else CANNOT_JUDGE
