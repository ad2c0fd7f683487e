"""``kappa html``."""

import os
import pathlib
import platform
import shlex
import sys
import webbrowser

from kappa.app.command.arguments import add_run, parser, resolved, site_of
from kappa.core.ground.clean_text import clean
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Write the verdict, tables and plots of a run as one HTML file. The file needs no network; you can mail or print it. With
--open, Kappa shows it in a browser, or prints the command that fetches it if this machine has no browser.

Exit status: 0 the file is written, whatever the verdict; 2 a report or site file is unusable."""
_EXAMPLES = """\
  kappa html embedded --open                        the newest run of a site
  kappa html results/embedded/reports -o report.html
"""


def run(arguments: list[str]) -> int:
    words = parser("html", _DESCRIPTION, _EXAMPLES)
    add_run(words)
    words.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="the page (default: the report's name with .html)"
    )
    words.add_argument("--open", action="store_true", help="show the page in a browser")
    options = resolved(words.parse_args(arguments))
    from reports.compare.figures import past_of
    from reports.show.run_page import render
    from reports.verdict.judge import judge_report

    verdict = judge_report(options.run, site_of(options), options.mode)
    output = options.output or options.run.with_suffix(".html")
    write_atomically(output, render(verdict, past_of(options.run), output.parent))
    print(f"{verdict.state.word.upper()}: {clean(str(output))}", flush=True)
    if options.open and not _opened(output):
        there = f"{platform.node()}:{output.absolute()}"
        print(f"no browser here; fetch the page with: scp {shlex.quote(clean(there))} .")
    return 0


def _opened(page: pathlib.Path) -> bool:
    """Open the page, and return whether a browser shows it. A browser in the terminal (lynx, w3m) shows no plots."""
    graphical = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    return graphical and webbrowser.open(page.absolute().as_uri())
