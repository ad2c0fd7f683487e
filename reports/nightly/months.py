"""The nights as months of days, newest month first."""

import calendar
import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from reports.nightly.night import Night

Week = list["Day"]


@dataclass(frozen=True)
class Day:
    """``date`` is ``None`` outside of the month; ``night`` is the worst of the day's, ``None`` without one."""

    date: datetime.date | None
    night: Night | None
    runs: int

    @property
    def missed(self) -> bool:
        return self.date is not None and self.night is None


@dataclass(frozen=True)
class Month:
    title: str
    year: int
    weeks: list[Week]


def months(nights: Sequence[Night]) -> list[Month]:
    """Every month from the first night to the last."""
    if not nights:
        return []
    by_day: dict[datetime.date, list[Night]] = {}
    for night in nights:
        by_day.setdefault(night.day, []).append(night)
    first, last = min(by_day), max(by_day)
    found = []
    year, month = last.year, last.month
    while (year, month) >= (first.year, first.month):
        weeks = [
            [_day(date, month, by_day) for date in week] for week in calendar.Calendar().monthdatescalendar(year, month)
        ]
        found.append(Month(f"{calendar.month_name[month]} {year}", year, weeks))
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return found


def _day(date: datetime.date, month: int, by_day: dict[datetime.date, list[Night]]) -> Day:
    if date.month != month:
        return Day(None, None, 0)
    nights = by_day.get(date, [])
    worst = max(nights, key=lambda night: night.state.severity, default=None)
    return Day(date, worst, len(nights))
