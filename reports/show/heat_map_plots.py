"""Heat maps of a quantity over two others, for instance a rate over file size and request size."""

from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, LinearColorMapper, LogColorMapper
from bokeh.palettes import Oranges256

from kappa.core.ground.figures import figure
from kappa.core.record.evidence import HeatMap
from reports.show.plot import FONT, INK, Plot, colour_bar, new_figure, with_unit
from reports.verdict.case_verdict import CaseVerdict

# Pale is little, as on a map; one hue, so that it reads without colour, too.
PALETTE = tuple(reversed(Oranges256))


def heat_map_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One heat map for each case and map that has a point."""
    return [
        _plot(verdict, name, found)
        for verdict in cases
        for name, found in verdict.case.heat_maps.items()
        if found.points
    ]


def _plot(verdict: CaseVerdict, name: str, found: HeatMap) -> Plot:
    case = verdict.case
    return Plot(
        title=f"{case.check_class} {case.variant}: {name} on {case.partition}",
        caption=f"{with_unit(found.z, found.z_unit)}. The darker, the more.",
        legend=[],
        item=json_item(_draw(found)),
        header=(with_unit(found.x, found.x_unit), with_unit(found.y, found.y_unit), with_unit(found.z, found.z_unit)),
        rows=[tuple(figure(value) for value in point) for point in found.points],
    )


def _draw(found: HeatMap) -> Any:
    columns, rows = (list(map(figure, sorted({point[axis] for point in found.points}))) for axis in (0, 1))
    values = [z for _, _, z in found.points]
    low, high = min(values), max(values)
    # A uniform map stays pale, and rates span decades.
    scale = LogColorMapper if low > 0 else LinearColorMapper
    top = max(high, 2 * low)
    mapper = scale(palette=PALETTE, low=low, high=top)
    source = ColumnDataSource(
        {
            "x": [figure(x) for x, _, _ in found.points],
            "y": [figure(y) for _, y, _ in found.points],
            "z": values,
            "text": [figure(z, 3) for z in values],
            "ink": ["white" if z * z > low * top else INK for z in values],
        }
    )
    plot = new_figure(80 + 44 * max(len(rows), 3), x_range=columns, y_range=rows)
    plot.rect("x", "y", 1, 1, source=source, fill_color={"field": "z", "transform": mapper}, line_color="white")
    plot.text(
        "x", "y", "text", source=source, text_align="center", text_baseline="middle",
        text_color="ink", text_font={"value": FONT}, text_font_size="11px",
    )  # fmt: skip
    unit = f" {found.z_unit}"
    plot.add_tools(HoverTool(tooltips=[(found.x, "@x"), (found.y, "@y"), (found.z, f"@text{unit}")]))
    plot.grid.visible = False
    plot.xaxis.axis_label = with_unit(found.x, found.x_unit)
    plot.yaxis.axis_label = with_unit(found.y, found.y_unit)
    plot.add_layout(colour_bar(mapper, found.z_unit or found.z), "right")
    return plot
