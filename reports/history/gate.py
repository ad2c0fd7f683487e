"""All series of a site judged, worst first, with what changed at each finding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports.history.adding_up import SHARE, nights_of
from reports.history.equals import find_odd, with_equals
from reports.history.findings import Finding, Kind
from reports.history.judgement import judge_series
from reports.history.pattern import find_pattern
from reports.history.query import History, Series, day
from reports.history.together import together

QUIET, WORSE, CANNOT_JUDGE = 0, 1, 2
# A change is found so many values early or late.
_AROUND = 3


@dataclass(frozen=True)
class Judged:
    """``worse`` is what alarms: no finding of a series that only informs is."""

    series: Series
    finding: Finding
    worse: bool
    changes: tuple[str, ...] = ()
    period: str = ""
    """``weekday`` or ``hour``, when the values depend on it: the finding is about the rest."""
    known: bool = True
    """It was found without the newest night, too, or began in it; what adds up is found later than it began."""

    @property
    def verdict(self) -> str:
        return f"{self._verdict}, apart from the {self.period}" if self.period else self._verdict

    @property
    def _verdict(self) -> str:
        finding, series = self.finding, self.series
        if not finding.changed:
            return finding.kind.value
        if self.worse or series.gates:
            return f"{finding.kind.value}, {'worse' if self.worse else 'better'}"
        why = "informational" if series.informational else "which way is worse is not known"
        return f"{finding.kind.value}, {'higher' if finding.change > 0 else 'lower'} ({why})"

    @property
    def since(self) -> str:
        """When the change began; of a quiet series, of its first value."""
        index = self.finding.at if self.finding.changed else 0
        return day(self.series.times[min(index, len(self.series.times) - 1)])


def judge_history(
    history: History, newest: int, false_alarms: float, since: float = 0.0, across_nodes: bool = False
) -> list[Judged]:
    """Judge the ``newest`` values of each series; what changed before ``since`` (seconds) is left out."""
    return judge_all(history, history.series(newest, across_nodes), false_alarms, since)


def judge_all(history: History, series: Iterable[Series], false_alarms: float, since: float = 0.0) -> list[Judged]:
    """Judge each of ``series``, which are of ``history``."""
    found = list(series)
    judged = [_judge(history, one, equals, false_alarms, since) for one, equals in with_equals(found)]
    judged += [_judge(history, one, [], false_alarms, since) for one in together(found)]
    return sorted(judged, key=lambda one: (not one.worse, not one.finding.changed, -abs(one.finding.change)))


def _judge(history: History, series: Series, equals: Sequence[Series], false_alarms: float, since: float) -> Judged:
    finding, period = _find(series, equals, false_alarms, since)
    if not finding.changed:
        return Judged(series, finding, False, period=period)
    newest = len(series.values) - 1
    until = newest if finding.kind is Kind.DRIFT else min(finding.at + _AROUND, newest)
    changes = history.changes(series, max(finding.at - 1 - _AROUND, 0), until)
    worse = series.gates and finding.worse(series.sign) and not _mended(series, finding)
    known = True
    if worse and (before := _before_newest_night(series)) and finding.at < len(before.values):
        known = _find(before, equals, false_alarms, since)[0].worse(series.sign)
    return Judged(series, finding, worse, tuple(changes), period, known)


def _find(series: Series, equals: Sequence[Series], false_alarms: float, since: float) -> tuple[Finding, str]:
    """What is found in ``series``, and the period without which."""
    pattern = find_pattern(series.values, series.times)
    values = series.values - pattern.effects if pattern else series.values
    first = int(np.searchsorted(series.times, since))
    finding = judge_series(values, false_alarms, series.sign, first, times=series.times)
    if not finding.worse(series.sign):
        finding = find_odd(series, equals, false_alarms * SHARE) or finding
    return finding, pattern.period if pattern else ""


def _before_newest_night(series: Series) -> Series | None:
    nights = nights_of(series.times)
    count = int(np.searchsorted(nights, nights[-1]))
    if not count:
        return None
    return replace(series, values=series.values[:count], times=series.times[:count], rows=series.rows[:count])


def _mended(series: Series, finding: Finding) -> bool:
    """It came back within its bounds, which is better also where either way is worse."""
    before, after = (series.lower <= value <= series.upper for value in (finding.before, finding.after))
    return after and not before


def exit_status(judged: Sequence[Judged]) -> int:
    """The worst of all; what only informs is no alarm."""
    if any(one.worse for one in judged):
        return WORSE
    return QUIET if any(one.finding.kind is not Kind.THIN for one in judged) else CANNOT_JUDGE
