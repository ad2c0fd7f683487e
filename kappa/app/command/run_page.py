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
Write the verdict, tables and plots as one HTML file that needs no network and can be mailed or printed.
With --open, show it in a browser, or say how to fetch it from a machine that has none.

Exit status: 0 when the file was written, whatever the verdict; 2 on an unusable report or site file."""
_EXAMPLES = """\
  kappa html embedded --open                        the newest run of a site
  kappa html results/embedded/reports -o report.html
"""


def run(arguments: list[str]) -> int:
    words = parser("html", _DESCRIPTION, _EXAMPLES)
    add_run(words)
    words.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="the file (default: beside the report, named .html)"
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
        print(f"no browser can be opened here; fetch the page with: scp {shlex.quote(clean(there))} .")
    return 0


def _opened(page: pathlib.Path) -> bool:
    """Whether a browser shows the page. One in the terminal (lynx, w3m) would take it over, and shows no plots."""
    graphical = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    return graphical and webbrowser.open(page.absolute().as_uri())
