"""Series over the nights: values, bounds, and where the level changed."""

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.models.annotations import Span

from kappa.ground.figures import allowed, counted, figure
from kappa.ground.node_lists import folded
from reports.history.findings import Kind
from reports.history.gate import Judged
from reports.nightly.night import Night
from reports.show.plot import ALARM, INK, PALETTE, SOFT, Plot, new_time_figure, with_unit

LIMIT = 24
ROWS_LIMIT = 60


def trend_plots(findings: Sequence[Judged], nights: Sequence[Night]) -> list[Plot]:
    """A plot for each series that changed or left its bounds, then for others, ``LIMIT`` in all.

    A value counts for its night, whenever after midnight it was measured.
    """
    days = {session: night.day for night in nights for session in night.sessions}
    shown = [one for one in findings if len(one.series.values) > 1]
    return [_plot(one, days) for one in sorted(shown, key=_rank)[:LIMIT]]


def _rank(one: Judged) -> tuple[bool, bool, float]:
    """Worse first, then other changes, then by how far the worst value is out of its bounds."""
    return not one.worse, not one.finding.changed, -max(_excess(one, value) for value in one.series.values)


def _excess(one: Judged, value: float) -> float:
    series = one.series
    bound = max(series.lower - value, value - series.upper, 0.0)
    return bound / (abs(value) or 1.0) if math.isfinite(bound) else 0.0


def _plot(one: Judged, days: Mapping[str, datetime.date]) -> Plot:
    series = one.series
    nodes = f" {folded(series.nodes.split(','))}" if series.nodes else ", any nodes"
    times = [_moment(row, seconds, days) for row, seconds in zip(series.rows, series.times, strict=True)]
    values = [float(value) for value in series.values]
    outside = sum(_excess(one, value) > 0 for value in values)
    more = " to judge by its past" if one.finding.kind is Kind.THIN else ""
    caption = [one.verdict + (f" since {one.since}" if one.finding.changed else more)]
    caption += [f"{counted(outside, 'value')} out of bounds ({allowed(series.lower, series.upper)})"] if outside else []
    caption += [f"changed at that time: {'; '.join(one.changes)}"] if one.changes else []
    rows: list[tuple[str, ...]] = [(f"{time:%Y-%m-%d}", figure(value), "out of bounds" if _excess(one, value) else "")
            for time, value in zip(times, values, strict=True)]  # fmt: skip
    return Plot(
        title=f"{series.title} – {series.partition}{nodes}",
        caption="; ".join(caption),
        legend=[],
        item=json_item(_draw(one, times, values)),
        header=("Night", with_unit("Value", series.unit), ""),
        rows=rows[-ROWS_LIMIT:],
    )


def _moment(row: str, seconds: float, days: Mapping[str, datetime.date]) -> datetime.datetime:
    """The beginning of the night's day, where the axis has its ticks."""
    day = days.get(row.partition(":")[0])
    if day is None:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(tzinfo=None)
    return datetime.datetime.combine(day, datetime.time())


def _bounds(one: Judged) -> list[float]:
    return [bound for bound in (one.series.lower, one.series.upper) if math.isfinite(bound)]


def _draw(one: Judged, times: list[datetime.datetime], values: list[float]) -> Any:
    finding, series = one.finding, one.series
    plot = new_time_figure(240)
    plot.yaxis.axis_label = with_unit(series.metric, series.unit)
    plot.xaxis.formatter.days = plot.xaxis.formatter.hours = "%d %b"
    for bound in _bounds(one):
        # A bound far away would flatten what is to be seen.
        if min(values) - abs(min(values)) <= bound <= max(values) + abs(max(values)):
            plot.add_layout(Span(location=bound, dimension="width", line_color=ALARM, line_dash="dashed"))
            plot.line([times[0], times[-1]], [bound, bound], line_alpha=0)  # the range has to hold it
    for point in _change_points(one):
        plot.add_layout(Span(location=times[point], dimension="height", line_color=INK, line_dash="dotted"))
    if finding.changed:
        at = finding.at
        for level, section in ((finding.before, times[: at + 1]), (finding.after, times[at:])):
            plot.line([section[0], section[-1]], [level, level], color=INK, line_width=1.5, line_alpha=0.6)
    plot.line(times, values, color=SOFT, line_width=1)
    for outside, marker, colour in ((False, "circle", PALETTE[0]), (True, "diamond", ALARM)):
        members = [(t, v) for t, v in zip(times, values, strict=True) if (_excess(one, v) > 0) is outside]
        source = ColumnDataSource(
            {
                "time": [t for t, _ in members],
                "value": [v for _, v in members],
                "night": [f"{t:%Y-%m-%d}" for t, _ in members],
                "text": [f"{figure(v)} {series.unit}" + (", out of bounds" if outside else "") for _, v in members],
            }
        )
        size = 10 if outside else 6
        glyph = plot.scatter("time", "value", source=source, marker=marker, size=size, color=colour)
        plot.add_tools(HoverTool(renderers=[glyph], tooltips=[("night", "@night"), ("value", "@text")]))
    return plot


def _change_points(one: Judged) -> list[int]:
    """Of a drift, whose beginning is the series' own, none."""
    last = len(one.series.values) - 1
    return [point for point in (*one.finding.points, *([one.finding.at] if one.finding.points == () else []))
            if one.finding.changed and 0 < point <= last]  # fmt: skip
