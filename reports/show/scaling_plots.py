"""Scaling over ranks: speed-up, efficiency, Karp-Flatt and parallelisation cost, as in figures 4 to 8 of the
IPST 2023 paper; the paper's own fabrics are drawn beside the parallelisation cost of its application, so is what the
heaviest task allows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool

from kappa.core.ground.figures import figure
from kappa.core.record.evidence import Scaling
from kappa.core.record.model import Case
from reports.show.plot import INK, SOFT, Look, Plot, new_figure, with_unit
from reports.show.scaling_axes import IDEAL, count_axis, draw_ideal
from reports.verdict.case_verdict import CaseVerdict


@dataclass(frozen=True)
class Quantity:
    title: str
    unit: str
    value: Callable[[Scaling], float | None]
    y_axis: str = "linear"
    ideal: bool = False
    #: The best that a step which is not shorter than its heaviest task allows, of φ, that task and the ranks.
    limit: Callable[[float, float, int], float] | None = None


CAPTION = "Crosses: the fabrics of the IPST 2023 paper, whose machines and network differ."
QUANTITIES = (
    Quantity("Speed-up ψ", "", lambda point: point.speedup, ideal=True, limit=lambda phi, task, _: phi / task),
    Quantity("Efficiency η", "", lambda point: point.efficiency),
    Quantity("Karp–Flatt e", "", lambda point: point.karp_flatt),
    Quantity(
        "Parallelisation cost κ′", "us", lambda point: point.kappa_us, "log",
        limit=lambda phi, task, ranks: task - phi / ranks,
    ),
)  # fmt: skip
HEAVIEST = "Dashed grey: no step is shorter than the heaviest task."

# IPST 2023, section IV: where κ′ settles on each fabric, as (ranks, us); and where its label has room, in pixels.
PAPER_KAPPA_US = {
    "NUMAlink 7": (((150, 22),), -6),
    "Superdome Flex Grid": (((128, 19),), 16),
    "InfiniBand QDR": (((17, 90), (128, 105)), -6),
    "InfiniBand HDR": (((48, 11), (96, 11)), 16),
}

# The checks of the paper's application.
PAPER_CHECKS = ("EmtScaling", "EmtSeries")

LABEL = {"text_align": "right", "text_font_size": "11px", "text_color": INK}



@dataclass
class Series:
    """Points of one curve, by ranks."""

    simulated: bool
    points: dict[int, Scaling]


def scaling_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One plot for each check and quantity, with a curve for each place and series of points over ranks."""
    checks: dict[str, list[tuple[Case, Scaling]]] = {}
    for verdict in cases:
        case = verdict.case
        if points := points_of(case):
            checks.setdefault(case.check_class or "", []).extend((case, point) for point in points)
    found = {check: _series(points) for check, points in checks.items()}
    return [_plot(check, quantity, series) for check, series in found.items() for quantity in QUANTITIES]


def points_of(case: Case) -> tuple[Scaling, ...]:
    if case.scaling is None:
        return ()
    return case.scaling if isinstance(case.scaling, tuple) else (case.scaling,)


def _series(points: Sequence[tuple[Case, Scaling]]) -> dict[str, Series]:
    """By partition, environment where a partition has several, and what the check calls a series."""
    environments: dict[str, set[str]] = {}
    for case, _ in points:
        environments.setdefault(case.partition, set()).add(case.environ)
    series: dict[str, Series] = {}
    for case, point in points:
        several = [case.environ] if len(environments[case.partition]) > 1 else []
        name = " ".join([case.partition, *several, point.series])
        series.setdefault(name, Series(case.simulation is not None, {})).points[point.ranks] = point
    return series


def _plot(check: str, quantity: Quantity, series: dict[str, Series]) -> Plot:
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
        points = _drawable(series[name].points, quantity)
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
            filter(None, (CAPTION if beside_paper else IDEAL if quantity.ideal else "", HEAVIEST if limits else ""))
        ),
        legend=list(looks.items()),
        item=json_item(plot),
        header=("Ranks", *(with_unit(name, quantity.unit) for name in series)),
        rows=[
            (str(ranks), *(_text(one.points.get(ranks), quantity) for one in series.values())) for ranks in every_rank
        ],
    )


def _limits(points: dict[int, Scaling], quantity: Quantity) -> dict[int, float]:
    """What can be drawn of the best that the heaviest task allows."""
    if quantity.limit is None:
        return {}
    found = {
        ranks: quantity.limit(point.phi_us, point.heaviest_task_us, ranks)
        for ranks, point in sorted(points.items())
        if point.phi_us and point.heaviest_task_us
    }
    return {ranks: value for ranks, value in found.items() if value > 0}


def _drawable(points: dict[int, Scaling], quantity: Quantity) -> dict[int, float]:
    found = {ranks: quantity.value(points[ranks]) for ranks in sorted(points)}
    return {
        ranks: value
        for ranks, value in found.items()
        if value is not None and math.isfinite(value) and (value > 0 or quantity.y_axis == "linear")
    }


def _text(point: Scaling | None, quantity: Quantity) -> str:
    value = quantity.value(point) if point else None
    return "" if value is None else figure(value)
