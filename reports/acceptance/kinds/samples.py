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
    Shape,
    Stroke,
)
from reports.show.provenance import Listing

NODES_SHOWN = 24
_MOST_COLUMNS = 12
_LABEL_GAP = 14.0
_RIGHT_X, _BOTTOM_Y = WIDTH - RIGHT, HEIGHT - BOTTOM


def samples_section(verdict: ClauseVerdict, *facts: tuple[str, str]) -> Section:
    """Return the section of a clause that is measured by repeats."""
    if not verdict.samples or verdict.value is None:
        return Section(facts)
    table = _table_of_nodes if verdict.samples[0].node else _table
    return Section(facts, (_chart(verdict),), (table(verdict),))


def crosses_threshold(clause: Clause, interval: Interval | None) -> bool:
    """Return whether the ends of the confidence interval are on two sides of the threshold."""
    return len({clause.holds(end) for end in _ends(interval)}) > 1


def _ends(interval: Interval | None) -> list[float]:
    return [end for end in (interval.low, interval.high) if end is not None] if interval else []


def _chart(verdict: ClauseVerdict) -> Chart:
    clause, samples, ends = verdict.clause, verdict.samples, _ends(verdict.interval)
    nodes = sorted({sample.node for sample in samples if sample.node})
    names = nodes or [str(number) for number in range(1, clause.repeats + 1)]
    columns = {name: LEFT + (number + 0.5) * (_RIGHT_X - LEFT) / len(names) for number, name in enumerate(names)}
    values, levels = [sample.value for sample in samples], _levels(verdict)
    y = Axis([*values, *ends, *(value for value, *_ in levels)], _BOTTOM_Y, TOP)
    limit = y.at(clause.threshold)
    shapes = [_band(limit, _BOTTOM_Y, "#fdece2") if clause.comparison == "at_least" else _band(TOP, limit, "#fdece2")]
    if len(ends) == 2:
        shapes.append(_band(y.at(ends[1]), y.at(ends[0]), BLUE, 0.2))
    label_y = -math.inf
    for value, label, colour, dash in sorted(levels, reverse=True):
        # A label that would cover the one above moves down.
        label_y = max(y.at(value), label_y + _LABEL_GAP)
        points = ((LEFT, y.at(value)), (_RIGHT_X, y.at(value)), (_RIGHT_X + 10, label_y))
        shapes += [Stroke(points, colour, dash), ChartLabel(_RIGHT_X + 14, label_y + 4, label)]
    for sample in samples:
        x = columns[sample.node or str(sample.repeat)]
        title = f"repeat {sample.repeat}, {sample.node or ' '.join(sample.nodes)}: {figure(sample.value)}"
        colour, form = (INK, "dot") if clause.holds(sample.value) else (ORANGE, "cross")
        mark = ChartMark(x, y.at(sample.value), colour, form, title)
        shapes += [mark, replace(mark, colour=GREY, form="ring", title=sample.load)] if sample.load else [mark]
    return Chart(
        clause.text,
        f"{len(values)} samples from {figure(min(values))} to {figure(max(values))} {clause.unit}".rstrip(),
        _legend(verdict),
        tuple(shapes),
        [(columns[name], name[:14]) for name in names[:: math.ceil(len(names) / _MOST_COLUMNS)]],
        y.ticks,
        "node" if nodes else "repeat",
        clause.unit or "value",
    )


def _band(top: float, bottom: float, colour: str, opacity: float = 1.0) -> Shape:
    return Box(LEFT, top, _RIGHT_X - LEFT, max(1.0, bottom - top), colour, opacity)


def _levels(verdict: ClauseVerdict) -> list[tuple[float, str, str, str]]:
    """Return (value, label, colour, dash) of each horizontal line."""
    clause = verdict.clause
    levels = [(clause.threshold, clause.limit, ORANGE, ""), (verdict.value or 0.0, _statistic(verdict), BLUE, "7 4")]
    return [*levels, (clause.predicted.value, "predicted", "#52606d", "2 4")] if clause.predicted else levels


def _statistic(verdict: ClauseVerdict) -> str:
    return "worst node" if verdict.samples[0].node else str(verdict.clause.statistic)


def _legend(verdict: ClauseVerdict) -> str:
    ring = any(sample.load for sample in verdict.samples)
    return (
        "Dots: samples. ✕: a sample that alone does not meet the threshold."
        + (" Ring: other processes used the nodes during the measurement." if ring else "")
        + f" Orange line: threshold; the forbidden side is shaded. Dashed blue line: {_statistic(verdict)}"
        + (", with its interval." if len(_ends(verdict.interval)) == 2 else ".")
        + (" Dotted line: predicted." if verdict.clause.predicted else "")
    )


def _table(verdict: ClauseVerdict) -> Listing:
    value = f"Value ({verdict.clause.unit or '–'})"
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
