"""Series over the nights, for a page that draws any of them: values in order of time, bounds, changes of the level."""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground.figures import allowed, counted, figure
from kappa.core.ground.node_lists import folded
from reports.history.findings import Kind
from reports.history.gate import Judged
from reports.history.judgement import MIN_VALUES
from reports.nightly.night import Night
from reports.show.plot import with_unit

# So many are drawn when the page opens; each other can be chosen.
LIMIT = 24
ROWS_LIMIT = 60
# Of all series together; of many nodes each has fewer of its newest values, but not below the least.
VALUES_LIMIT, LEAST_VALUES = 200_000, 30


@dataclass(frozen=True)
class Trend:
    """``rows`` have the columns of ``header``, oldest first; ``drawing`` is what the page's script draws."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    drawing: dict[str, Any]


@dataclass(frozen=True)
class Trends:
    """``shown``: the first to be drawn; ``drawings``: of all, in the same order, over ``days``."""

    shown: list[Trend]
    days: list[str]
    drawings: list[dict[str, Any]]


def trends(findings: Sequence[Judged], nights: Sequence[Night]) -> Trends:
    """Every series of two values or more: what changed or left its bounds first.

    A value counts for its night, whenever after midnight it was measured.
    """
    of_night = {session: night.day for night in nights for session in night.sessions}
    ranked = sorted((one for one in findings if len(one.series.values) > 1), key=_rank)
    newest = max(VALUES_LIMIT // max(len(ranked), 1), LEAST_VALUES)
    dated = [(one, _days(one, of_night)) for one in ranked]
    days = sorted({day for _, members in dated for day in members[-newest:]})
    number = {day: index for index, day in enumerate(days)}
    drawn = [_trend(one, members, number, newest) for one, members in dated]
    return Trends(drawn[:LIMIT], [day.isoformat() for day in days], [one.drawing for one in drawn])


def _rank(one: Judged) -> tuple[bool, bool, float]:
    """Worse first, then other changes, then by how far the worst value is out of its bounds."""
    return not one.worse, not one.finding.changed, -max(_excess(one, value) for value in one.series.values)


def _excess(one: Judged, value: float) -> float:
    series = one.series
    bound = max(series.lower - value, value - series.upper, 0.0)
    return bound / (abs(value) or 1.0) if math.isfinite(bound) else 0.0


def _days(one: Judged, of_night: Mapping[str, datetime.date]) -> list[datetime.date]:
    """The day of each value: of its night, or else on which it was measured."""
    return [
        of_night.get(row.partition(":")[0]) or datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
        for row, seconds in zip(one.series.rows, one.series.times, strict=True)
    ]


def _trend(one: Judged, days: list[datetime.date], number: Mapping[datetime.date, int], newest: int) -> Trend:
    series, finding = one.series, one.finding
    nodes = f" {folded(series.nodes.split(','))}" if series.nodes else ", any nodes"
    # A night that began yesterday ends after what was measured by hand today: by day, then as measured.
    points = sorted(zip(days, map(float, series.values), strict=True), key=lambda point: point[0])
    outside = sum(_excess(one, value) > 0 for _, value in points)
    more = f" to judge by its past: {len(points)} of {MIN_VALUES}" if finding.kind is Kind.THIN else ""
    caption = [one.verdict + (f" since {one.since}" if finding.changed else more)]
    caption += [f"{counted(outside, 'value')} out of bounds"] if outside else []
    caption += [f"allowed {allowed(series.lower, series.upper)} {series.unit}".rstrip()] if series.bounded else []
    caption += [f"changed at that time: {'; '.join(one.changes)}"] if one.changes else []
    title = f"{series.title} – {series.partition}{nodes}"
    shown = points[-newest:]
    return Trend(
        title=title,
        caption="; ".join(caption),
        header=("Night", with_unit("Value", series.unit), "Note"),
        rows=[(day.isoformat(), figure(value), "out of bounds" if _excess(one, value) else "")
              for day, value in points[-ROWS_LIMIT:]],
        drawing={
            "title": title,
            "caption": "; ".join(caption),
            "unit": with_unit(series.metric, series.unit),
            "worse": one.worse,
            "days": [number[day] for day, _ in shown],
            "values": [_short(value) for _, value in shown],
            "lower": _short(series.lower),
            "upper": _short(series.upper),
            "changes": [number[days[point]] for point in _change_points(one) if days[point] in number],
            "levels": _levels(one, days, number),
        },
    )  # fmt: skip


def _short(value: float) -> float | None:
    """With as many digits as a drawing has; ``None`` unbounded."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _levels(one: Judged, days: list[datetime.date], number: Mapping[datetime.date, int]) -> list[list[float | None]]:
    """(first day, last day, value) before and after a change."""
    finding = one.finding
    if not finding.changed:
        return []
    sections = ((finding.before, days[: finding.at + 1]), (finding.after, days[finding.at :]))
    known = [(level, [number[day] for day in section if day in number]) for level, section in sections]
    return [[min(section), max(section), _short(level)] for level, section in known if section]


def _change_points(one: Judged) -> list[int]:
    """Of a drift, whose beginning is the series' own, none."""
    last = len(one.series.values) - 1
    return [point for point in (*one.finding.points, *([one.finding.at] if one.finding.points == () else []))
            if one.finding.changed and 0 < point <= last]  # fmt: skip
