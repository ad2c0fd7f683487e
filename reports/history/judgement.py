"""Judge series: return the most important finding of each, worst first, with the facts that changed at that time."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports.history.adding_up import SHARE, find_adding_up, find_odd, nights_of, together, with_equals
from reports.history.dataset import History, MetricSeries, day
from reports.history.findings import FindingKind, SeriesFinding, find_lasting, find_newest
from reports.history.robust_statistics import Array, find_pattern, robust_z, two_modes

MIN_VALUES = 8
QUIET, WORSE, CANNOT_JUDGE = 0, 1, 2
# The detected position of a change may be off by so many values.
_AROUND = 3
# The rates of false positives per night, for one series and for all together: about one false positive a month.
_FALSE_ALARMS, _FALSE_ALARMS_OF_ALL = 0.001, 0.1


def judge_series(
    values: Array, false_alarms: float, sign: int = 0, since: int = 0, times: Array | None = None
) -> SeriesFinding:
    """Judge finite ``values``, oldest first, and return the most important finding.

    Worse findings come first: of the newest values, then lasting ones (the newest first), then those that add up.

    :param false_alarms: the probability of a finding in a quiet series.
    :param sign: see ``worse_sign``.
    :param since: leave out changes before this index; later values are judged anyway.
    :param times: in seconds since 1970; they group values into nights. Without them each value has its own night.
    """
    n = len(values)
    if n < MIN_VALUES:
        median = statistics.median(values.tolist())  # of few numbers ten times faster than NumPy's
        return SeriesFinding(FindingKind.THIN, median, median, 0.0, n)
    # Shares of the false positives: a quarter for lasting changes, a quarter for the newest values, a third for
    # values that add up, whose findings stay a while.
    lasting, stretch = find_lasting(values, false_alarms / 4)
    nights = np.arange(n) if times is None else nights_of(times)
    newest = find_newest(values, stretch, int(np.sum(nights == nights[-1])), false_alarms / 4)
    adding_up = [
        finding.later(n - len(stretch))
        for finding in find_adding_up(stretch, nights[-len(stretch) :], sign, false_alarms * SHARE)
    ]
    # A regression of last night comes before lasting findings, an improvement after them.
    ranked = [one for one in (*newest, *lasting, *adding_up) if one.worse(sign)] + [*lasting, *newest]
    counting = (one for one in ranked if (n - 1 if one.kind is FindingKind.DRIFT else one.at) >= since)
    return next(counting, None) or _unchanged(values, stretch)


def unsteady(values: Array, false_alarms: float) -> SeriesFinding | None:
    """Return a step, a drift or two levels if ``values`` are no sample of one distribution, else ``None``."""
    if len(values) < MIN_VALUES:
        return None
    lasting, stretch = find_lasting(values, false_alarms / 3)
    found = [*lasting, *find_newest(values, stretch, 1, false_alarms / 3), _unchanged(values, stretch)]
    return next((one for one in found if one.kind in (FindingKind.STEP, FindingKind.DRIFT, FindingKind.BIMODAL)), None)


def _unchanged(values: Array, stretch: Array) -> SeriesFinding:
    z = robust_z(float(stretch[-1]), stretch[:-1])
    if modes := two_modes(stretch):
        return SeriesFinding(FindingKind.BIMODAL, modes.low, modes.high, z, len(values))
    median = float(np.median(stretch[:-1]))
    return SeriesFinding(FindingKind.QUIET, median, median, z, len(values))


@dataclass(frozen=True)
class JudgedSeries:
    """Hold a series and its finding. ``worse`` raises an alarm; an informational series never does."""

    series: MetricSeries
    finding: SeriesFinding
    worse: bool
    changes: tuple[str, ...] = ()
    period: str = ""
    """``weekday`` or ``hour`` if the values depend on it; the finding is about the values without this pattern."""
    known: bool = True
    """The finding exists without the newest night, too, or began in it. (Findings that add up appear late.)"""

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
        why = "informational" if series.informational else "worse direction unknown"
        return f"{finding.kind.value}, {'higher' if finding.change > 0 else 'lower'} ({why})"

    @property
    def began(self) -> float:
        """Return the start of the change in seconds since 1970; for a quiet series the time of its first value."""
        index = self.finding.at if self.finding.changed else 0
        return float(self.series.times[min(index, len(self.series.times) - 1)])

    @property
    def since(self) -> str:
        return day(self.began)


def judge_history(
    history: History, newest: int, false_alarms: float, since: float = 0.0, across_nodes: bool = False
) -> list[JudgedSeries]:
    """Judge the ``newest`` values of each series; leave out changes before ``since`` (seconds since 1970)."""
    return judge_all(history, history.series(newest, across_nodes), false_alarms, since)


def judge_all(
    history: History, series: Iterable[MetricSeries], false_alarms: float, since: float = 0.0
) -> list[JudgedSeries]:
    """Judge each of ``series`` of ``history``; worse ones come first, then the largest changes."""
    found = list(series)
    judged = [_judge(history, one, equals, false_alarms, since) for one, equals in with_equals(found)]
    judged += [_judge(history, one, [], false_alarms, since) for one in together(found)]
    return sorted(judged, key=lambda one: (not one.worse, not one.finding.changed, -abs(one.finding.change)))


def _judge(
    history: History, series: MetricSeries, equals: Sequence[MetricSeries], false_alarms: float, since: float
) -> JudgedSeries:
    finding, period = _find(series, equals, false_alarms, since)
    if not finding.changed:
        return JudgedSeries(series, finding, False, period=period)
    newest = len(series.values) - 1
    until = newest if finding.kind is FindingKind.DRIFT else min(finding.at + _AROUND, newest)
    changes = history.changes(series, max(finding.at - 1 - _AROUND, 0), until)
    worse = series.gates and finding.worse(series.sign) and not _mended(series, finding)
    known = True
    if worse and (before := _before_newest_night(series)) and finding.at < len(before.values):
        known = _find(before, equals, false_alarms, since)[0].worse(series.sign)
    return JudgedSeries(series, finding, worse, tuple(changes), period, known)


def _find(
    series: MetricSeries, equals: Sequence[MetricSeries], false_alarms: float, since: float
) -> tuple[SeriesFinding, str]:
    """Return the finding in ``series``, and the period whose effects were removed before."""
    pattern = find_pattern(series.values, series.times)
    values = series.values - pattern.effects if pattern else series.values
    first = int(np.searchsorted(series.times, since))
    finding = judge_series(values, false_alarms, series.sign, first, times=series.times)
    if not finding.worse(series.sign):
        finding = find_odd(series, equals, false_alarms * SHARE) or finding
    return finding, pattern.period if pattern else ""


def _before_newest_night(series: MetricSeries) -> MetricSeries | None:
    nights = nights_of(series.times)
    count = int(np.searchsorted(nights, nights[-1]))
    if not count:
        return None
    return replace(series, values=series.values[:count], times=series.times[:count], rows=series.rows[:count])


def _mended(series: MetricSeries, finding: SeriesFinding) -> bool:
    """Return whether the series came back within its bounds, which is better in any direction."""
    before, after = (series.lower <= value <= series.upper for value in (finding.before, finding.after))
    return after and not before


def exit_status(judged: Sequence[JudgedSeries]) -> int:
    """Return the exit status of the worst series; informational series raise no alarm."""
    if any(one.worse for one in judged):
        return WORSE
    return QUIET if any(one.finding.kind is not FindingKind.THIN for one in judged) else CANNOT_JUDGE


def false_alarms_of(series: Sequence[MetricSeries]) -> float:
    """Return the rate of false positives for each series; with more series a finding has to be more certain."""
    return min(_FALSE_ALARMS, _FALSE_ALARMS_OF_ALL / max(len(series), 1))


def nightly_series(history: History, newest: int) -> list[MetricSeries]:
    """Return the series by sets of nodes; across nodes if Slurm chose other nodes each time and no set has enough."""
    by_nodes: dict[tuple[str, ...], list[MetricSeries]] = defaultdict(list)
    for one in history.series(newest):
        by_nodes[one.key].append(one)
    thin = {
        key
        for key, members in by_nodes.items()
        if len(members) > 1 and all(len(one.values) < MIN_VALUES for one in members)
    }
    chosen = [one for key, members in by_nodes.items() if key not in thin for one in members]
    if thin:
        chosen += [one for one in history.series(newest, across_nodes=True) if one.key in thin]
    return chosen
