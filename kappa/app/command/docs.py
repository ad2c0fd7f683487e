"""``kappa docs``."""

import shutil

from kappa.app.command.arguments import parser
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion

_DESCRIPTION = """\
Print the page of a check: its purpose, what a failure means and what to do, its metrics with units, its cases and the
time that they take, what it needs, and what a site may set. Without CHECK, list all checks, by family.

Exit status: 0 printed; 2 there is no such check."""
_EXAMPLES = """\
  kappa docs
  kappa docs PairSweep
"""
_MOST_COLUMNS = 120


def run(arguments: list[str]) -> int:
    words = parser("docs", _DESCRIPTION, _EXAMPLES)
    words.add_argument("check", metavar="CHECK", nargs="?", help="name of a check, as in reports and in `kappa docs`")
    options = words.parse_args(arguments)
    from kappa.core.vocabulary import check_pages
    from kappa.core.vocabulary.checks import catalogue

    known, width = catalogue(), min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    if options.check is None:
        print(check_pages.listing(known, width), end="")
        return 0
    if options.check not in known:
        raise InputError(f"there is no check {clean(repr(options.check))}: {suggestion(options.check, known)}")
    print(check_pages.text(options.check, known[options.check], width), end="")
    return 0
