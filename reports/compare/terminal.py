"""A comparison on a terminal."""

from rich import box
from rich.table import Table
from rich.text import Text

from kappa.core.ground.figures import NOTHING
from reports.compare.compare import Comparison, Row
from reports.compare.figures import Place
from reports.compare.listing import HEADER, cells, headline
from reports.show.console import open_console

STYLES = {"worse": "bold red", "better": "green", "changed": "yellow", "": "dim", "not known": "dim"}
UNKNOWN_SHOWN = 10
_NUMBERS = {"Before", "After", "Change (%)", "Interval (%)"}


def show(found: Comparison, every_row: bool = False) -> None:
    """Print what changed, and the largest differences of one value each; ``every_row`` adds the rest."""
    console = open_console()
    console.print(Text(f"before: {found.before.title}  {found.before.source}"), soft_wrap=True)
    console.print(Text(f"after:  {found.after.title}  {found.after.source}"), soft_wrap=True)
    for name, sides in found.differing.items():
        told = " → ".join(", ".join(values) or NOTHING for values in sides)
        console.print(Text(f"{name}: {told}", "dim"), soft_wrap=True)
    unknown = [row for row in found.rows if row.word == "not known" and row.change and row.change.share][:UNKNOWN_SHOWN]
    shown = [row for row in found.rows if every_row or row.word not in ("", "not known") or row in unknown]
    if shown:
        console.print(_table(shown))
        console.print(Text("Interval: holds the change with 95 %. Words hold for all metrics together.", "dim"))
    for word, places in (("before", found.gone), ("after", found.added)):
        if places:
            console.print(Text(f"only {word}: {len(places)} metrics, of {_cases(places)}", "dim"), soft_wrap=True)
    console.print(Text(headline(found), "bold"))


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for title in HEADER:
        table.add_column(title, justify="right" if title in _NUMBERS else "left", overflow="fold")
    for row in rows:
        *told, word = cells(row)
        table.add_row(*map(Text, told), Text(word, STYLES[row.word]))
    return table


def _cases(places: list[Place]) -> str:
    names = list(dict.fromkeys(place.name for place in places))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
