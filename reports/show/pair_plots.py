"""Heat maps of what was measured between every pair of nodes: how many times slower than the median pair."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LinearColorMapper, LogColorMapper, LogTicker
from bokeh.palettes import Oranges256
from numpy.typing import NDArray

from kappa.ground.figures import counted, figure
from kappa.record.evidence import Matrix
from reports.show.plot import FONT, INK, SOFT, Plot, colour_bar, new_figure, with_unit
from reports.verdict.case_verdict import CaseVerdict

# Up to so many nodes each cell can be hovered and named, or even holds its figure.
CELLS_LIMIT, FIGURES_LIMIT = 64, 10
# The colours start at the median pair and span at least this factor, so that the noise of equal nodes stays pale.
LEAST_SPAN = 4.0
ROWS_LIMIT, TICKS, PIXELS_LIMIT = 50, 20, 512
# A shade fewer than a byte has: the last is for what has no figure.
PALETTE = tuple(reversed(Oranges256))[1:]
CAPTION = "The row's node sends to the column's. The darker, the slower."

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    row: str
    column: str
    value: float | None
    slowdown: float


def pair_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """One heat map for each case and matrix that has a figure."""
    return [
        _plot(verdict, name, matrix)
        for verdict in cases
        for name, matrix in verdict.case.matrices.items()
        if np.isfinite(_slowdowns(matrix)).any()
    ]


def _slowdowns(matrix: Matrix) -> Floats:
    """n x n: how many times slower than the median pair; NaN where there is no figure, or none above 0."""
    values = np.array(matrix.values, dtype=float)
    values[~(np.isfinite(values) & (values > 0))] = np.nan
    ratio = values / np.median(values[np.isfinite(values)]) if np.isfinite(values).any() else values
    # Of a rate, less is slower; everything else is a time.
    return 1 / ratio if matrix.unit.endswith("/s") else ratio


def _plot(verdict: CaseVerdict, name: str, matrix: Matrix) -> Plot:
    slowdowns = _slowdowns(matrix)
    size = len(matrix.nodes)
    missing = sum(value is None for i, row in enumerate(matrix.values) for j, value in enumerate(row) if i != j)
    worst = _worst(matrix, slowdowns)
    shown = f"the worst {ROWS_LIMIT} of {size * (size - 1)}" if size * (size - 1) > ROWS_LIMIT else ""
    pixels = f"A pixel is the worst pair of several nodes: there are more than {PIXELS_LIMIT}."
    return Plot(
        title=f"{verdict.case.check_class}: {name} between nodes of {verdict.case.partition}",
        caption=" ".join(
            part for part in (
                f"Figures in {matrix.unit}." if matrix.unit and size <= FIGURES_LIMIT else "",
                CAPTION,
                pixels if size > PIXELS_LIMIT else "",
                f"Hatched: {counted(missing, 'cell')} not measured." if missing and size <= CELLS_LIMIT else "",
                f"Grey: {counted(missing, 'pair')} not measured." if missing and size > CELLS_LIMIT else "",
                f"The table has {shown}." if shown else "",
            ) if part
        ),
        legend=[],
        item=json_item(_draw(matrix, slowdowns)),
        header=("From", "To", with_unit(name, matrix.unit), "Times slower than the median pair"),
        rows=[
            (cell.row, cell.column, "not measured" if cell.value is None else figure(cell.value),
             "" if math.isnan(cell.slowdown) else figure(cell.slowdown, 3))
            for cell in worst
        ],
    )  # fmt: skip


def _worst(matrix: Matrix, slowdowns: Floats) -> list[Cell]:
    """The first ``ROWS_LIMIT`` pairs: those without a figure, then the slowest."""
    order = np.argsort(-np.where(np.isnan(slowdowns), np.inf, slowdowns), axis=None, kind="stable")
    places = (divmod(int(place), len(matrix.nodes)) for place in order)
    pairs = ((i, j) for i, j in places if i != j)
    return [_cell(matrix, slowdowns, i, j) for i, j in itertools.islice(pairs, ROWS_LIMIT)]


def _cells(matrix: Matrix, slowdowns: Floats) -> list[Cell]:
    places = itertools.permutations(range(len(matrix.nodes)), 2)
    return [_cell(matrix, slowdowns, i, j) for i, j in places]


def _cell(matrix: Matrix, slowdowns: Floats, i: int, j: int) -> Cell:
    return Cell(matrix.nodes[i], matrix.nodes[j], matrix.values[i][j], float(slowdowns[i, j]))


def _draw(matrix: Matrix, slowdowns: Floats) -> Any:
    known = slowdowns[np.isfinite(slowdowns)]
    mapper = LogColorMapper(palette=PALETTE, low=1.0, high=max(float(known.max()), LEAST_SPAN), nan_color=SOFT)
    small = len(matrix.nodes) <= CELLS_LIMIT
    draw = _draw_cells if small else _draw_image
    plot = draw(matrix, slowdowns, mapper)
    plot.grid.visible = False
    plot.xaxis.axis_label, plot.yaxis.axis_label = "to", "from"
    plot.xaxis.major_label_orientation = "horizontal" if len(matrix.nodes) <= FIGURES_LIMIT else "vertical"
    plot.add_layout(colour_bar(mapper, "× slower", ticker=LogTicker(base=2)), "right")
    return plot


def _draw_cells(matrix: Matrix, slowdowns: Floats, mapper: Any) -> Any:
    names, cells = list(matrix.nodes), _cells(matrix, slowdowns)
    plot = new_figure(380, x_range=names, y_range=names[::-1])
    for missing in (False, True):
        shown = [cell for cell in cells if (cell.value is None) is missing]
        source = ColumnDataSource(
            {
                "row": [cell.row for cell in shown],
                "column": [cell.column for cell in shown],
                "slowdown": [cell.slowdown for cell in shown],
                "ink": ["white" if cell.slowdown > math.sqrt(mapper.high) else INK for cell in shown],
                "figure": ["–" if cell.value is None else figure(cell.value, 3) for cell in shown],
                "text": [
                    "not measured" if cell.value is None
                    else f"{figure(cell.value)} {matrix.unit}, {figure(cell.slowdown, 3)} × slower than the median pair"
                    for cell in shown
                ],
            }
        )  # fmt: skip
        hatch = {"hatch_pattern": "x", "hatch_color": "white"} if missing else {}
        fill = SOFT if missing else {"field": "slowdown", "transform": mapper}
        glyph = plot.rect("column", "row", 1, 1, source=source, fill_color=fill, line_color="white", **hatch)
        plot.add_tools(HoverTool(renderers=[glyph], tooltips=[("from", "@row"), ("to", "@column"), ("", "@text")]))
        if len(names) <= FIGURES_LIMIT:
            plot.text(
                "column", "row", "figure", source=source, text_align="center", text_baseline="middle",
                text_color="ink", text_font={"value": FONT}, text_font_size="11px",
            )  # fmt: skip
    return plot


def _draw_image(matrix: Matrix, slowdowns: Floats, mapper: Any) -> Any:
    size = len(matrix.nodes)
    plot = new_figure(560, vector=False, x_range=(0, size), y_range=(size, 0))
    image = _shades(_worst_of_blocks(slowdowns), mapper)
    # A byte for each pixel: of 512 nodes the plain figures would be most of the page.
    shades = LinearColorMapper(palette=[*mapper.palette, SOFT], low=-0.5, high=len(mapper.palette) + 0.5)
    plot.image([image], x=0, y=0, dw=size, dh=size, color_mapper=shades)
    ticks = list(range(0, size, max(1, math.ceil(size / TICKS))))
    for axis in (plot.xaxis, plot.yaxis):
        axis.ticker = FixedTicker(ticks=[tick + 0.5 for tick in ticks])
        axis.major_label_overrides = {tick + 0.5: matrix.nodes[tick] for tick in ticks}
    return plot


def _worst_of_blocks(slowdowns: Floats) -> Floats:
    """At most ``PIXELS_LIMIT`` x ``PIXELS_LIMIT``: no screen has a pixel for each pair of a thousand nodes."""
    block = math.ceil(len(slowdowns) / PIXELS_LIMIT)
    if block == 1:
        return slowdowns
    padding = -len(slowdowns) % block
    # What was not measured is no pair's speed, but shall not hide one that was.
    padded = np.pad(np.nan_to_num(slowdowns, nan=-1.0), (0, padding), constant_values=-1.0)
    count = len(padded) // block
    worst = padded.reshape(count, block, count, block).max(axis=(1, 3))
    return np.where(worst < 0, np.nan, worst)


def _shades(slowdowns: Floats, mapper: Any) -> NDArray[np.uint8]:
    """The number of each pixel's colour in the palette of the logarithmic ``mapper``; one more where is no figure."""
    colours = len(mapper.palette)
    share = np.log(np.fmax(slowdowns, mapper.low) / mapper.low) / math.log(mapper.high / mapper.low)
    number = np.clip(np.nan_to_num(share) * colours, 0, colours - 1)
    return np.where(np.isnan(slowdowns), colours, number).astype(np.uint8)
