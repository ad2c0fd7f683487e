"""Write panels as a PNG with Matplotlib, because Bokeh needs a browser for that."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kappa.core.ground.whole_files import written_beside
from reports.show.plot import INK, PALE, PALETTE, SOFT
from reports.waveforms.panels import Panel, thinned

DOTS_PER_INCH, WIDTH_INCHES, PANEL_INCHES = 120, 9.5, 2.3
# All runs of a channel have its colour; each run has its own line style.
LINES = ("-", "--", ":", "-.")
# A longer legend would hide the curves.
LEGEND_LIMIT = 12


def write_png(path: Path, panels: Sequence[Panel]) -> None:
    """Write ``panels`` below each other with a common time axis."""
    with mpl.rc_context({"font.size": 9, "axes.edgecolor": SOFT, "text.color": INK, "axes.unicode_minus": True}):
        figure = Figure(figsize=(WIDTH_INCHES, PANEL_INCHES * len(panels) + 0.5), layout="constrained")
        FigureCanvasAgg(figure)
        places = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(places, panels, strict=True):
            _draw(axes, panel)
        places[-1].set_xlabel("Time (s)", color=INK)
        with written_beside(path, lasting=False) as file:
            figure.savefig(file, format="png", metadata={"Software": "emt plot"})


def _draw(axes: Axes, panel: Panel) -> None:
    pixels = int(DOTS_PER_INCH * WIDTH_INCHES)
    for curve in panel.curves:
        seconds, values = thinned(curve.seconds, curve.values, pixels)
        colour, line = PALETTE[curve.number % len(PALETTE)], LINES[curve.run % len(LINES)]
        axes.plot(seconds, values, line, color=colour, linewidth=0.9, label=_plain(curve.label))
    axes.set_title(_plain(panel.title), loc="left", fontsize=9, fontweight="bold", color=INK)
    axes.set_ylabel(_plain(panel.unit), color=INK)
    axes.grid(color=PALE)
    axes.set_axisbelow(True)
    axes.margins(x=0)
    axes.tick_params(colors=INK, color=SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    if len(panel.curves) <= LEGEND_LIMIT:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    else:
        axes.set_title(f"{len(panel.curves)} curves", loc="right", fontsize=8, color=INK)


def _plain(text: str) -> str:
    """Escape text for Matplotlib: a dollar sign begins mathematics, and a leading underscore hides a label."""
    shown = text.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown
