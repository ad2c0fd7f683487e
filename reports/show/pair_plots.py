"""Heat maps of what was measured between every pair of nodes: how many times slower than the median pair."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LogColorMapper, LogTicker
from bokeh.models.annotations import ColorBar
from bokeh.palettes import Oranges256
from numpy.typing import NDArray

from kappa.ground.figures import counted, figure
from kappa.record.evidence import Matrix
from reports.show.plot import FONT, INK, SOFT, Plot, new_figure, with_unit
from reports.verdict.case_verdict import CaseVerdict

# Up to so many nodes each cell can be hovered and named, or even holds its figure.
CELLS_LIMIT, FIGURES_LIMIT = 64, 10
# The colours start at the median pair and span at least this factor, so that the noise of equal nodes stays pale.
LEAST_SPAN = 4.0
ROWS_LIMIT, TICKS = 50, 20
PALETTE = tuple(reversed(Oranges256))
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
    cells = _cells(matrix, slowdowns)
    missing = sum(cell.value is None for cell in cells)
    worst = sorted(cells, key=lambda cell: -math.inf if math.isnan(cell.slowdown) else -cell.slowdown)[:ROWS_LIMIT]
    shown = f"the worst {ROWS_LIMIT} of {len(cells)}" if len(cells) > ROWS_LIMIT else ""
    return Plot(
        title=f"{verdict.case.check_class}: {name} between nodes of {verdict.case.partition}",
        caption=" ".join(
            part for part in (
                CAPTION,
                f"Hatched: {counted(missing, 'cell')} not measured." if missing else "",
                f"The table has {shown}." if shown else "",
            ) if part
        ),
        legend=[],
        item=json_item(_draw(matrix, slowdowns, cells)),
        header=("From", "To", with_unit(name, matrix.unit), "Times slower than the median pair"),
        rows=[
            (cell.row, cell.column, "not measured" if cell.value is None else figure(cell.value),
             "" if math.isnan(cell.slowdown) else figure(cell.slowdown, 3))
            for cell in worst
        ],
    )  # fmt: skip


def _cells(matrix: Matrix, slowdowns: Floats) -> list[Cell]:
    return [
        Cell(row, column, matrix.values[i][j], float(slowdowns[i, j]))
        for i, row in enumerate(matrix.nodes)
        for j, column in enumerate(matrix.nodes)
        if i != j
    ]


def _draw(matrix: Matrix, slowdowns: Floats, cells: list[Cell]) -> Any:
    known = slowdowns[np.isfinite(slowdowns)]
    mapper = LogColorMapper(palette=PALETTE, low=1.0, high=max(float(known.max()), LEAST_SPAN), nan_color=SOFT)
    small = len(matrix.nodes) <= CELLS_LIMIT
    draw = _draw_cells if small else _draw_image
    plot = draw(matrix, slowdowns, cells, mapper)
    plot.grid.visible = False
    plot.xaxis.axis_label, plot.yaxis.axis_label = "to", "from"
    plot.xaxis.major_label_orientation = "horizontal" if len(matrix.nodes) <= FIGURES_LIMIT else "vertical"
    bar = ColorBar(color_mapper=mapper, ticker=LogTicker(base=2), width=10, title="× slower")
    bar.major_label_text_font = bar.title_text_font = FONT
    bar.title_text_font_style = "normal"
    plot.add_layout(bar, "right")
    return plot


def _draw_cells(matrix: Matrix, slowdowns: Floats, cells: list[Cell], mapper: Any) -> Any:
    names = list(matrix.nodes)
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


def _draw_image(matrix: Matrix, slowdowns: Floats, cells: list[Cell], mapper: Any) -> Any:
    size = len(matrix.nodes)
    plot = new_figure(560, vector=False, x_range=(0, size), y_range=(size, 0))
    # Half of a double's digits are enough to colour a cell.
    glyph = plot.image([slowdowns.astype(np.float32)], x=0, y=0, dw=size, dh=size, color_mapper=mapper)
    plot.add_tools(HoverTool(renderers=[glyph], tooltips=[("times slower than the median pair", "@image{0.00}")]))
    ticks = list(range(0, size, max(1, math.ceil(size / TICKS))))
    for axis in (plot.xaxis, plot.yaxis):
        axis.ticker = FixedTicker(ticks=[tick + 0.5 for tick in ticks])
        axis.major_label_overrides = {tick + 0.5: matrix.nodes[tick] for tick in ticks}
    return plot
