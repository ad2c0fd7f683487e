"""Provide the common parts of the pages' plots: data, look, axes and labels.

Bokeh draws the plots: it shows values on hover, prints as SVG, and its script is in its wheel, so a page needs no
network (1.3 MB a page; plotly's script has 4.8 MB, and Altair takes seconds to build).
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import FixedTicker
from bokeh.models.annotations import ColorBar
from bokeh.plotting import figure as bokeh_figure

from kappa.core.ground.figures import figure
from kappa.core.ground.node_lists import folded
from kappa.core.record.model import Case

# Okabe & Ito 2008, "Color Universal Design", for any colour vision; without yellow, which is too light on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Simulated curves are violet and never solid, so that a reader does not take them for measured.
SIMULATED_PALETTE = ("#6A3D9A", "#A6569D", "#9E82C9", "#4B2E83")
DASHES = ("", "7 4", "2 3", "10 3 2 3")
MARKERS = ("circle", "square", "diamond")
ALARM, INK, SOFT, PALE = "#D55E00", "#1f2933", "#9aa5b1", "#e4e7eb"
FONT = "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
IDEAL = "Grey line: ideal speed-up."
# On a logarithmic axis, the numbers of ticks nearer than this ratio overlap.
_APART = 1.25


@dataclass(frozen=True)
class Look:
    """Distinguish a curve from others, also where they overlap, by colour, marker and dashes.

    ``dashes`` are lengths in pixels; an empty string is a solid line.
    """

    colour: str
    marker: str
    dashes: str

    @classmethod
    def of(cls, number: int, *, simulated: bool = False) -> "Look":
        if simulated:
            dashes = DASHES[1 + number % (len(DASHES) - 1)]
            return cls(SIMULATED_PALETTE[number % len(SIMULATED_PALETTE)], MARKERS[number % len(MARKERS)], dashes)
        return cls(PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)])


@dataclass(frozen=True)
class Plot:
    """Hold a plot, and its values as a table for readers who cannot see it.

    ``item`` is the argument of Bokeh's ``embed_item``; ``rows`` have the columns of ``header``.
    """

    title: str
    caption: str
    legend: list[tuple[str, Look]]
    item: Any
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def with_unit(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


def labels(cases: Sequence[Case]) -> list[str]:
    """Return labels that distinguish cases of one check.

    A label has the partition and the variant. If these are not unique, it also has the environment, the nodes and a
    number.
    """
    found = [" ".join(part for part in (case.partition, case.variant) if part) for case in cases]
    for more in ([case.environ for case in cases], [folded(case.nodes) for case in cases], range(1, len(cases) + 1)):
        if len(set(found)) == len(found):
            break
        found = [f"{label} {extra}" for label, extra in zip(found, more, strict=True)]
    return found


def new_time_figure(height: int) -> Any:
    """Return a plot like ``new_figure`` over dates; a single date is in the middle of a week."""
    plot = new_figure(height, x_axis_type="datetime")
    plot.x_range.default_span = datetime.timedelta(days=7)
    return plot


def new_figure(height: int, vector: bool = True, **options: Any) -> Any:
    """Return an empty Bokeh plot in the page's style, as wide as its place, ``height`` in pixels.

    A vector plot is sharp on paper, but slow with thousands of points.
    """
    plot = bokeh_figure(
        height=height,
        sizing_mode="stretch_width",
        output_backend="svg" if vector else "canvas",
        tools="box_zoom,reset,save",
        toolbar_location="above",
        **options,
    )
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.outline_line_color = None
    plot.grid.grid_line_color = PALE
    for axis in plot.axis:
        axis.axis_line_color = axis.major_tick_line_color = SOFT
        axis.minor_tick_line_color = None
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
        axis.axis_label_text_color = axis.major_label_text_color = INK
    return plot


def colour_bar(mapper: Any, title: str, **options: Any) -> ColorBar:
    """Return a colour scale of ``mapper``; ``title`` is its unit."""
    bar = ColorBar(color_mapper=mapper, width=10, title=title, **options)
    bar.major_label_text_font = bar.title_text_font = FONT
    bar.title_text_font_style = "normal"
    return bar


def suitable_unit(largest: float, unit: str) -> tuple[float, str]:
    """Return the divisor for values up to ``largest``, and their new unit; only binary units change."""
    divisor = 1.0
    while unit in _BINARY[:-1] and largest / divisor >= 1024:
        divisor *= 1024
        unit = _BINARY[_BINARY.index(unit) + 1]
    return divisor, unit


def in_binary_unit(value: float, unit: str) -> str:
    """Return text in a binary unit, for instance ``64 KiB`` for 65536 B."""
    divisor, suitable = suitable_unit(value, unit)
    return f"{figure(value / divisor)} {suitable}".rstrip()


def count_axis(axis: Any, counts: Sequence[float]) -> None:
    """Set the ticks to measured counts as whole numbers, without ticks between them."""
    ticks: list[float] = []
    for count in sorted(set(counts), reverse=True):  # the largest count matters most
        if not ticks or ticks[-1] >= _APART * count:
            ticks.append(count)
    axis.ticker = FixedTicker(ticks=ticks)
    axis.major_label_overrides = {tick: f"{tick:.0f}" for tick in ticks}


def draw_ideal(plot: Any, counts: Sequence[float]) -> None:
    """Draw the ideal speed-up: the count divided by the smallest count."""
    # On a logarithmic axis it is a curve.
    places = [float(place) for place in np.geomspace(min(counts), max(counts), 33)]
    values = [place / places[0] for place in places]
    plot.line(places, values, color=SOFT, line_width=1.5)
    plot.text(places[-1:], values[-1:], ["ideal"], text_align="right", text_baseline="bottom", x_offset=-4,
              text_font_size="11px", text_color=INK)  # fmt: skip
