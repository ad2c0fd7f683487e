"""When the jobs of each case were queued, ran, and had ended before ReFrame saw it: one SVG, without a script.

Only known times are drawn: a record without Slurm's accounting does not have a job's start. Places are in units of the
drawing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import counted, duration, figure
from kappa.core.record.model import Case
from reports.show.html_page import round_steps
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.state import State

WIDTH = 1000
# Width of the names, if rows have them.
_NAMES = 290
_LABEL_CHARS = 52
LEAST_JOBS = 3
# Rows that the page shows at once, that have names, and that a run has at most before all cases of a check share one.
OPEN_ROWS, NAMED_ROWS, MOST_ROWS = 30, 100, 200
_NAMED_HEIGHT, _BARE_HEIGHT = 11, 4
# Bars that are nearer to each other are one.
_CLOSE = 0.5
# A shorter one would not be seen.
_LEAST_BAR = 1.0
_UNITS = ((2 * 3600, 3600, "h"), (120, 60, "min"), (0, 1, "s"))
# In the order in which they are drawn: words, and the share of the row's height.
PHASES = {
    "queued": ("queued", 0.25),
    "either": ("queued or running, not recorded which", 0.4),
    "ran": ("running", 0.75),
    "held": ("ended, not yet seen by ReFrame", 0.25),
}
# The year 5138, in seconds since 1970: a larger number is no time.
_LAST_S = 1e11


@dataclass(frozen=True)
class JobTimes:
    """When a job was submitted, started, ended, and was seen to have ended, in seconds since 1970; ``started`` is
    ``None`` where it is not known."""

    submitted: float
    started: float | None
    ended: float
    seen: float

    @classmethod
    def of(cls, case: Case) -> "JobTimes | None":
        """The times of a case's job, as far as its record has them."""
        submitted, ended = case.submitted_s, case.ended_s
        if submitted is None or ended is None or not 0 < submitted <= ended < _LAST_S:
            return None
        if case.local:
            return cls(submitted, submitted, ended, ended)
        started = None if case.job_s is None else min(max(ended - case.job_s, submitted), ended)
        seen = submitted + (case.run_time_s or 0.0)
        return cls(submitted, started, ended, seen if ended < seen < _LAST_S else ended)

    def phases(self) -> list[tuple[str, float, float]]:
        """(phase, from, to)."""
        if self.started is None:
            known = [("either", self.submitted, self.ended)]
        else:
            known = [("queued", self.submitted, self.started), ("ran", self.started, self.ended)]
        return [phase for phase in (*known, ("held", self.ended, self.seen)) if phase[1] < phase[2]]

    def in_words(self) -> str:
        return ", ".join(f"{PHASES[phase][0]} {duration(end - start)}" for phase, start, end in self.phases())


@dataclass(frozen=True)
class TimelineRow:
    """``bars`` are (phase, path); ``y`` is where the name's middle is."""

    name: str
    title: str
    state: State
    y: float
    bars: list[tuple[str, str]]


@dataclass(frozen=True)
class Timeline:
    """A timeline. ``ticks`` are (x, text); ``phases`` are the drawn ones: (phase, words)."""

    summary: str
    height: float
    named: bool
    opened: bool
    rows: list[TimelineRow]
    ticks: list[tuple[float, str]]
    phases: list[tuple[str, str]]


@dataclass(frozen=True)
class _Jobs:
    """The jobs of a row, also those that measured its cases again."""

    name: str
    title: str
    state: State
    times: list[JobTimes]

    @property
    def order(self) -> tuple[float, str]:
        first = min(self.times, key=lambda job: job.submitted)
        return first.submitted if first.started is None else first.started, self.title


def timeline(cases: Sequence[CaseVerdict]) -> Timeline | None:
    """Draw the jobs of ``cases``, a row for each case; ``None`` where too few jobs have known times."""
    jobs = sorted(_rows(cases), key=lambda row: row.order)
    times = [one for row in jobs for one in row.times]
    if len(times) < LEAST_JOBS:
        return None
    first, last = min(one.submitted for one in times), max(one.seen for one in times)
    span = max(last - first, 1.0)
    named = len(jobs) <= NAMED_ROWS
    left, step = (_NAMES, _NAMED_HEIGHT) if named else (0, _BARE_HEIGHT)
    scale = (WIDTH - left) / span
    rows = [
        TimelineRow(row.name, row.title, row.state, (number + 0.5) * step,
                    _bars(row.times, first, scale, left, (number + 0.5) * step, step))
        for number, row in enumerate(jobs)
    ]  # fmt: skip
    unit_s, unit = next((unit_s, unit) for least, unit_s, unit in _UNITS if span >= least)
    drawn = {phase for row in rows for phase, _ in row.bars}
    return Timeline(
        summary=_summary(times, len(jobs), len(cases)),
        height=len(rows) * step,
        named=named,
        opened=len(rows) <= OPEN_ROWS,
        rows=rows,
        ticks=[
            (round(left + at * unit_s * scale, 1), f"{figure(at)} {unit}") for at in round_steps(0, span / unit_s)
        ],
        phases=[(phase, words) for phase, (words, _) in PHASES.items() if phase in drawn],
    )


def _rows(cases: Sequence[CaseVerdict]) -> list[_Jobs]:
    known = [(verdict, times) for verdict in cases if (times := _times(verdict))]
    if len(known) <= MOST_ROWS:
        return [_row([verdict], times) for verdict, times in known]
    groups: dict[tuple[str, str], list[tuple[CaseVerdict, list[JobTimes]]]] = {}
    for verdict, times in known:
        groups.setdefault((_check(verdict), verdict.case.partition), []).append((verdict, times))
    return [
        _row([verdict for verdict, _ in members], [one for _, times in members for one in times])
        for members in groups.values()
    ]


def _times(verdict: CaseVerdict) -> list[JobTimes]:
    """Return the times of each job once: a job that re-measured in its own allocation is in the record twice."""
    found = (JobTimes.of(attempt.case) for attempt in verdict.measurements)
    return list(dict.fromkeys(times for times in found if times))


def _check(verdict: CaseVerdict) -> str:
    return verdict.case.check_class or verdict.case.name.partition(" ")[0]


def _row(members: Sequence[CaseVerdict], times: list[JobTimes]) -> _Jobs:
    worst = max(members, key=lambda verdict: verdict.state.severity)
    case = worst.case
    if len(members) > 1:
        name = f"{_check(worst)} on {case.partition}, {counted(len(members), 'case')}"
        return _Jobs(_short(name), f"{name}: {counted(len(times), 'job')}", worst.state, times)
    name = " ".join(filter(None, (_check(worst), case.variant, "on", case.partition)))
    told = "; again ".join(one.in_words() for one in times)
    return _Jobs(_short(name), f"{case.title}: {told}", worst.state, times)


def _short(name: str) -> str:
    return name if len(name) <= _LABEL_CHARS else f"{name[: _LABEL_CHARS - 1]}…"


def _bars(
    times: Iterable[JobTimes], first: float, scale: float, left: float, middle: float, step: float
) -> list[tuple[str, str]]:
    """A path for each phase, of bars that do not overlap: a row of a thousand jobs is as small as its drawing."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in times:
        for phase, start, end in one.phases():
            found.setdefault(phase, []).append((left + (start - first) * scale, left + (end - first) * scale))
    paths = []
    for phase, (_, share) in PHASES.items():
        height = share * step
        bars = "".join(
            f"M{start:.5g} {middle - height / 2:.5g}h{max(end - start, _LEAST_BAR):.4g}v{height:g}"
            f"H{start:.5g}z"
            for start, end in _merged(found.get(phase, []))
        )
        paths += [(phase, bars)] if bars else []
    return paths


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + _CLOSE:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _summary(times: Sequence[JobTimes], rows: int, cases: int) -> str:
    """In a sentence, for who cannot see it, or does not unfold it."""
    waits = [one.started - one.submitted for one in times if one.started is not None]
    ran = math.fsum(one.ended - one.started for one in times if one.started is not None)
    told = f"{counted(len(times), 'job')} of {counted(cases, 'case')}"
    if not waits:
        return told
    return f"{told}: {duration(ran)} of running in all; longest time in the queue {duration(max(waits))}"
