"""Print the page of a check: its purpose, what a failure means and what to do, its metrics with units, its cases and
the time that they take, what it needs, and what a site may set. Without CHECK, list all checks, by family.

Two words are no checks. `catalogue` prints the table of all checks as Markdown: purpose, metrics and units, needed
features, and how long a case takes. `coverage` prints which check measures each figure of papers and tenders.

Exit status: 0 printed; 2 there is no such check.

examples:
  kappa docs
  kappa docs PairSweep
  kappa docs catalogue > checks.md
"""

import argparse
import shutil

from kappa.app.command.arguments import CommandParser
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import SUITE

_COVERAGE = SUITE / "docs/coverage.md"
_MOST_COLUMNS = 120


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    to.add_argument("check", metavar="CHECK", nargs="?", help="name of a check, or catalogue, or coverage")


def run(options: argparse.Namespace) -> int:
    from kappa.core.vocabulary import check_pages
    from kappa.core.vocabulary.checks import catalogue

    known, width = catalogue(), min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    if options.check is None:
        print(check_pages.listing(known, width), end="")
    elif options.check == "catalogue":
        print(check_pages.table(known))
    elif options.check == "coverage":
        if not _COVERAGE.is_file():
            raise InputError(f"there is no {clean(str(_COVERAGE))}: an installed suite has no pages, use a checkout")
        print(_COVERAGE.read_text(encoding="utf-8"), end="")
    elif options.check in known:
        print(check_pages.text(options.check, known[options.check], width), end="")
    else:
        raise InputError(f"there is no check {clean(repr(options.check))}: {suggestion(options.check, known)}")
    return 0
