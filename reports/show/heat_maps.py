"""Draw heat maps: of a quantity over two others, and of measurements between every pair of nodes."""

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

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted, figure
from kappa.core.record.evidence import HeatMap, Matrix
from kappa.core.record.matrices import Floats, values_of
from reports.show.plot import FONT, INK, SOFT, Plot, colour_bar, new_figure, with_unit
from reports.verdict.case_verdict import CaseVerdict

# Pale is little, as on a map. One hue also reads without colour.
PALETTE = tuple(reversed(Oranges256))
# Up to so many nodes, each cell shows its names on hover, or even contains its value.
CELLS_LIMIT, FIGURES_LIMIT = 64, 10
# The colours start at the median pair and span at least this factor, so that noise stays pale.
LEAST_SPAN = 4.0
ROWS_LIMIT, TICKS, PIXELS_LIMIT = 50, 20, 512
# One shade less than a byte has values: the last is for pairs without a value.
PAIR_PALETTE = tuple(reversed(Oranges256))[1:]
CAPTION = "The row's node sends to the column's node. A darker cell is slower."


def heat_map_plots(cases: Sequence[CaseVerdict]) -> list[Plot]:
    """Return one heat map for each case and map with a point."""
    return [
        _map_plot(verdict, name, found)
        for verdict in cases
        for name, found in verdict.case.heat_maps.items()
        if found.points
    ]


def _map_plot(verdict: CaseVerdict, name: str, found: HeatMap) -> Plot:
    case = verdict.case
    return Plot(
        title=f"{case.check_class} {case.variant}: {name} on {case.partition}",
        caption=f"{with_unit(found.z, found.z_unit)}. A darker cell is a larger value.",
        legend=[],
        item=json_item(_draw_map(found)),
        header=(with_unit(found.x, found.x_unit), with_unit(found.y, found.y_unit), with_unit(found.z, found.z_unit)),
        rows=[tuple(figure(value) for value in point) for point in found.points],
    )


def _draw_map(found: HeatMap) -> Any:
    columns, rows = (list(map(figure, sorted({point[axis] for point in found.points}))) for axis in (0, 1))
    values = [z for _, _, z in found.points]
    low, high = min(values), max(values)
    # A uniform map stays pale. Rates span decades, so their scale is logarithmic.
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


@dataclass(frozen=True)
class PairCell:
    row: str
    column: str
    value: float
    slowdown: float


@dataclass(frozen=True)
class PairMatrix:
    """Hold a matrix with a value; ``values`` and ``slowdowns`` are n x n, NaN for a missing value."""

    matrix: Matrix
    values: Floats
    slowdowns: Floats

    @classmethod
    def of(cls, matrix: Matrix, values: Floats) -> "PairMatrix":
        return cls(matrix, values, _slowdowns(matrix, values))

    def shows(self, i: int, j: int) -> bool:
        """Return whether the cell is shown: a node has no pair with itself, but a group of nodes has."""
        return i != j or not math.isnan(self.values[i, j])


def pair_plots(cases: Sequence[CaseVerdict]) -> tuple[list[Plot], list[str]]:
    """Return one heat map for each case and matrix with a value, and a note for each matrix that was not kept."""
    plots, notes = [], []
    for verdict in cases:
        for name, matrix in verdict.case.matrices.items():
            try:
                pairs = PairMatrix.of(matrix, values_of(matrix, verdict.case.matrix_folders))
            except InputError as err:
                notes.append(f"{_title(verdict, name, matrix)}: {err}{_summary(matrix)}")
                continue
            if np.isfinite(pairs.slowdowns).any():
                plots.append(_pair_plot(verdict, name, pairs))
    return plots, notes


def _title(verdict: CaseVerdict, name: str, matrix: Matrix) -> str:
    return f"{verdict.case.check_class}: {name} between {matrix.of} of {verdict.case.partition}"


def _summary(matrix: Matrix) -> str:
    file = matrix.file
    if file is None or file.lowest is None or file.median is None or file.highest is None:
        return ""
    low, middle, high = (figure(value) for value in (file.lowest, file.median, file.highest))
    return f". Its median was {middle} {matrix.unit}, its smallest value {low}, its largest {high}"


def _slowdowns(matrix: Matrix, values: Floats) -> Floats:
    """Return an n x n array: how many times slower than the median pair; NaN without a value above 0."""
    values = np.where(np.isfinite(values) & (values > 0), values, np.nan)
    ratio = values / np.median(values[np.isfinite(values)]) if np.isfinite(values).any() else values
    # A lower rate is slower. All other units are times.
    return 1 / ratio if matrix.unit.endswith("/s") else ratio


def _pair_plot(verdict: CaseVerdict, name: str, pairs: PairMatrix) -> Plot:
    matrix = pairs.matrix
    size = len(matrix.nodes)
    missing = int((np.isnan(pairs.values) & ~np.eye(size, dtype=bool)).sum())
    worst = _worst(pairs)
    shown = f"the worst {ROWS_LIMIT} of {size * (size - 1)} pairs" if size * (size - 1) > ROWS_LIMIT else ""
    pixels = f"Each pixel shows the worst pair of several nodes, because there are more than {PIXELS_LIMIT} nodes."
    return Plot(
        title=_title(verdict, name, matrix),
        caption=" ".join(
            part for part in (
                f"Values in {matrix.unit}." if matrix.unit and size <= FIGURES_LIMIT else "",
                CAPTION,
                pixels if size > PIXELS_LIMIT else "",
                f"Hatched: {counted(missing, 'cell')} not measured." if missing and size <= CELLS_LIMIT else "",
                f"Grey: {counted(missing, 'pair')} not measured." if missing and size > CELLS_LIMIT else "",
                f"The table lists {shown}." if shown else "",
            ) if part
        ),
        legend=[],
        item=json_item(_draw_pairs(pairs)),
        header=("From", "To", with_unit(name, matrix.unit), "Times slower than the median pair"),
        rows=[
            (cell.row, cell.column, "not measured" if math.isnan(cell.value) else figure(cell.value),
             "" if math.isnan(cell.slowdown) else figure(cell.slowdown, 3))
            for cell in worst
        ],
    )  # fmt: skip


def _worst(found: PairMatrix) -> list[PairCell]:
    """Return the first ``ROWS_LIMIT`` pairs: first the pairs without a value, then the slowest."""
    slowdowns, size = found.slowdowns, len(found.matrix.nodes)
    order = np.argsort(-np.where(np.isnan(slowdowns), np.inf, slowdowns), axis=None, kind="stable")
    places = (divmod(int(place), size) for place in order)
    pairs = ((i, j) for i, j in places if found.shows(i, j))
    return [_cell(found, i, j) for i, j in itertools.islice(pairs, ROWS_LIMIT)]


def _cell(pairs: PairMatrix, i: int, j: int) -> PairCell:
    names = pairs.matrix.nodes
    return PairCell(names[i], names[j], float(pairs.values[i, j]), float(pairs.slowdowns[i, j]))


def _draw_pairs(pairs: PairMatrix) -> Any:
    matrix, slowdowns = pairs.matrix, pairs.slowdowns
    known = slowdowns[np.isfinite(slowdowns)]
    mapper = LogColorMapper(palette=PAIR_PALETTE, low=1.0, high=max(float(known.max()), LEAST_SPAN), nan_color=SOFT)
    small = len(matrix.nodes) <= CELLS_LIMIT
    draw = _draw_cells if small else _draw_image
    plot = draw(pairs, mapper)
    plot.grid.visible = False
    plot.xaxis.axis_label, plot.yaxis.axis_label = "to", "from"
    plot.xaxis.major_label_orientation = "horizontal" if len(matrix.nodes) <= FIGURES_LIMIT else "vertical"
    plot.add_layout(colour_bar(mapper, "× slower", ticker=LogTicker(base=2)), "right")
    return plot


def _draw_cells(pairs: PairMatrix, mapper: Any) -> Any:
    names, unit = list(pairs.matrix.nodes), pairs.matrix.unit
    places = itertools.product(range(len(names)), repeat=2)
    cells = [_cell(pairs, i, j) for i, j in places if pairs.shows(i, j)]
    plot = new_figure(380, x_range=names, y_range=names[::-1])
    for missing in (False, True):
        shown = [cell for cell in cells if math.isnan(cell.value) is missing]
        source = ColumnDataSource(
            {
                "row": [cell.row for cell in shown],
                "column": [cell.column for cell in shown],
                "slowdown": [cell.slowdown for cell in shown],
                "ink": ["white" if cell.slowdown > math.sqrt(mapper.high) else INK for cell in shown],
                "figure": ["–" if math.isnan(cell.value) else figure(cell.value, 3) for cell in shown],
                "text": [
                    "not measured" if math.isnan(cell.value)
                    else f"{figure(cell.value)} {unit}, {figure(cell.slowdown, 3)} × slower than the median pair"
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


def _draw_image(pairs: PairMatrix, mapper: Any) -> Any:
    names, size = pairs.matrix.nodes, len(pairs.matrix.nodes)
    plot = new_figure(560, vector=False, x_range=(0, size), y_range=(size, 0))
    image = _shades(_worst_of_blocks(pairs.slowdowns), mapper)
    # One byte for each pixel: for 512 nodes, plain numbers would be most of the page.
    shades = LinearColorMapper(palette=[*mapper.palette, SOFT], low=-0.5, high=len(mapper.palette) + 0.5)
    plot.image([image], x=0, y=0, dw=size, dh=size, color_mapper=shades)
    ticks = list(range(0, size, max(1, math.ceil(size / TICKS))))
    for axis in (plot.xaxis, plot.yaxis):
        axis.ticker = FixedTicker(ticks=[tick + 0.5 for tick in ticks])
        axis.major_label_overrides = {tick + 0.5: names[tick] for tick in ticks}
    return plot


def _worst_of_blocks(slowdowns: Floats) -> Floats:
    """Reduce to at most ``PIXELS_LIMIT`` x ``PIXELS_LIMIT`` by the worst value of each block.

    No screen has a pixel for each pair of a thousand nodes.
    """
    block = math.ceil(len(slowdowns) / PIXELS_LIMIT)
    if block == 1:
        return slowdowns
    padding = -len(slowdowns) % block
    # A pair without a value must not hide a measured one.
    padded = np.pad(np.nan_to_num(slowdowns, nan=-1.0), (0, padding), constant_values=-1.0)
    count = len(padded) // block
    worst = padded.reshape(count, block, count, block).max(axis=(1, 3))
    return np.where(worst < 0, np.nan, worst)


def _shades(slowdowns: Floats, mapper: Any) -> NDArray[np.uint8]:
    """Return the index of each pixel's colour in the palette of the logarithmic ``mapper``.

    A pixel without a value has the first index after the palette.
    """
    colours = len(mapper.palette)
    share = np.log(np.fmax(slowdowns, mapper.low) / mapper.low) / math.log(mapper.high / mapper.low)
    number = np.clip(np.nan_to_num(share) * colours, 0, colours - 1)
    return np.where(np.isnan(slowdowns), colours, number).astype(np.uint8)
