"""Strong scaling over ranks: speed-up, efficiency, Karp-Flatt and parallelisation cost, as in figures 4 to 8 of the
IPST 2023 paper; the paper's own fabrics are drawn beside the parallelisation cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool

from kappa.ground.figures import figure
from kappa.record.evidence import Scaling
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


CAPTION = "Crosses: the fabrics of the IPST 2023 paper, whose machines and network differ."
QUANTITIES = (
    Quantity("Speed-up ψ", "", lambda point: point.speedup, ideal=True),
    Quantity("Efficiency η", "", lambda point: point.efficiency),
    Quantity("Karp–Flatt e", "", lambda point: point.karp_flatt),
    Quantity("Parallelisation cost κ′", "us", lambda point: point.kappa_us, "log"),
)

# IPST 2023, section IV: where κ′ settles on each fabric, as (ranks, us); and where its label has room, in pixels.
PAPER_KAPPA_US = {
    "NUMAlink 7": (((150, 22),), -6),
    "Superdome Flex Grid": (((128, 19),), 16),
    "InfiniBand QDR": (((17, 90), (128, 105)), -6),
    "InfiniBand HDR": (((48, 11), (96, 11)), 16),
}

LABEL = {"text_align": "right", "text_font_size": "11px", "text_color": INK}

Series = dict[str, dict[int, Scaling]]


def scaling_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One plot for each check and quantity, with a curve for each partition and series of points over ranks."""
    checks: dict[str, Series] = {}
    for verdict in cases:
        case = verdict.case
        if case.scaling:
            series = checks.setdefault(case.check_class or "", {})
            series.setdefault(f"{case.partition} {case.scaling.series}", {})[case.scaling.ranks] = case.scaling
    return [_plot(check, quantity, series) for check, series in checks.items() for quantity in QUANTITIES]


def _plot(check: str, quantity: Quantity, series: Series) -> Plot:
    is_kappa = quantity.unit == "us"
    plot = new_figure(300, x_axis_type="log", y_axis_type=quantity.y_axis)
    plot.xaxis.axis_label = "Ranks"
    plot.yaxis.axis_label = with_unit(quantity.title, quantity.unit)
    every_rank = sorted({ranks for points in series.values() for ranks in points})
    of_paper = [ranks for places, _ in PAPER_KAPPA_US.values() for ranks, _ in places] if is_kappa else []
    count_axis(plot.xaxis, [*every_rank, *of_paper])
    if quantity.ideal:
        draw_ideal(plot, every_rank)
    looks = {name: Look.of(number) for number, name in enumerate(series)}
    for name, look in looks.items():
        points = _drawable(series[name], quantity)
        source = ColumnDataSource(
            {"x": list(points), "y": list(points.values()), "name": [name] * len(points)}
        )  # fmt: skip
        plot.line("x", "y", source=source, color=look.colour, width=2, line_dash=[*map(int, look.dashes.split())])
        dots = plot.scatter("x", "y", source=source, color=look.colour, size=7, marker=look.marker)
        plot.add_tools(HoverTool(renderers=[dots], tooltips=[("curve", "@name"), ("ranks", "@x"), ("value", "@y")]))
    if is_kappa:
        for fabric, (places, offset) in PAPER_KAPPA_US.items():
            ranks, values = zip(*places, strict=True)
            plot.line(ranks, values, color=SOFT, line_dash="dotted")
            plot.scatter(ranks, values, color=SOFT, size=7, marker="x")
            plot.text(ranks[-1:], values[-1:], [fabric], y_offset=offset, **LABEL)
    return Plot(
        title=f"{check}: {quantity.title} over ranks",
        caption=CAPTION if is_kappa else IDEAL if quantity.ideal else "",
        legend=list(looks.items()),
        item=json_item(plot),
        header=("Ranks", *(with_unit(name, quantity.unit) for name in series)),
        rows=[
            (str(ranks), *(_text(points.get(ranks), quantity) for points in series.values())) for ranks in every_rank
        ],
    )


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
