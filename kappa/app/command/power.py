"""``kappa power``."""

from kappa.app.command.arguments import add_table, parser

_DESCRIPTION = """\
Simulate how slow a node must be until a learned bound or the site's history finds it, and how often a healthy site
gives a false positive. The simulation uses the code that judges a site. The default takes half an hour.

Exit status: 0 the tables are printed; 2 error."""
_EXAMPLES = """\
  kappa power --trials 40 --months 1
  kappa power --table docs/power.md
"""


def run(arguments: list[str]) -> int:
    words = parser("power", _DESCRIPTION, _EXAMPLES)
    words.add_argument(
        "--trials", type=int, default=400, metavar="N", help="simulate each figure N times (default: %(default)s)"
    )
    words.add_argument(
        "--months", type=int, default=12, metavar="N",
        help="simulate N months of a healthy site with 100 metrics (default: %(default)s)",
    )  # fmt: skip
    add_table(words)
    options = words.parse_args(arguments)
    from kappa.tools.power import PLACE, tables

    text = tables(options.trials, options.months)
    print(text)
    if options.table:
        PLACE.write(options.table, text)
    return 0
