"""Print the findings on a terminal, and return them for strict JSON."""

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from kappa.core.ground.figures import figure
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements, NamedFinding
from kappa.core.record.actions import Action
from reports.history.dataset import MetricSeries
from reports.history.judgement import JudgedSeries, exit_status
from reports.quarantine.decide import moment, told
from reports.verdict.summary import acknowledged_document, finite

NEWEST_ACTIONS = 20
HEADER = ("Series", "Where", "Finding", "Since", "Before", "After", "z", "Changed at that time")


def show(
    judged: Sequence[JudgedSeries],
    actions: Sequence[Action] = (),
    acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED,
    console: Console | None = None,
) -> None:
    """Print the changes, the newest actions on nodes, and the number of series of each kind."""
    console = console or Console()
    changed = [one for one in judged if one.finding.changed]
    for one in changed:
        series, place, verdict, since, before, after, z, changes = row(one)
        console.print(Text(f"{series} on {place}", style="bold red" if one.worse else "bold"), soft_wrap=True)
        console.print(Text(f"  {verdict} since {since}: {before} → {after}, z {z}"), soft_wrap=True)
        console.print(Text(f"  changed at that time: {changes}"), soft_wrap=True)
        if known := acknowledged.of(of_series(one)):
            console.print(Text(f"  {known}"), soft_wrap=True)
    kinds = Counter(one.verdict for one in judged)
    for action in actions[-NEWEST_ACTIONS:]:
        console.print(Text(f"{moment(action.time)} {told(action)}"), soft_wrap=True)
    console.print(Text(f"{len(judged)} series: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())))


def where(series: MetricSeries) -> str:
    return f"{series.partition} {series.folded_nodes or 'any nodes'}"


def of_series(one: JudgedSeries) -> NamedFinding:
    """Return the series by name; it speaks against a node if it is of that node alone."""
    nodes = (one.series.nodes,) if one.series.of_one_node else ()
    return NamedFinding("series", f"{one.series.title} on {where(one.series)}", nodes)


def row(one: JudgedSeries) -> tuple[str, ...]:
    """Return the cells of a series in the order of ``HEADER``."""
    series, finding = one.series, one.finding
    before, after = (f"{figure(value)} {series.unit}".strip() for value in (finding.before, finding.after))
    after += f" ({finding.change:+.0%})"
    changes = "; ".join(one.changes) or "no recorded fact"
    return series.title, where(series), one.verdict, one.since, before, after, f"{finding.z:.1f}", changes


def to_document(
    site: str, judged: Sequence[JudgedSeries], acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED
) -> dict[str, Any]:
    """Return every series with its finding, worst first. Values are in the series' ``unit``, times in UTC."""
    return {"site": site, "exit_status": exit_status(judged), "series": [_series(one, acknowledged) for one in judged]}


def _series(one: JudgedSeries, acknowledged: Acknowledgements) -> dict[str, Any]:
    series, finding = one.series, one.finding
    known = acknowledged.of(of_series(one)) if one.worse else None
    since = datetime.datetime.fromtimestamp(one.began, datetime.UTC).isoformat() if finding.changed else None
    return {
        "case": series.case,
        "check_class": series.check_class,
        "metric": series.metric,
        "partition": series.partition,
        "environ": series.environ,
        "nodes": series.nodes.split(",") if series.nodes else [],
        "unit": series.unit,
        "values": len(series.values),
        "finding": finding.kind.value,
        "worse": one.worse,
        "since": since,
        "before": finite(finding.before),
        "after": finite(finding.after),
        "relative_change": finite(finding.change),
        "z": finite(finding.z),
        "changed_then": list(one.changes),
        "acknowledged": acknowledged_document(known),
    }
