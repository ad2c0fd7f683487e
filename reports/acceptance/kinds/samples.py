"""Show the samples of a clause with repeats: a chart against the threshold, and a table."""

import math
from dataclasses import replace

from kappa.core.ground import node_lists
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.ground.order_statistics import Interval
from reports.acceptance.kinds.clause import Clause, ClauseVerdict
from reports.acceptance.kinds.pages import (
    BLUE,
    BOTTOM,
    GREY,
    HEIGHT,
    INK,
    LEFT,
    ORANGE,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Box,
    Chart,
    ChartLabel,
    ChartMark,
    Section,
    Stroke,
)
from reports.show.provenance import Listing

NODES_SHOWN = 24
_MOST_COLUMNS = 12
_LABEL_GAP = 14.0


def samples_section(verdict: ClauseVerdict, *facts: tuple[str, str]) -> Section:
    """Return the section of a clause that is measured by repeats."""
    if not verdict.samples or verdict.value is None:
        return Section(facts)
    return Section(facts, (_chart(verdict),), (_table(verdict),))


def crosses_threshold(clause: Clause, interval: Interval | None) -> bool:
    """Return whether the ends of the confidence interval are on two sides of the threshold."""
    ends = [end for end in (interval.low, interval.high) if end is not None] if interval else []
    return len({clause.holds(end) for end in ends}) > 1


def _chart(verdict: ClauseVerdict) -> Chart:
    clause, interval, value = verdict.clause, verdict.interval, verdict.value or 0.0
    nodes = sorted({sample.node for sample in verdict.samples if sample.node})
    levels = [(clause.threshold, clause.limit, ORANGE, ""), (value, _statistic(verdict), BLUE, "7 4")]
    if clause.predicted:
        levels.append((clause.predicted.value, "predicted", "#52606d", "2 4"))
    low, high = (interval.low, interval.high) if interval else (None, None)
    values = [sample.value for sample in verdict.samples]
    shown = [*values, *(level for level, *_ in levels), *(end for end in (low, high) if end is not None)]
    y = Axis(shown, HEIGHT - BOTTOM, TOP)
    count = len(nodes) or clause.repeats
    columns = [LEFT + (number + 0.5) * (WIDTH - LEFT - RIGHT) / count for number in range(count)]
    names = nodes or [str(number + 1) for number in range(count)]
    step = math.ceil(count / _MOST_COLUMNS)
    wide, right, threshold = WIDTH - LEFT - RIGHT, WIDTH - RIGHT, y.at(clause.threshold)
    at_least = clause.comparison == "at_least"
    above, below = (TOP, threshold - TOP), (threshold, HEIGHT - BOTTOM - threshold)
    top, tall = below if at_least else above
    shapes: list[Box | Stroke | ChartMark | ChartLabel] = [Box(LEFT, top, wide, tall, "#fdece2")]
    if low is not None and high is not None:
        shapes.append(Box(LEFT, y.at(high), wide, max(1.0, y.at(low) - y.at(high)), BLUE, 0.2))
    for (level, label, colour, dash), label_y in zip(
        levels, _apart([y.at(level) for level, *_ in levels]), strict=True
    ):
        shapes += [
            Stroke(((LEFT, y.at(level)), (right, y.at(level))), colour, dash, 1.5 if dash else 2),
            Stroke(((right, y.at(level)), (right + 10, label_y)), colour, width=1),
            ChartLabel(right + 14, label_y + 4, label),
        ]
    for sample in verdict.samples:
        column = nodes.index(sample.node) if sample.node else sample.repeat - 1
        title = f"repeat {sample.repeat}, {sample.node or ' '.join(sample.nodes)}: {figure(sample.value)}"
        holds = clause.holds(sample.value)
        colour, form = (INK, "dot") if holds else (ORANGE, "cross")
        dot = ChartMark(columns[column], y.at(sample.value), colour, form, title)
        shapes += [dot, replace(dot, colour=GREY, form="ring", title=sample.load)] if sample.load else [dot]
    return Chart(
        clause.text,
        f"{len(values)} samples from {figure(min(values))} to {figure(max(values))} {clause.unit}".rstrip(),
        _legend(verdict),
        tuple(shapes),
        [(columns[number], names[number][:14]) for number in range(0, count, step)],
        y.ticks,
        "node" if nodes else "repeat",
        clause.unit or "value",
    )


def _statistic(verdict: ClauseVerdict) -> str:
    return "worst node" if verdict.samples[0].node else str(verdict.clause.statistic)


def _legend(verdict: ClauseVerdict) -> str:
    ring = any(sample.load for sample in verdict.samples)
    band = verdict.interval is not None and verdict.interval.low is not None
    return (
        "Dots: samples. ✕: a sample that alone does not meet the threshold."
        + (" Ring: other processes used the nodes during the measurement." if ring else "")
        + f" Orange line: threshold; the forbidden side is shaded. Dashed blue line: {_statistic(verdict)}"
        + (", with its interval." if band else ".")
        + (" Dotted line: predicted." if verdict.clause.predicted else "")
    )


def _apart(levels: list[float]) -> list[float]:
    """Return the heights of labels so that none overlaps, within the chart, in the order of ``levels``."""
    order = sorted(range(len(levels)), key=lambda number: levels[number])
    heights, free = [*levels], TOP + 4.0
    for number in order:
        heights[number] = max(levels[number], free)
        free = heights[number] + _LABEL_GAP
    limit = float(HEIGHT - BOTTOM)
    for number in reversed(order):
        heights[number] = min(heights[number], limit)
        limit = heights[number] - _LABEL_GAP
    return heights


def _table(verdict: ClauseVerdict) -> Listing:
    value = f"Value ({verdict.clause.unit or '–'})"
    if verdict.samples[0].node:
        return _table_of_nodes(verdict)
    disturbed = any(sample.load for sample in verdict.samples)
    return Listing(
        "Samples",
        ("Repeat", value, "Nodes", "Job", "Session", *(("Disturbed",) if disturbed else ())),
        [
            (
                str(sample.repeat),
                figure(sample.value, 6),
                node_lists.folded(sample.nodes),
                sample.job_id,
                sample.attempt,
                *((f"◍ {sample.load}" if sample.load else NOTHING,) if disturbed else ()),
            )
            for sample in verdict.samples
        ],
        frozenset(("Repeat", value)),
    )


def _table_of_nodes(verdict: ClauseVerdict) -> Listing:
    """Return the worst nodes first, each with its values in order of the repeats."""
    values: dict[str, list[float]] = {}
    for sample in verdict.samples:
        values.setdefault(sample.node or "", []).append(sample.value)
    at_least = verdict.clause.comparison == "at_least"
    worst = sorted(values, key=lambda node: min(values[node]) if at_least else -max(values[node]))
    loads = {sample.node or "": f" ◍ {sample.load}" for sample in verdict.samples if sample.load}
    more = len(worst) > NODES_SHOWN
    return Listing(
        "Samples",
        ("Node, worst first", f"Value in each repeat ({verdict.clause.unit or '–'})"),
        [
            (node, ", ".join(figure(value, 6) for value in values[node]) + loads.get(node, ""))
            for node in worst[:NODES_SHOWN]
        ],
        note=f"The table shows {NODES_SHOWN} of {len(worst)} nodes; verdict.json has all." if more else "",
    )
