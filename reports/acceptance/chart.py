"""A clause's samples against its threshold, laid out for inline SVG: no script, and the same on paper as on screen."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kappa.core.ground.figures import figure
from reports.acceptance.judge import ClauseVerdict
from reports.show.ticks import round_steps

WIDTH, HEIGHT = 680, 210
LEFT, RIGHT, TOP, BOTTOM = 78, 150, 12, 34
# Past this ratio a linear axis would lay all samples on one line.
_LOGARITHMIC_FROM = 30
_MOST_COLUMNS = 12


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    holds: bool
    disturbed: bool
    title: str


@dataclass(frozen=True)
class Line:
    """A level across the chart; ``label_y`` is where its name fits without touching another's."""

    kind: str
    y: float
    label: str
    label_y: float


@dataclass(frozen=True)
class Chart:
    """Lengths in pixels from the top left. ``forbidden`` and ``band`` are (y, height)."""

    ticks: list[tuple[float, str]]
    columns: list[tuple[float, str]]
    dots: list[Dot]
    lines: list[Line]
    forbidden: tuple[float, float]
    band: tuple[float, float] | None
    x_title: str
    y_title: str
    summary: str

    width, height, left, top = WIDTH, HEIGHT, LEFT, TOP
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM


def chart_of(verdict: ClauseVerdict) -> Chart | None:
    """The chart, or ``None`` without samples."""
    if not verdict.samples or verdict.value is None:
        return None
    clause, interval = verdict.clause, verdict.interval
    by_node = clause.statistic.kind == "every_node"
    worst = "worst node" if by_node else str(clause.statistic)
    levels = [("threshold", clause.threshold, clause.requirement), ("statistic", verdict.value, worst)]
    if clause.predicted:
        levels.append(("predicted", clause.predicted.value, "predicted"))
    ends = (interval.low, interval.high) if interval else (None, None)
    values = [sample.value for sample in verdict.samples]
    y, ticks = _scale([*values, *(value for _, value, _ in levels), *(end for end in ends if end is not None)])
    names = sorted({sample.node or "" for sample in verdict.samples}) if by_node else []
    count = len(names) if by_node else clause.repeats
    x_of = [LEFT + (number + 0.5) * (WIDTH - LEFT - RIGHT) / count for number in range(count)]
    threshold = y(clause.threshold)
    down = clause.comparison == "at_least"
    return Chart(
        ticks=ticks,
        columns=_columns(x_of, names if by_node else [str(number + 1) for number in range(count)]),
        dots=[
            Dot(
                x=x_of[names.index(sample.node or "") if by_node else sample.repeat - 1],
                y=y(sample.value),
                holds=clause.holds(sample.value),
                disturbed=bool(sample.load),
                title=f"repeat {sample.repeat}, {sample.node or ' '.join(sample.nodes)}: {figure(sample.value)}"
                + (f"; {sample.load}" if sample.load else ""),
            )
            for sample in verdict.samples
        ],
        lines=_apart([Line(kind, y(value), label, y(value)) for kind, value, label in levels]),
        forbidden=(threshold, HEIGHT - BOTTOM - threshold) if down else (TOP, threshold - TOP),
        band=(y(ends[1]), y(ends[0]) - y(ends[1])) if ends[0] is not None and ends[1] is not None else None,
        x_title="node" if by_node else "repeat",
        y_title=clause.unit or "value",
        summary=f"{len(values)} samples from {figure(min(values))} to {figure(max(values))} {clause.unit}".rstrip(),
    )


def _scale(values: Sequence[float]) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """From a value to pixels, and the ticks, for an axis that shows all ``values``."""
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low >= _LOGARITHMIC_FROM
    if logarithmic:
        start, end = math.log10(low) - 0.1, math.log10(high) + 0.1
        exponents = range(math.floor(start), math.ceil(end) + 1)
        step = max(1, math.ceil(len(exponents) / 6))
        candidates = [10.0**exponent for exponent in exponents if exponent % step == 0]
    else:
        margin = 0.08 * (high - low or abs(high) or 1)
        start, end = (0 if 0 <= low < 0.5 * high else low - margin), high + margin
        candidates = round_steps(start, end)

    def place(value: float) -> float:
        position = ((math.log10(value) if logarithmic else value) - start) / (end - start)
        return round(HEIGHT - BOTTOM - position * (HEIGHT - TOP - BOTTOM), 1)

    return place, [(place(tick), figure(tick)) for tick in candidates if TOP <= place(tick) <= HEIGHT - BOTTOM]


def _columns(places: list[float], names: list[str]) -> list[tuple[float, str]]:
    """At most a dozen labels."""
    step = math.ceil(len(names) / _MOST_COLUMNS)
    return [(places[number], names[number][:14]) for number in range(0, len(names), step)]


def _apart(lines: list[Line]) -> list[Line]:
    """The lines with their labels moved so that none covers another, within the chart."""
    gap = 14.0
    ordered = sorted(lines, key=lambda line: line.y)
    free = TOP + 4.0
    for number, line in enumerate(ordered):
        ordered[number] = replace(line, label_y=max(line.y, free))
        free = ordered[number].label_y + gap
    limit = float(HEIGHT - BOTTOM)
    for number, line in reversed(list(enumerate(ordered))):
        ordered[number] = replace(line, label_y=min(line.label_y, limit))
        limit = ordered[number].label_y - gap
    return ordered
