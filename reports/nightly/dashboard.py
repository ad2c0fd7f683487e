"""Render the dashboard: one self-contained HTML page of all nights of a site, with every series over time."""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground import figures, node_lists
from kappa.core.ground.figures import allowed, counted, figure
from reports.history.findings import FindingKind
from reports.history.judgement import MIN_VALUES, JudgedSeries
from reports.history.listing import HEADER, of_series
from reports.history.listing import row as finding_row
from reports.nightly.archive import Archive, months, node_coverage
from reports.nightly.message import acknowledged_findings, changes_between, first_step
from reports.nightly.night import Night
from reports.nightly.night_findings import of_problem
from reports.show.html_page import OWN, render_page
from reports.show.plot import with_unit
from reports.verdict.state import State

# The number of series drawn when the page opens; the reader can choose others.
LIMIT = 24
ROWS_LIMIT = 60
# The most values of all series together, and the least per series. With many nodes, a series has fewer old values.
VALUES_LIMIT, LEAST_VALUES = 200_000, 30
# Months that are shown unfolded; earlier months are folded by year.
RECENT_MONTHS = 12
RECENT_NIGHTS = 30
FINDINGS_LIMIT = 50


@dataclass(frozen=True)
class Trend:
    """Hold a series over time.

    ``rows`` have the columns of ``header``, oldest first; ``drawing`` is the input of the page's script.
    """

    title: str
    caption: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    drawing: dict[str, Any]


@dataclass(frozen=True)
class Trends:
    """Hold all series: ``shown`` are drawn first; ``drawings`` are all of them in the same order, over ``days``."""

    shown: list[Trend]
    days: list[str]
    drawings: list[dict[str, Any]]


def trends(findings: Sequence[JudgedSeries], nights: Sequence[Night]) -> Trends:
    """Return every series with at least two values; changed series and series out of bounds come first.

    A value counts for its night, even if it was measured after midnight.
    """
    of_night = {session: night.day for night in nights for session in night.sessions}
    ranked = sorted((one for one in findings if len(one.series.values) > 1), key=_rank)
    newest = max(VALUES_LIMIT // max(len(ranked), 1), LEAST_VALUES)
    dated = [(one, _days(one, of_night)) for one in ranked]
    days = sorted({day for _, members in dated for day in members[-newest:]})
    number = {day: index for index, day in enumerate(days)}
    drawn = [_trend(one, members, number, newest) for one, members in dated]
    return Trends(drawn[:LIMIT], [day.isoformat() for day in days], [one.drawing for one in drawn])


def _rank(one: JudgedSeries) -> tuple[bool, bool, float]:
    """Return the sort key: worse series first, then other changes, then the values farthest out of bounds."""
    return not one.worse, not one.finding.changed, -max(_excess(one, value) for value in one.series.values)


def _excess(one: JudgedSeries, value: float) -> float:
    series = one.series
    bound = max(series.lower - value, value - series.upper, 0.0)
    return bound / (abs(value) or 1.0) if math.isfinite(bound) else 0.0


def _days(one: JudgedSeries, of_night: Mapping[str, datetime.date]) -> list[datetime.date]:
    """Return the day of each value: the day of its night, or else the day of the measurement."""
    return [
        of_night.get(row.partition(":")[0]) or datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
        for row, seconds in zip(one.series.rows, one.series.times, strict=True)
    ]


def _trend(one: JudgedSeries, days: list[datetime.date], number: Mapping[datetime.date, int], newest: int) -> Trend:
    series, finding = one.series, one.finding
    nodes = f" {series.folded_nodes}" if series.nodes else ", any nodes"
    # Sort by day, then by time: a run by hand today may end before the night that began yesterday.
    points = sorted(zip(days, map(float, series.values), strict=True), key=lambda point: point[0])
    outside = sum(_excess(one, value) > 0 for _, value in points)
    more = f" for a comparison with its past: {len(points)} of {MIN_VALUES}" if finding.kind is FindingKind.THIN else ""
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
    """Return the value with five digits, enough for a drawing; ``None`` for an infinite bound."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _levels(
    one: JudgedSeries, days: list[datetime.date], number: Mapping[datetime.date, int]
) -> list[list[float | None]]:
    """Return [first day, last day, value] before and after a change."""
    finding = one.finding
    if not finding.changed:
        return []
    sections = ((finding.before, days[: finding.at + 1]), (finding.after, days[finding.at :]))
    known = [(level, [number[day] for day in section if day in number]) for level, section in sections]
    return [[min(section), max(section), _short(level)] for level, section in known if section]


def _change_points(one: JudgedSeries) -> list[int]:
    """Return the indices of the change points; a drift has none, because it begins with the series."""
    last = len(one.series.values) - 1
    return [point for point in (*one.finding.points, *([one.finding.at] if one.finding.points == () else []))
            if one.finding.changed and 0 < point <= last]  # fmt: skip


def render(site: str, archive: Archive, findings: list[JudgedSeries]) -> str:
    """Return the page of ``archive``, which has at least one night. Every value from reports is escaped."""
    now = archive.nights[-1]
    series = trends(findings, archive.nights)
    calendar = months(archive.nights)
    changed = [one for one in findings if one.finding.changed]
    functions = {
        "State": State,
        "counted": figures.counted,
        "coverage": node_coverage,
        "duration": figures.duration,
        "finding_row": finding_row,
        "folded": node_lists.folded,
    }
    return render_page(
        "nightly.html.j2",
        [],
        functions,
        own=(*OWN, "trends.js"),
        site=site,
        archive=archive,
        now=now,
        change=changes_between(archive.before, now, findings),
        before=archive.before,
        first_step=first_step(now, findings, archive.acknowledged),
        acknowledged=acknowledged_findings(archive, findings),
        known_problem=lambda problem: archive.acknowledged.of(of_problem(now, problem)),
        known_series=lambda one: archive.acknowledged.of(of_series(one)),
        recent=calendar[:RECENT_MONTHS],
        earlier=calendar[RECENT_MONTHS:],
        nights=archive.nights[: -RECENT_NIGHTS - 1 : -1],
        findings=findings,
        changed=changed[:FINDINGS_LIMIT],
        header=HEADER,
        changed_in_all=len(changed),
        trends=series,
        drawings={"days": series.days, "series": series.drawings},
        thin=sum(one.finding.kind is FindingKind.THIN for one in findings),
        least=MIN_VALUES,
        suspects=_suspects(archive),
    )


def _suspects(archive: Archive) -> list[tuple[str, int, str, str, tuple[str, ...]]]:
    """Return (node, number of recent nights as a suspect, first night, last night, evidence of the last night).

    The suspects of the newest night come first, then the most frequent.
    """
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for night in archive.nights[-RECENT_NIGHTS:]:
        for node, evidence in night.suspects.items():
            found.setdefault(node, []).append((night.night, evidence))
    rows = [(node, len(times), times[0][0], times[-1][0], times[-1][1]) for node, times in found.items()]
    newest = archive.nights[-1].night
    return sorted(rows, key=lambda row: (row[3] != newest, -row[1], row[0]))
