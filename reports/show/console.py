"""Open the terminal, pipe or log for reports, and define their common layout."""

import os
import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.verdict.state import State

STYLES = {
    State.FAIL: "bold red",
    State.INCOMPLETE: "bold yellow",
    State.KNOWN: "magenta",
    State.PASS: "green",
    State.INFO: "dim",
}
# The width in a pipe or a log, in characters: the whole table fits.
LOG_WIDTH = 130


class _PatientConsole(Console):
    """Print without a change of the exit status if the reader closes the pipe (``| head``)."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_console() -> Console:
    """Return standard output as a console, as wide as the terminal, or ``LOG_WIDTH`` in a pipe or log."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without UTF-8 still gets the words
    console = _PatientConsole(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = LOG_WIDTH
    return console


def section(console: Console, title: str, note: str = "") -> None:
    """Print an empty line and a title."""
    console.print()
    heading = Text(title, "bold underline")
    console.print(heading + Text(f"  {note}", "dim") if note else heading)


def table(*titles: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table; the columns in ``right`` hold numbers."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for title in titles:
        found.add_column(title, justify="right" if title in right else "left", overflow="fold")
    return found
