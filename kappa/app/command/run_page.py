"""``kappa html``."""

import pathlib

from kappa.app.command.arguments import add_run, parser, site_of
from kappa.app.conduct.validation import settle_run
from kappa.core.ground.clean_text import clean
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.load import find_report
from reports.compare.figures import past_of
from reports.show.run_page import render
from reports.verdict.judge import judge_report

_DESCRIPTION = """\
Write the verdict, tables and plots as one HTML file that needs no network and can be mailed or printed.

Exit status: 0 when the file was written, whatever the verdict; 2 on an unusable report or site file."""


def run(arguments: list[str]) -> int:
    words = parser("html", _DESCRIPTION, "  kappa html results/embedded/reports -o report.html\n")
    add_run(words)
    words.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="the file (default: beside the report, named .html)"
    )
    options = words.parse_args(arguments)
    settle_run(options.run, site_of(options))
    verdict = judge_report(options.run, site_of(options), options.mode)
    output = options.output or find_report(options.run).with_suffix(".html")
    write_atomically(output, render(verdict, past_of(options.run), output.parent))
    print(f"{verdict.state.word.upper()}: {clean(str(output))}")
    return 0
