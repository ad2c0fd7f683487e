"""Show a comparison on a terminal, and as one self-contained HTML page."""

import math
from dataclasses import dataclass

from rich.text import Text

from kappa.core.ground.figures import NOTHING, counted
from kappa.core.ground.node_lists import folded
from reports.compare.compare import HEADER, ComparisonRow, RunComparison, cells, headline
from reports.compare.figures import MetricKey, RelativeChange
from reports.show.console import open_console, table
from reports.show.html_page import render_page

# The ends of the line are half and twice the value.
_REACH = math.log(2)
# Styles of the terminal's words.
STYLES = {
    "worse": "bold red",
    "unclear": "bold yellow",
    "better": "green",
    "changed": "yellow",
    "": "dim",
    "not known": "dim",
}
UNKNOWN_SHOWN = 10
_NUMBERS = ("Before", "After", "Change (%)", "Interval (%)")


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
    if change.interval is None:
        return IntervalBar(at, at, 0)
    start = _place(change.interval[0])
    return IntervalBar(at, start, round(_place(change.interval[1]) - start, 1))


def _place(share: float) -> float:
    return round(50 + 50 * min(max(math.log1p(share) / _REACH, -1), 1), 1)


def _nodes(row: ComparisonRow) -> str:
    sides = [folded(node for sample in side for node in sample.nodes) for side in (row.old, row.new)]
    return " → ".join(dict.fromkeys(sides))


def show(found: RunComparison, every_row: bool = False) -> None:
    """Print the changed metrics and the largest differences between single values; ``every_row`` adds the rest."""
    console = open_console()
    console.print(Text(f"before: {found.before.title}  {found.before.source}"), soft_wrap=True)
    console.print(Text(f"after:  {found.after.title}  {found.after.source}"), soft_wrap=True)
    for name, sides in found.differing.items():
        both = " → ".join(", ".join(values) or NOTHING for values in sides)
        console.print(Text(f"{name}: {both}", "dim"), soft_wrap=True)
    unknown = [row for row in found.rows if row.word == "not known" and row.change and row.change.share][:UNKNOWN_SHOWN]
    shown = [row for row in found.rows if every_row or row.word not in ("", "not known") or row in unknown]
    if shown:
        rows = table(*HEADER, right=_NUMBERS)
        for row in shown:
            *told, word = cells(row)
            rows.add_row(*map(Text, told), Text(word, STYLES[row.word]))
        console.print(rows)
        note = "Interval: 95 % confidence. The words allow for the number of metrics that are compared at once."
        console.print(Text(note, "dim"))
    for word, places in (("before", found.gone), ("after", found.added)):
        if places:
            line = f"only {word}: {counted(len(places), 'metric')} of {_cases(places)}"
            console.print(Text(line, "dim"), soft_wrap=True)
    console.print(Text(headline(found), "bold"))


def _cases(places: list[MetricKey]) -> str:
    names = list(dict.fromkeys(place.name for place in places))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
