"""The findings as a table for a terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.figures import figure
from reports.history.gate import Judged
from reports.nodes import folded

HEADER = ("Series", "Where", "Finding", "Since", "Before", "After", "z", "What changed at that time")


def show(judged: Sequence[Judged], console: Console | None = None) -> None:
    """Print what changed, and how many series are quiet, noisy or too thin."""
    console = console or Console()
    changed = [one for one in judged if one.finding.changed]
    if changed:
        table = Table(*HEADER)
        for one in changed:
            table.add_row(*map(Text, row(one)), style="bold red" if one.worse else None)
        console.print(table)
    kinds = Counter(one.verdict for one in judged)
    console.print(Text(f"{len(judged)} series: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())))


def row(one: Judged) -> tuple[str, ...]:
    series, finding = one.series, one.finding
    where = f"{series.partition} {folded(series.nodes.split(',')) if series.nodes else 'any nodes'}"
    before, after = (f"{figure(value)} {series.unit}".strip() for value in (finding.before, finding.after))
    after += f" ({finding.change:+.0%})"
    changes = "; ".join(one.changes) or "nothing that is recorded"
    return series.title, where, one.verdict, one.since, before, after, f"{finding.z:.1f}", changes
