"""Write panels as an HTML file with zoom and pan that needs no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bokeh.embed import file_html
from bokeh.layouts import column
from bokeh.models import BasicTickFormatter, BoxZoomTool, ColumnDataSource, HoverTool, PanTool, WheelZoomTool
from bokeh.models.annotations import Legend, LegendItem
from bokeh.resources import INLINE

from kappa.core.ground.whole_files import write_atomically
from reports.show.plot import PALETTE, new_figure, with_unit
from reports.waveforms.panels import Panel, thinned

HEIGHT_PIXELS, LEGEND_LINE_PIXELS = 300, 23
# A panel with more curves has no legend; hovering names them.
LEGEND_LIMIT = 30
# The most parts of a curve. Further zoom shows single points.
MOST_INTERVALS = 10_000
LINES = ("solid", "dashed", "dotted", "dotdash")


def write_html(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """Write ``panels`` as one HTML file with a common time axis."""
    figures: list[Any] = []
    for panel in panels:
        many = len(panel.curves) > LEGEND_LIMIT
        title = with_unit(panel.title, panel.unit) + (f", {len(panel.curves)} curves" if many else "")
        height = HEIGHT_PIXELS if many else max(HEIGHT_PIXELS, LEGEND_LINE_PIXELS * (len(panel.curves) + 2))
        figure = new_figure(height, vector=False, title=title)
        if figures:
            figure.x_range = figures[0].x_range
        figure.xaxis.axis_label, figure.yaxis.axis_label = "Time (s)", panel.unit
        items = []
        for curve in panel.curves:
            seconds, values = thinned(curve.seconds, curve.values, MOST_INTERVALS)
            source = ColumnDataSource({"seconds": seconds, "values": values})
            line = figure.line(
                "seconds", "values", source=source, name=curve.label, line_width=1.5,
                color=PALETTE[curve.number % len(PALETTE)], line_dash=LINES[curve.run % len(LINES)],
            )  # fmt: skip
            items.append(LegendItem(label={"value": curve.label}, renderers=[line]))
        if not many:
            figure.add_layout(Legend(items=items, click_policy="hide", label_text_font_size="12px"), "right")
        figure.yaxis.formatter = BasicTickFormatter(power_limit_low=-6, power_limit_high=6)
        nearest = HoverTool(tooltips=[("", "$name"), ("time", "@seconds{0.000000} s"), ("value", "@values")])
        figure.add_tools(PanTool(), WheelZoomTool(dimensions="width"), BoxZoomTool(dimensions="width"), nearest)
        figures.append(figure)
    write_atomically(path, file_html(column(figures, sizing_mode="stretch_width"), INLINE, title))
