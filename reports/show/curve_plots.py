"""Curves, for instance of latency over message size, on logarithmic axes with the bounds of what is gated."""

import math
from collections.abc import Sequence
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

from kappa.core.ground.figures import figure
from kappa.core.record.evidence import Curve
from reports.show.plot import ALARM, Look, Plot, labels, new_figure, with_unit
from reports.show.scaling_axes import IDEAL, count_axis, draw_ideal
from reports.show.units import in_binary_unit
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.state import State

# More curves than this get no legend; hovering names them.
LEGEND_LIMIT = 12
# What a curve of speed-ups is called by the checks that have one.
SPEEDUP = "Speed-up"
CAPTION = "Bounds: the curve has to be above ▲ and below ▼; a crossed point is out of bounds."


def curve_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One plot for each check and quantity, with a curve for each case that has one of two points or more."""
    groups: dict[tuple[str, ...], list[tuple[CaseVerdict, Curve]]] = {}
    for verdict in cases:
        for name, curve in verdict.case.curves.items():
            if len(_drawable(curve)) > 1:
                key = (verdict.case.check_class or "", name, curve.x, curve.x_unit, curve.y, curve.y_unit)
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
    few = len(members) <= LEGEND_LIMIT
    plot = new_figure(340, vector=few, x_axis_type="log", y_axis_type="log")
    plot.xaxis.axis_label = first.x if in_bytes else with_unit(first.x, first.x_unit)
    plot.yaxis.axis_label = with_unit(first.y, first.y_unit)
    if in_bytes:
        _binary_ticks(plot, [x for _, curve in members for x in _drawable(curve)])
    counts = [x for _, curve in members for x in _drawable(curve)]
    counted = not first.x_unit and all(x.is_integer() for x in counts)
    ideal = counted and first.y.startswith(SPEEDUP)
    if counted:
        count_axis(plot.xaxis, counts)
    if ideal:
        draw_ideal(plot, counts)
    names = labels([verdict.case for verdict, _ in members])
    looks = [
        Look.of(number, simulated=verdict.case.simulation is not None) for number, (verdict, _) in enumerate(members)
    ]
    curves = list(zip(names, looks, [curve for _, curve in members], strict=True))
    _draw_lines(plot, curves)
    _draw_points(plot, curves)
    gated = [
        (look.colour, x, metric)
        for look, (verdict, curve) in zip(looks, members, strict=True)
        for x, metric in _gated(verdict, curve)
    ]
    _draw_bounds(plot, gated)
    return Plot(
        title=f"{members[0][0].case.check_class}: {first.y.lower()} over {first.x.lower()}",
        caption=" ".join(filter(None, (CAPTION if gated else "", IDEAL if ideal else ""))),
        legend=list(zip(names, looks, strict=True)) if few else [],
        item=json_item(plot),
        header=(with_unit(first.x, first.x_unit), *(with_unit(name, first.y_unit) for name in names)),
        rows=_rows([curve for _, curve in members]),
    )


def _draw_lines(plot: Any, curves: list[tuple[str, Look, Curve]]) -> None:
    source = ColumnDataSource(
        {
            "xs": [list(_drawable(curve)) for _, _, curve in curves],
            "ys": [list(_drawable(curve).values()) for _, _, curve in curves],
            "colour": [look.colour for _, look, _ in curves],
            "dashes": [[*map(int, look.dashes.split())] for _, look, _ in curves],
        }
    )
    plot.multi_line("xs", "ys", source=source, color="colour", line_width=2, line_dash="dashes")


def _draw_points(plot: Any, curves: list[tuple[str, Look, Curve]]) -> None:
    points = [(name, look, curve, x, y) for name, look, curve in curves for x, y in _drawable(curve).items()]
    source = ColumnDataSource(
        {
            "x": [x for *_, x, _ in points],
            "y": [y for *_, y in points],
            "colour": [look.colour for _, look, *_ in points],
            "marker": [look.marker for _, look, *_ in points],
            "name": [name for name, *_ in points],
            "at": [in_binary_unit(x, curve.x_unit) for _, _, curve, x, _ in points],
            "value": [f"{figure(y)} {curve.y_unit}" for _, _, curve, _, y in points],
        }
    )
    dots = plot.scatter("x", "y", source=source, color="colour", size=6, marker="marker")
    _, _, first, *_ = points[0]
    plot.add_tools(HoverTool(renderers=[dots], tooltips=[("curve", "@name"), (first.x, "@at"), (first.y, "@value")]))


def _gated(verdict: CaseVerdict, curve: Curve) -> list[tuple[float, MetricVerdict]]:
    """The points of ``curve`` that a bounded metric in the same unit gates: (x, metric)."""
    metrics = {m.metric.name: m for m in verdict.metrics if m.bounded and m.metric.unit == curve.y_unit}
    x_by_text = {f"{x:.17g}": x for x in _drawable(curve)}
    return [
        (x_by_text[x], metrics[name])
        for x, name in curve.gated.items()
        if x in x_by_text and name in metrics and _positive(metrics[name].metric.value)
    ]


def _draw_bounds(plot: Any, gated: list[tuple[str, float, MetricVerdict]]) -> None:
    bounds = [
        {"colour": colour, "x": x, "value": metric.metric.value, "bound": bound, "marker": marker}
        for colour, x, metric in gated
        for bound, marker in ((metric.lower, "triangle"), (metric.upper, "inverted_triangle"))
        if _positive(bound)
    ]
    if bounds:
        source = ColumnDataSource({key: [bound[key] for bound in bounds] for key in bounds[0]})
        plot.segment("x", "value", "x", "bound", source=source, color="colour", line_dash="dotted", line_alpha=0.7)
        hollow = {"line_color": "colour", "fill_color": "white", "line_width": 1.5}
        plot.scatter("x", "bound", source=source, marker="marker", size=10, **hollow)
    failed = [(x, metric.metric.value) for _, x, metric in gated if metric.state is State.FAIL]
    if failed:
        plot.scatter([x for x, _ in failed], [y for _, y in failed], marker="x", size=14, color=ALARM, line_width=3)


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
