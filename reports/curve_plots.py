"""Curves, for instance of latency over message size, on logarithmic axes with the bounds of what is gated."""

import math
from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

from reports.case_verdict import CaseVerdict
from reports.figures import figure
from reports.metric_verdict import MetricVerdict
from reports.model import Curve
from reports.plot import ALARM, Look, Plot, labels, new_figure, with_unit
from reports.state import State
from reports.units import in_binary_unit

# More curves than this get no legend; hovering names them.
LEGEND_LIMIT = 12
CAPTION = "Bounds: the curve has to be above ▲ and below ▼; a crossed point is out of bounds."


def curve_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One plot for each check and quantity, with a curve for each case that has one of two points or more."""
    groups: dict[tuple[str, ...], list[tuple[CaseVerdict, Curve]]] = {}
    for verdict in cases:
        for curve in verdict.case.curves:
            if len(_drawable(curve)) > 1:
                key = (verdict.case.check_class or "", curve.name, curve.x, curve.x_unit, curve.y, curve.y_unit)
                groups.setdefault(key, []).append((verdict, curve))
    return [_plot(members) for members in groups.values()]


def _drawable(curve: Curve) -> dict[float, float]:
    """The points that logarithmic axes can show."""
    return {x: y for x, y in curve.points if _positive(x) and _positive(y)}


def _positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _plot(members: list[tuple[CaseVerdict, Curve]]) -> Plot:
    first = members[0][1]
    in_bytes = first.x_unit == "B"
    plot = new_figure(340, x_axis_type="log", y_axis_type="log")
    plot.xaxis.axis_label = first.x if in_bytes else with_unit(first.x, first.x_unit)
    plot.yaxis.axis_label = with_unit(first.y, first.y_unit)
    if in_bytes:
        _binary_ticks(plot, [x for _, curve in members for x in _drawable(curve)])
    names = labels([verdict.case for verdict, _ in members])
    looks = [Look.of(number) for number in range(len(members))]
    bounds = [_bounds(verdict, curve) for verdict, curve in members]
    for (_, curve), name, look, gated in zip(members, names, looks, bounds, strict=True):
        _draw_curve(plot, curve, name, look)
        for x, metric in gated:
            _draw_bounds(plot, x, metric, look.colour)
    return Plot(
        title=f"{members[0][0].case.check_class}: {first.y.lower()} over {first.x.lower()}",
        caption=CAPTION if any(bounds) else "",
        legend=list(zip(names, looks, strict=True)) if len(members) <= LEGEND_LIMIT else [],
        item=json_item(plot),
        header=(with_unit(first.x, first.x_unit), *(with_unit(name, first.y_unit) for name in names)),
        rows=_rows([curve for _, curve in members]),
    )


def _draw_curve(plot: Any, curve: Curve, name: str, look: Look) -> None:
    points = _drawable(curve)
    source = ColumnDataSource(
        {
            "x": list(points),
            "y": list(points.values()),
            "at": [in_binary_unit(x, curve.x_unit) for x in points],
            "value": [f"{figure(y)} {curve.y_unit}" for y in points.values()],
            "name": [name] * len(points),
        }
    )
    plot.line("x", "y", source=source, color=look.colour, width=2, line_dash=[*map(int, look.dashes.split())])
    dots = plot.scatter("x", "y", source=source, color=look.colour, size=6, marker=look.marker)
    plot.add_tools(HoverTool(renderers=[dots], tooltips=[("curve", "@name"), (curve.x, "@at"), (curve.y, "@value")]))


def _bounds(verdict: CaseVerdict, curve: Curve) -> list[tuple[float, MetricVerdict]]:
    """The points of ``curve`` that a bounded metric in the same unit gates: (x, metric)."""
    metrics = {m.metric.name: m for m in verdict.metrics if m.bounded and m.metric.unit == curve.y_unit}
    x_by_text = {f"{x:.17g}": x for x in _drawable(curve)}
    return [
        (x_by_text[x], metrics[name])
        for x, name in curve.gated.items()
        if x in x_by_text and name in metrics and _positive(metrics[name].metric.value)
    ]


def _draw_bounds(plot: Any, x: float, verdict: MetricVerdict, colour: str) -> None:
    value = verdict.metric.value
    for bound, marker in ((verdict.lower, "triangle"), (verdict.upper, "inverted_triangle")):
        if _positive(bound):
            plot.segment([x], [value], [x], [bound], color=colour, line_dash="dotted", line_alpha=0.7)
            plot.scatter([x], [bound], marker=marker, size=10, line_color=colour, fill_color="white", line_width=1.5)
    if verdict.state is State.FAIL:
        plot.scatter([x], [value], marker="x", size=14, color=ALARM, line_width=3)


def _binary_ticks(plot: Any, sizes: list[float]) -> None:
    """Ticks at powers of two: benchmarks double the message size."""
    low, high = (round(math.log2(size)) for size in (min(sizes), max(sizes)))
    ticks = [2.0**exponent for exponent in range(low, high + 1, max(1, math.ceil((high - low) / 6)))]
    plot.xaxis.ticker = FixedTicker(ticks=ticks)
    plot.xaxis.major_label_overrides = {tick: in_binary_unit(tick, "B") for tick in ticks}


def _rows(curves: list[Curve]) -> list[tuple[str, ...]]:
    values = [dict(curve.points) for curve in curves]
    every_x = sorted({x for points in values for x in points})
    return [(figure(x, 7), *(figure(points[x]) if x in points else "" for points in values)) for x in every_x]
