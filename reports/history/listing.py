"""The findings for a terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from kappa.core.ground.figures import figure
from kappa.core.ground.node_lists import folded
from kappa.core.record.actions import Action
from reports.history.gate import Judged
from reports.history.query import Series
from reports.quarantine.listing import moment, told

NEWEST_ACTIONS = 20
HEADER = ("Series", "Where", "Finding", "Since", "Before", "After", "z", "What changed at that time")


def show(judged: Sequence[Judged], actions: Sequence[Action] = (), console: Console | None = None) -> None:
    """Print what changed, how many series are quiet, noisy or too thin, and the newest actions on nodes."""
    console = console or Console()
    changed = [one for one in judged if one.finding.changed]
    for one in changed:
        series, place, verdict, since, before, after, z, changes = row(one)
        console.print(Text(f"{series} on {place}", style="bold red" if one.worse else "bold"), soft_wrap=True)
        console.print(Text(f"  {verdict} since {since}: {before} → {after}, z {z}"), soft_wrap=True)
        console.print(Text(f"  what changed then: {changes}"), soft_wrap=True)
    kinds = Counter(one.verdict for one in judged)
    for action in actions[-NEWEST_ACTIONS:]:
        console.print(Text(f"{moment(action.time)} {told(action)}"), soft_wrap=True)
    console.print(Text(f"{len(judged)} series: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())))


def where(series: Series) -> str:
    return f"{series.partition} {folded(series.nodes.split(',')) if series.nodes else 'any nodes'}"


def row(one: Judged) -> tuple[str, ...]:
    series, finding = one.series, one.finding
    before, after = (f"{figure(value)} {series.unit}".strip() for value in (finding.before, finding.after))
    after += f" ({finding.change:+.0%})"
    changes = "; ".join(one.changes) or "nothing that is recorded"
    return series.title, where(series), one.verdict, one.since, before, after, f"{finding.z:.1f}", changes
