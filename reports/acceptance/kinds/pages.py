"""What a kind of clause puts on a page: facts, tables and charts. ``section.html.j2`` draws a chart as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import figure
from reports.show.html_page import round_steps
from reports.show.provenance import Listing

WIDTH, HEIGHT = 680, 210
LEFT, RIGHT, TOP, BOTTOM = 78, 150, 12, 34
BLUE, ORANGE, GREY, YELLOW, INK = "#0072b2", "#d55e00", "#9aa5b1", "#f0e442", "#1f2933"
# Above this ratio of largest to smallest value an axis is logarithmic.
_LOGARITHMIC_FROM = 30


@dataclass(frozen=True)
class Box:
    """Fill a rectangle; lengths are in pixels from the top left of the chart."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    opacity: float = 1.0
    title: str = ""

    shape = "box"


@dataclass(frozen=True)
class Stroke:
    """Draw a line through ``points``."""

    points: tuple[tuple[float, float], ...]
    colour: str
    dash: str = ""
    width: float = 1.5

    shape = "stroke"


@dataclass(frozen=True)
class ChartMark:
    """Draw a dot, a cross or a ring."""

    x: float
    y: float
    colour: str
    form: str = "dot"
    title: str = ""

    shape = "mark"


@dataclass(frozen=True)
class ChartLabel:
    """Write a text; ``anchor`` is start, middle or end, as in SVG."""

    x: float
    y: float
    text: str
    anchor: str = "start"

    shape = "label"


Shape = Box | Stroke | ChartMark | ChartLabel


@dataclass(frozen=True)
class Chart:
    """Hold a chart; ``shapes`` are drawn in their order. ``columns`` and ``ticks`` label the axes by (pixel, text)."""

    title: str
    summary: str
    legend: str
    shapes: tuple[Shape, ...]
    columns: Sequence[tuple[float, str]] = ()
    ticks: Sequence[tuple[float, str]] = ()
    x_title: str = ""
    y_title: str = ""
    right: float = WIDTH - RIGHT
    height: float = HEIGHT

    width, left, top = WIDTH, LEFT, TOP

    @property
    def bottom(self) -> float:
        return self.height - BOTTOM


@dataclass(frozen=True)
class Section:
    """Hold the part of a clause's section that depends on its kind. ``facts`` are (title, text)."""

    facts: tuple[tuple[str, str], ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Listing, ...] = ()
    warning: str = ""


class Axis:
    """Map values to pixels, from ``first`` to ``last``; logarithmic if the values have many orders of magnitude."""

    def __init__(self, values: Sequence[float], first: float, last: float, logarithmic: bool | None = None) -> None:
        low, high = min(values), max(values)
        self._first, self._last = first, last
        many = low > 0 and high / low >= _LOGARITHMIC_FROM
        self._logarithmic = many if logarithmic is None else logarithmic
        if self._logarithmic:
            self._start, self._end = math.log10(low) - 0.1, math.log10(high) + 0.1
        else:
            margin = 0.08 * (high - low or abs(high) or 1)
            self._start, self._end = (0 if 0 <= low < 0.5 * high else low - margin), high + margin

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        position = ((math.log10(value) if self._logarithmic else value) - self._start) / (self._end - self._start)
        return round(self._first + position * (self._last - self._first), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        if self._logarithmic:
            exponents = range(math.floor(self._start), math.ceil(self._end) + 1)
            step = max(1, math.ceil(len(exponents) / 6))
            values = [10.0**exponent for exponent in exponents if exponent % step == 0]
        else:
            values = round_steps(self._start, self._end)
        low, high = sorted((self._first, self._last))
        return [(self.at(value), figure(value)) for value in values if low <= self.at(value) <= high]
