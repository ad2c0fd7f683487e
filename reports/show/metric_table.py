"""Cases and their metrics as a table on a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from kappa.core.ground.figures import NOTHING, allowed, figure, percent
from kappa.core.ground.node_lists import folded
from reports.show.console import STYLES, table
from reports.verdict.advice import measured
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.state import State

# Below this width the columns of the reference and its source are left out.
WIDE = 110


def metric_table(cases: Sequence[CaseVerdict], wide: bool) -> Table:
    """A row for each case and, below it, one for each of its metrics."""
    right = ("Value", "Allowed", "Dev. %")
    found = table("State", "Check and metric", "Value", "Unit", "Allowed", "Dev. %", right=right)
    if wide:
        found.add_column("Reference", justify="right")
        found.add_column("Source")
    for case in cases:
        title = Text(case.case.title, "bold")
        title.append(f"  {folded(case.case.nodes)}", "dim")
        found.add_row(_label(case.state), title)
        for metric in case.shown_metrics:
            found.add_row(_label(metric.state), *(Text(cell) for cell in _metric_cells(metric, wide)))
        found.add_section()
    return found


def _metric_cells(metric: MetricVerdict, wide: bool) -> list[str]:
    cells = [
        f"  {metric.metric.name}",
        measured(metric) or NOTHING,
        metric.metric.unit,
        allowed(metric.lower, metric.upper),
        percent(metric.deviation_percent),
    ]
    if wide:
        cells += [
            figure(metric.metric.reference) if metric.bounded else NOTHING,
            metric.source.source if metric.source else NOTHING,
        ]
    return cells


def _label(state: State) -> Text:
    return Text(state.label, STYLES[state])
