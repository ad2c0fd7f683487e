"""Render the history as one self-contained HTML page: plots and a table of the changes."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import HoverTool

from kappa.core.ground.figures import counted, figure
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements
from kappa.core.record.actions import Action
from reports.history.dataset import day
from reports.history.findings import FindingKind
from reports.history.judgement import JudgedSeries, exit_status
from reports.history.listing import HEADER, of_series, row, where
from reports.history.robust_statistics import Array
from reports.quarantine.decide import moment, told
from reports.show.html_page import render_page
from reports.show.plot import ALARM, PALETTE, SOFT, Look, Plot, new_time_figure, with_unit
from reports.verdict.state import State

# More plots make the page too long; the table names all findings.
MAX_PLOTS = 40
# More points than pixels only make the page large.
MAX_POINTS = 1000
_STATES = {0: State.PASS, 1: State.FAIL, 2: State.INCOMPLETE}


def render(
    site: str,
    judged: Sequence[JudgedSeries],
    actions: Sequence[Action] = (),
    acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED,
) -> str:
    """Return the page of a site's judged series, worst first, and of the actions on nodes, newest first."""
    changed = [one for one in judged if one.finding.changed]
    plots = [_plot(one) for one in changed[:MAX_PLOTS]]
    worse = sum(one.worse for one in judged)
    headline = f"{counted(worse, 'series', 'series')} worse than before" if worse else "no series is worse than before"
    return render_page(
        "history.html.j2",
        plots,
        {},
        site=site,
        state=_STATES[exit_status(judged)],
        headline=headline if exit_status(judged) != 2 else "all series have too few values",
        tally=Counter(one.verdict for one in judged).most_common(),
        series=len(judged),
        values=sum(len(one.series.values) for one in judged),
        span=_span(judged),
        header=HEADER,
        rows=[(one.worse, row(one), acknowledged.of(of_series(one))) for one in changed],
        plots=plots,
        undrawn=len(changed) - len(plots),
        actions=[f"{moment(action.time)} {told(action)}" for action in reversed(actions)],
    )


def _span(judged: Sequence[JudgedSeries]) -> str:
    times = [one.series.times for one in judged]
    if not times:
        return ""
    return f"{day(min(float(part[0]) for part in times))} to {day(max(float(part[-1]) for part in times))} UTC"


def _plot(one: JudgedSeries) -> Plot:
    series, finding = one.series, one.finding
    shown = np.unique(np.linspace(0, len(series.values) - 1, min(len(series.values), MAX_POINTS)).astype(int))
    milliseconds = series.times * 1000
    plot = new_time_figure(260)
    plot.yaxis.axis_label = with_unit(series.metric, series.unit)
    look = Look.of(0)
    data = {"x": milliseconds[shown].tolist(), "y": series.values[shown].tolist()}
    dots = plot.scatter("x", "y", source=data, color=look.colour, size=5, marker=look.marker)
    tooltips = [("at", "@x{%F %H:%M}"), (series.metric, "@y")]
    plot.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, formatters={"@x": "datetime"}))
    for at, level in _levels(one):
        plot.line(milliseconds[at].tolist(), level.tolist(), color=PALETTE[1], line_width=2)
    if finding.at:
        plot.vspan(x=[float(milliseconds[finding.at])], line_color=ALARM, line_dash="dashed")
    for bound in (series.lower, series.upper):
        if math.isfinite(bound) and _near(bound, series.values):
            plot.hspan(y=[bound], line_color=SOFT, line_dash="dotted")
    return Plot(
        title=f"{series.title} on {where(series)}: {one.verdict} since {one.since}",
        caption="; ".join(one.changes) or "no recorded fact changed at that time",
        legend=[],
        item=json_item(plot),
        header=("Time (UTC)", with_unit(series.metric, series.unit)),
        rows=[(day(float(series.times[at])), figure(float(series.values[at]), 6)) for at in shown],
    )


def _levels(one: JudgedSeries) -> list[tuple[Any, Array]]:
    """Return the lines of the finding: the slope of a drift, or the levels before and after a step or an outlier."""
    finding, last = one.finding, len(one.series.values) - 1
    begins = finding.before if finding.kind is FindingKind.DRIFT else finding.after
    after = np.array([finding.at, last]), np.array([begins, finding.after])
    start = max((point for point in finding.points if point < finding.at), default=0)
    before = np.array([start, finding.at - 1]), np.array([finding.before] * 2)
    return [before, after] if start < finding.at else [after]


def _near(bound: float, values: Array) -> bool:
    """Return whether the plot can show a bound without flattening the series."""
    low, high = float(values.min()), float(values.max())
    room = 2 * max(high - low, 0.05 * abs(high))
    return low - room <= bound <= high + room
