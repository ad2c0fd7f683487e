"""Axes over ranks or nodes, which are whole numbers, and the speed-up that nothing exceeds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import FixedTicker

from reports.show.plot import INK, SOFT

IDEAL = "Grey: ideal speed-up."
# On a logarithmic axis, ticks that are nearer to each other stand on each other's numbers.
_APART = 1.25


def count_axis(axis: Any, counts: Sequence[float]) -> None:
    """Ticks at the counts that were measured, whole, and none between them."""
    ticks: list[float] = []
    for count in sorted(set(counts), reverse=True):  # the largest is the one that is asked for
        if not ticks or ticks[-1] >= _APART * count:
            ticks.append(count)
    axis.ticker = FixedTicker(ticks=ticks)
    axis.major_label_overrides = {tick: f"{tick:.0f}" for tick in ticks}


def draw_ideal(plot: Any, counts: Sequence[float]) -> None:
    """As many times faster as there are more ranks or nodes than the fewest."""
    # Over logarithmic ranks it is a curve.
    places = [float(place) for place in np.geomspace(min(counts), max(counts), 33)]
    values = [place / places[0] for place in places]
    plot.line(places, values, color=SOFT, line_width=1.5)
    plot.text(places[-1:], values[-1:], ["ideal"], text_align="right", text_baseline="bottom", x_offset=-4,
              text_font_size="11px", text_color=INK)  # fmt: skip
