"""Predicted against measured, one mark for each figure: on the diagonal they agree."""

from collections.abc import Sequence

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool

from kappa.core.ground.figures import figure
from reports.predicted.pairs import Pair
from reports.show.plot import SOFT, Look, Plot, new_figure, with_unit

CAPTION = (
    "Each mark is one figure, measured (across) and predicted (up); on the dashed line both agree, between the dotted "
    "ones within the error that the calibration stated. Crosses are limits from specifications alone."
)


def predicted_plots(found: Sequence[Pair]) -> list[Plot]:
    """A plot for each unit."""
    units = sorted({pair.unit for pair in found})
    return [_plot(unit, [pair for pair in found if pair.unit == unit]) for unit in units]


def _plot(unit: str, members: Sequence[Pair]) -> Plot:
    plot = new_figure(360, x_axis_type="log", y_axis_type="log")
    plot.xaxis.axis_label, plot.yaxis.axis_label = with_unit("Measured", unit), with_unit("Predicted", unit)
    values = [value for pair in members for value in (pair.measured, pair.predicted)]
    ends = [min(values) / 1.5, max(values) * 1.5]
    plot.line(ends, ends, color=SOFT, line_dash="dashed")
    for error in sorted({pair.error for pair in members if pair.error}):
        for factor in (error, 1 / error):
            plot.line(ends, [end * factor for end in ends], color=SOFT, line_dash="dotted")
    fabrics = sorted({pair.fabric for pair in members})
    looks = {fabric: Look.of(number, simulated=True) for number, fabric in enumerate(fabrics)}
    source = ColumnDataSource(
        {
            "x": [pair.measured for pair in members],
            "y": [pair.predicted for pair in members],
            "name": [pair.name for pair in members],
            "fabric": [pair.fabric for pair in members],
            "colour": [looks[pair.fabric].colour for pair in members],
            "marker": ["x" if pair.error is None else looks[pair.fabric].marker for pair in members],
        }
    )
    dots = plot.scatter("x", "y", source=source, color="colour", marker="marker", size=8, fill_alpha=0.5)
    tips = [("figure", "@name"), ("fabric", "@fabric"), ("measured", "@x"), ("predicted", "@y")]
    plot.add_tools(HoverTool(renderers=[dots], tooltips=tips))
    return Plot(
        title=f"Predicted beside measured, {unit}" if unit else "Predicted beside measured",
        caption=CAPTION,
        legend=list(looks.items()),
        item=json_item(plot),
        header=("Figure", with_unit("Measured", unit), with_unit("Predicted", unit), "Fabric"),
        rows=[(pair.name, figure(pair.measured), figure(pair.predicted), pair.fabric) for pair in members],
    )
