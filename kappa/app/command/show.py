"""Show a run: what was measured (record.json), and what Kappa concluded when the run ended (verdict.json). Without
these files, as after `reframe -r`, Kappa judges ReFrame's report now. If the run was killed, Kappa first makes a report
of the finished cases; the next `kappa validate` cancels its jobs.

  verdict  print the verdict, with the failures last and where to look. The variable NO_COLOR turns colours off.
  page     write verdict, tables and plots as one HTML file, which needs no network. With --open, Kappa shows it in a
           browser, or prints the command that fetches it if this machine has no browser.
  junit    print the verdict as JUnit XML, for CI servers

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or a report or site file is unusable. A page is 0, whatever the verdict.

examples:
  kappa show embedded                            the newest run of a site
  kappa show results/embedded/runs               the newest run in a folder
  kappa show run-report-7.json --mode smoke      judge by the mode smoke
  kappa show embedded -v                         every metric with its bounds, and the checks not provided here
  kappa show embedded --json run.json        also write JSON
  kappa show embedded --again                    judge again by the site's present files and references
  kappa show embedded --open                     the page, in a browser
  kappa show embedded --format junit -o junit.xml
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import shlex
import sys
import webbrowser
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, add_json, add_run, alone, write_json
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically

if TYPE_CHECKING:
    from reports.verdict.judge import Verdict


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_run(to)
    to.add_argument("--format", choices=_FORMATS, help="default: verdict; page with --open")
    add_json(to)
    to.add_argument(
        "-v", "--verbose", action="store_true",
        help="show every metric, the notes of cases, and the checks that are not provided here",
    )  # fmt: skip
    to.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path,
        help="write the page or JUnit XML to FILE (default of a page: the report's name with .html)",
    )  # fmt: skip
    to.add_argument("--open", action="store_true", help="show the page in a browser")
    to.add_argument(
        "--again", action="store_true",
        help="judge again by the site's present files and references, and say what changed",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from reports.verdict.stored import judge_report

    chosen = options.format or ("page" if options.open else "verdict")
    for option, formats in (("json", "verdict"), ("verbose", "verdict"), ("output", "page, junit"), ("open", "page")):
        if getattr(options, option) and chosen not in formats:
            raise InputError(f"--{option} needs --format {formats}, found {chosen}")
    return _FORMATS[chosen](options, judge_report(options.run, options.site, options.mode, again=options.again))


def _verdict(options: argparse.Namespace, verdict: Verdict) -> int:
    from reports.compare.compare import since_last
    from reports.compare.figures import figures_in, past_of
    from reports.show.terminal import show
    from reports.verdict.summary import to_json

    if options.json:
        write_json(options.json, to_json(verdict))
    if not alone(options.json):
        now = figures_in(verdict.session)
        show(verdict, since_last(now, past_of(now)), verbose=options.verbose)
    return verdict.exit_status


def _page(options: argparse.Namespace, verdict: Verdict) -> int:
    from reports.compare.figures import figures_in, past_of
    from reports.show.run_page import render

    output = options.output or options.run.with_suffix(".html")
    write_atomically(output, render(verdict, past_of(figures_in(verdict.session)), output.parent))
    print(f"{verdict.state.word.upper()}: {clean(str(output))}", flush=True)
    if options.open and not _opened(output):
        there = f"{platform.node()}:{output.absolute()}"
        print(f"no browser here; fetch the page with: scp {shlex.quote(clean(there))} .")
    return 0


def _opened(page: pathlib.Path) -> bool:
    """Open the page, and return whether a browser shows it. A browser in the terminal (lynx, w3m) shows no plots."""
    graphical = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    return graphical and webbrowser.open(page.absolute().as_uri())


def _junit(options: argparse.Namespace, verdict: Verdict) -> int:
    from reports.show.junit import run_junit

    if options.output:
        write_atomically(options.output, run_junit(verdict))
    else:
        print(run_junit(verdict), end="")
    return verdict.exit_status


_FORMATS = {"verdict": _verdict, "page": _page, "junit": _junit}
