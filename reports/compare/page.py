"""Render a comparison as one self-contained HTML page."""

import math
from dataclasses import dataclass

from kappa.core.ground.figures import NOTHING, counted
from kappa.core.ground.node_lists import folded
from reports.compare.compare import ComparisonRow, RunComparison, cells, headline
from reports.compare.figures import RelativeChange
from reports.show.html_page import render_page

# The ends of the line are half and twice the value.
_REACH = math.log(2)


@dataclass(frozen=True)
class IntervalBar:
    """Place a change and its interval on a line from half to twice the value, in per cent of the line."""

    at: float
    start: float
    width: float


def render(found: RunComparison) -> str:
    """Return the page. Every value from the reports is escaped; only this package's script may run."""
    return render_page(
        "compare.html.j2",
        [],
        {"NOTHING": NOTHING, "cells": cells, "counted": counted, "headline": headline, "nodes": _nodes, "reach": reach},
        found=found,
        changed=[row for row in found.rows if row.word],
        unchanged=[row for row in found.rows if not row.word],
    )


def reach(change: RelativeChange | None) -> IntervalBar | None:
    """Return the bar of a change; ``None`` without a change, width 0 without an interval."""
    if change is None:
        return None
    at = _place(change.share)
    if change.low is None or change.high is None:
        return IntervalBar(at, at, 0)
    start = _place(change.low)
    return IntervalBar(at, start, round(_place(change.high) - start, 1))


def _place(share: float) -> float:
    return round(50 + 50 * min(max(math.log1p(share) / _REACH, -1), 1), 1)


def _nodes(row: ComparisonRow) -> str:
    sides = [folded(node for sample in side for node in sample.nodes) for side in (row.old, row.new)]
    return " → ".join(dict.fromkeys(sides))
