"""Bars of what was measured on each node, the nodes side by side by partition, suspects marked."""

import math
from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FactorRange, HoverTool

from kappa.ground.figures import counted, figure
from kappa.record.evidence import PerNode
from reports.show.plot import ALARM, FONT, INK, PALE, Plot, labels, new_figure, with_unit
from reports.show.units import suitable_unit
from reports.verdict.case_verdict import CaseVerdict

# (partition, node), value, suspect
Bar = tuple[tuple[str, str], float, bool]

COLOUR = "#8ebcd6"
# More bars than this have their figures, or even their names, only when hovered.
FIGURES_LIMIT, NAMES_LIMIT = 12, 48


def node_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One plot for each check and figure per node."""
    groups: dict[tuple[str, str, str], list[tuple[CaseVerdict, PerNode]]] = {}
    for verdict in cases:
        for metric, figures in verdict.case.per_node.items():
            if any(map(math.isfinite, figures.values.values())):
                key = (verdict.case.check_class or "", metric, figures.unit)
                groups.setdefault(key, []).append((verdict, figures))
    return [_plot(metric, members) for (_, metric, _), members in groups.items()]


def _plot(metric: str, members: list[tuple[CaseVerdict, PerNode]]) -> Plot:
    (first, figures), *_ = members
    title = f"{first.case.check_class}: {metric} per node"
    bars = _bars(members)
    divisor, unit = suitable_unit(max(abs(value) for _, value, _ in bars), figures.unit)
    bars = [(place, value / divisor, suspect) for place, value, suspect in bars]
    suspects = sum(suspect for _, _, suspect in bars)
    return Plot(
        title=title,
        caption=f"▲ hatched: {counted(suspects, 'suspect node')}" if suspects else "",
        legend=[],
        item=json_item(_draw(bars, with_unit(metric, unit), unit)),
        header=("Partition", "Node", with_unit(metric, unit), ""),
        rows=[(label, node, figure(value), "suspect" if suspect else "") for (label, node), value, suspect in bars],
    )


def _bars(members: list[tuple[CaseVerdict, PerNode]]) -> list[Bar]:
    names = labels([verdict.case for verdict, _ in members])
    return [
        ((name, node), value, verdict.suspicion is not None and node in verdict.suspicion.nodes)
        for (verdict, figures), name in zip(members, names, strict=True)
        for node, value in figures.values.items()
        if math.isfinite(value)
    ]


def _draw(bars: list[Bar], axis_label: str, unit: str) -> Any:
    plot = new_figure(260, x_range=FactorRange(factors=[place for place, _, _ in bars]))
    plot.yaxis.axis_label = axis_label
    plot.xgrid.visible = False
    plot.xaxis.separator_line_color = PALE
    plot.xaxis.group_text_font = FONT
    plot.xaxis.group_text_font_size = "12px"
    plot.xaxis.group_text_font_style = "normal"
    plot.xaxis.group_text_color = INK
    plot.xaxis.major_label_orientation = "horizontal" if len(bars) <= FIGURES_LIMIT else "vertical"
    plot.y_range.range_padding = 0.3  # room for the figures above the bars
    for suspect in (False, True):
        _draw_bars(plot, [bar for bar in bars if bar[2] is suspect], unit, suspect)
    if len(bars) <= FIGURES_LIMIT:
        _write_figures(plot, bars)
    if len(bars) > NAMES_LIMIT:
        plot.xaxis.major_label_text_font_size = "0px"
        plot.xaxis.major_tick_line_color = None
    return plot


def _draw_bars(plot: Any, bars: list[Bar], unit: str, suspect: bool) -> None:
    source = ColumnDataSource(
        {
            "place": [place for place, _, _ in bars],
            "value": [value for _, value, _ in bars],
            "node": [f"{node}{', suspect' if suspect else ''}" for (_, node), _, _ in bars],
            "text": [f"{figure(value)} {unit}" for _, value, _ in bars],
        }
    )
    hatch = {"hatch_pattern": "/", "hatch_color": "white", "hatch_weight": 2} if suspect else {}
    colour = ALARM if suspect else COLOUR
    glyph = plot.vbar("place", 0.7, "value", source=source, color=colour, line_color=None, **hatch)
    plot.add_tools(HoverTool(renderers=[glyph], tooltips=[("node", "@node"), ("value", "@text")]))


def _write_figures(plot: Any, bars: list[Bar]) -> None:
    plot.text(
        [place for place, _, _ in bars],
        [max(value, 0) for _, value, _ in bars],
        [f"▲ {figure(value)}" if suspect else figure(value) for _, value, suspect in bars],
        text_align="center",
        text_baseline="bottom",
        text_font={"value": FONT},
        text_font_size="11px",
        text_color=INK,
        y_offset=-2,
    )
