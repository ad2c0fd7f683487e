"""Plot curves with their bounds, scaling over ranks, and predicted values with measured ones.

The scaling plots follow figures 4 to 8 of the IPST 2023 paper: speed-up, efficiency, Karp-Flatt and parallelisation
cost.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

from kappa.core.ground.figures import figure
from kappa.core.record.evidence import Curve, Scaling
from kappa.core.record.model import Case
from reports.predicted.pairs import PredictedPair, positive
from reports.show.plot import (
    ALARM,
    IDEAL,
    INK,
    SOFT,
    Look,
    Plot,
    count_axis,
    draw_ideal,
    in_binary_unit,
    labels,
    new_figure,
    with_unit,
)
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.state import State

# A chart of fewer points shows no more than their values.
LEAST_POINTS = 3
# A plot with more curves has no legend; hovering names them.
LEGEND_LIMIT = 12
# The checks' name for a curve of speed-ups.
SPEEDUP = "Speed-up"
BOUNDS_CAPTION = "Bounds: the curve must be above ▲ and below ▼. A crossed point is out of bounds."
PAPER_CAPTION = "Crosses: the fabrics of the IPST 2023 paper. Their machines and networks differ from these."
HEAVIEST = "Dashed grey line: limit, because no step is shorter than the heaviest task."
# IPST 2023, section IV: the settled κ′ of each fabric as (ranks, us), and the offset of its label in pixels.
PAPER_KAPPA_US = {
    "NUMAlink 7": (((150, 22),), -6),
    "Superdome Flex Grid": (((128, 19),), 16),
    "InfiniBand QDR": (((17, 90), (128, 105)), -6),
    "InfiniBand HDR": (((48, 11), (96, 11)), 16),
}
# The checks of the paper's application.
PAPER_CHECKS = ("EmtScaling", "EmtSeries")
LABEL = {"text_align": "right", "text_font_size": "11px", "text_color": INK}
PREDICTED_CAPTION = (
    "Each mark is one value, measured (horizontal) and predicted (vertical). On the dashed line both are equal. "
    "Between the dotted lines they agree within the calibration's error. Crosses are limits from specifications alone."
)


def curve_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """Return one plot for each check and quantity with a curve for each case, if one has three points or more."""
    return [_curve_plot(members) for members in _curves(cases) if _is_worth_a_plot(members)]


def without_plot(cases: Sequence[CaseVerdict]) -> list[tuple[str, ...]]:
    """Return (quantity, case, values) of the curves with too few points for a plot."""
    return [
        (_title(members), verdict.title, "; ".join(f"{figure(y)} at {figure(x, 7)}" for x, y in curve.points))
        for members in _curves(cases)
        if not _is_worth_a_plot(members)
        for verdict, curve in members
    ]


def _is_worth_a_plot(members: list[tuple[CaseVerdict, Curve]]) -> bool:
    return any(len(_drawable(curve)) >= LEAST_POINTS for _, curve in members)


def _curves(cases: Sequence[CaseVerdict]) -> list[list[tuple[CaseVerdict, Curve]]]:
    """Return the curves of each check and quantity that have two points or more."""
    groups: dict[tuple[str, ...], list[tuple[CaseVerdict, Curve]]] = {}
    for verdict in cases:
        for name, curve in verdict.case.curves.items():
            if len(_drawable(curve)) > 1:
                key = (verdict.case.check_class or "", name, curve.x, curve.x_unit, curve.y, curve.y_unit)
                groups.setdefault(key, []).append((verdict, curve))
    return list(groups.values())


def _title(members: list[tuple[CaseVerdict, Curve]]) -> str:
    curve = members[0][1]
    return f"{members[0][0].case.check_class}: {curve.y.lower()} over {curve.x.lower()}"


def _drawable(curve: Curve) -> dict[float, float]:
    """Return the points that logarithmic axes can show."""
    return {x: y for x, y in curve.points if positive(x) and positive(y)}


def _curve_plot(members: list[tuple[CaseVerdict, Curve]]) -> Plot:
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
        title=_title(members),
        caption=" ".join(filter(None, (BOUNDS_CAPTION if gated else "", IDEAL if ideal else ""))),
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
    """Return the points of ``curve`` that a bounded metric in the same unit judges: (x, metric)."""
    metrics = {m.metric.name: m for m in verdict.metrics if m.metric.bounded and m.metric.unit == curve.y_unit}
    x_by_text = {f"{x:.17g}": x for x in _drawable(curve)}
    return [
        (x_by_text[x], metrics[name])
        for x, name in curve.gated.items()
        if x in x_by_text and name in metrics and positive(metrics[name].metric.value)
    ]


def _draw_bounds(plot: Any, gated: list[tuple[str, float, MetricVerdict]]) -> None:
    bounds = [
        {"colour": colour, "x": x, "value": metric.metric.value, "bound": bound, "marker": marker}
        for colour, x, metric in gated
        for bound, marker in zip(metric.metric.bounds, ("triangle", "inverted_triangle"), strict=True)
        if positive(bound)
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
    """Set ticks at powers of two, because benchmarks double the message size."""
    low, high = (round(math.log2(size)) for size in (min(sizes), max(sizes)))
    ticks = [2.0**exponent for exponent in range(low, high + 1, max(1, math.ceil((high - low) / 6)))]
    plot.xaxis.ticker = FixedTicker(ticks=ticks)
    plot.xaxis.major_label_overrides = {tick: in_binary_unit(tick, "B") for tick in ticks}


def _rows(curves: list[Curve]) -> list[tuple[str, ...]]:
    values = [dict(curve.points) for curve in curves]
    every_x = sorted({x for points in values for x in points})
    return [(figure(x, 7), *(figure(points[x]) if x in points else "" for points in values)) for x in every_x]


@dataclass(frozen=True)
class ScalingQuantity:
    title: str
    unit: str
    value: Callable[[Scaling], float | None]
    y_axis: str = "linear"
    ideal: bool = False
    #: The best value if no step is shorter than the heaviest task; arguments: φ (us), heaviest task (us), ranks.
    limit: Callable[[float, float, int], float] | None = None


QUANTITIES = (
    ScalingQuantity("Speed-up ψ", "", lambda point: point.speedup, ideal=True, limit=lambda phi, task, _: phi / task),
    ScalingQuantity("Efficiency η", "", lambda point: point.efficiency),
    ScalingQuantity("Karp–Flatt e", "", lambda point: point.karp_flatt),
    ScalingQuantity(
        "Parallelisation cost κ′", "us", lambda point: point.kappa_us, "log",
        limit=lambda phi, task, ranks: task - phi / ranks,
    ),
)  # fmt: skip


@dataclass
class ScalingCurve:
    """Hold the points of one curve by ranks."""

    simulated: bool
    points: dict[int, Scaling]


def scaling_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """Return one plot for each check and quantity, with a curve for each partition, environment and series.

    A check without a series of three points has no plot: its metrics have the values.
    """
    checks: dict[str, list[tuple[Case, Scaling]]] = {}
    for verdict in cases:
        case = verdict.case
        if points := points_of(case):
            checks.setdefault(case.check_class or "", []).extend((case, point) for point in points)
    found = {check: _series(points) for check, points in checks.items()}
    return [
        _scaling_plot(check, quantity, series)
        for check, series in found.items()
        if max(len(one.points) for one in series.values()) >= LEAST_POINTS
        for quantity in QUANTITIES
    ]


def points_of(case: Case) -> tuple[Scaling, ...]:
    """Return the scaling points of a case; empty without any."""
    if case.scaling is None:
        return ()
    return case.scaling if isinstance(case.scaling, tuple) else (case.scaling,)


def _series(points: Sequence[tuple[Case, Scaling]]) -> dict[str, ScalingCurve]:
    """Return the curves by name: partition, environment if the partition has several, and the check's series."""
    environments: dict[str, set[str]] = {}
    for case, _ in points:
        environments.setdefault(case.partition, set()).add(case.environ)
    series: dict[str, ScalingCurve] = {}
    for case, point in points:
        several = [case.environ] if len(environments[case.partition]) > 1 else []
        name = " ".join([case.partition, *several, point.series])
        series.setdefault(name, ScalingCurve(case.simulation is not None, {})).points[point.ranks] = point
    return series


def _scaling_plot(check: str, quantity: ScalingQuantity, series: dict[str, ScalingCurve]) -> Plot:
    beside_paper = quantity.unit == "us" and check in PAPER_CHECKS
    plot = new_figure(300, x_axis_type="log", y_axis_type=quantity.y_axis)
    plot.xaxis.axis_label = "Ranks"
    plot.yaxis.axis_label = with_unit(quantity.title, quantity.unit)
    every_rank = sorted({ranks for one in series.values() for ranks in one.points})
    of_paper = [ranks for places, _ in PAPER_KAPPA_US.values() for ranks, _ in places] if beside_paper else []
    count_axis(plot.xaxis, [*every_rank, *of_paper])
    if quantity.ideal:
        draw_ideal(plot, every_rank)
    limits = {tuple(_limits(one.points, quantity).items()) for one in series.values()} - {()}
    for limit in sorted(limits):
        ranks, values = zip(*limit, strict=True)
        plot.line(ranks, values, color=SOFT, line_dash="dashed", width=1.5)
    looks = {name: Look.of(number, simulated=one.simulated) for number, (name, one) in enumerate(series.items())}
    for name, look in looks.items():
        points = _drawable_values(series[name].points, quantity)
        source = ColumnDataSource(
            {"x": list(points), "y": list(points.values()), "name": [name] * len(points)}
        )  # fmt: skip
        plot.line("x", "y", source=source, color=look.colour, width=2, line_dash=[*map(int, look.dashes.split())])
        dots = plot.scatter("x", "y", source=source, color=look.colour, size=7, marker=look.marker)
        plot.add_tools(HoverTool(renderers=[dots], tooltips=[("curve", "@name"), ("ranks", "@x"), ("value", "@y")]))
    if beside_paper:
        for fabric, (places, offset) in PAPER_KAPPA_US.items():
            ranks, values = zip(*places, strict=True)
            plot.line(ranks, values, color=SOFT, line_dash="dotted")
            plot.scatter(ranks, values, color=SOFT, size=7, marker="x")
            plot.text(ranks[-1:], values[-1:], [fabric], y_offset=offset, **LABEL)
    return Plot(
        title=f"{check}: {quantity.title} over ranks",
        caption=" ".join(
            filter(
                None, (PAPER_CAPTION if beside_paper else IDEAL if quantity.ideal else "", HEAVIEST if limits else "")
            )
        ),
        legend=list(looks.items()),
        item=json_item(plot),
        header=("Ranks", *(with_unit(name, quantity.unit) for name in series)),
        rows=[
            (str(ranks), *(_text(one.points.get(ranks), quantity) for one in series.values())) for ranks in every_rank
        ],
    )


def _limits(points: dict[int, Scaling], quantity: ScalingQuantity) -> dict[int, float]:
    """Return the best values that the heaviest task allows, if a plot can show them."""
    if quantity.limit is None:
        return {}
    found = {
        ranks: quantity.limit(point.phi_us, point.heaviest_task_us, ranks)
        for ranks, point in sorted(points.items())
        if point.phi_us and point.heaviest_task_us
    }
    return {ranks: value for ranks, value in found.items() if value > 0}


def _drawable_values(points: dict[int, Scaling], quantity: ScalingQuantity) -> dict[int, float]:
    found = {ranks: quantity.value(points[ranks]) for ranks in sorted(points)}
    return {
        ranks: value
        for ranks, value in found.items()
        if value is not None and math.isfinite(value) and (value > 0 or quantity.y_axis == "linear")
    }


def _text(point: Scaling | None, quantity: ScalingQuantity) -> str:
    value = quantity.value(point) if point else None
    return "" if value is None else figure(value)


def predicted_plots(found: Sequence[PredictedPair]) -> list[Plot]:
    """Return one plot for each unit."""
    units = sorted({pair.unit for pair in found})
    return [_predicted_plot(unit, [pair for pair in found if pair.unit == unit]) for unit in units]


def _predicted_plot(unit: str, members: Sequence[PredictedPair]) -> Plot:
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
    tips = [("metric", "@name"), ("fabric", "@fabric"), ("measured", "@x"), ("predicted", "@y")]
    plot.add_tools(HoverTool(renderers=[dots], tooltips=tips))
    return Plot(
        title=f"Predicted and measured, {unit}" if unit else "Predicted and measured",
        caption=PREDICTED_CAPTION,
        legend=list(looks.items()),
        item=json_item(plot),
        header=("Metric", with_unit("Measured", unit), with_unit("Predicted", unit), "Fabric"),
        rows=[(pair.name, figure(pair.measured), figure(pair.predicted), pair.fabric) for pair in members],
    )
