"""``kappa compare``."""

import pathlib

from kappa.app.command.arguments import RUN_HELP, parser
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from reports.compare.compare import as_csv, compare, show
from reports.compare.figures import Past, figures_of, past_of

_DESCRIPTION = """\
Hold the second run against the first, metric by metric: two nights, two sites, or two MPI libraries. A change has an
interval where both runs measured the same nodes or measured several times, or where earlier runs of the same mode lie
beside the first one.

Exit status: 0 when they were compared, whatever changed; 2 on an unusable report, or nothing that both measured."""
_EXAMPLES = """\
  kappa compare results/a/runs/20261121T020000-nightly results/a/runs/20261122T020000-nightly
  kappa compare openmpi.json mpich.json --html mpi.html --csv mpi.csv
"""


def run(arguments: list[str]) -> int:
    words = parser("compare", _DESCRIPTION, _EXAMPLES)
    words.add_argument("before", metavar="RUN", type=pathlib.Path, help=RUN_HELP)
    words.add_argument("after", metavar="RUN", type=pathlib.Path, help="the run that is held against it")
    words.add_argument("--all", action="store_true", help="show what is within what varies anyway, too")
    words.add_argument("--html", metavar="FILE", type=pathlib.Path, help="write a page, too")
    words.add_argument("--csv", metavar="FILE", type=pathlib.Path, help="write a table for machines, too")
    options = words.parse_args(arguments)
    before = figures_of(options.before)
    found = compare(before, figures_of(options.after), Past((before, *past_of(options.before).runs)))
    if not found.rows:
        sides = " and ".join(clean(str(path)) for path in (options.before, options.after))
        raise InputError(f"{sides} have no metric in common: name two runs of the same checks")
    if options.html:
        from reports.compare.page import render  # noqa: PLC0415 (Bokeh takes a second to load)

        write_atomically(options.html, render(found))
    if options.csv:
        write_atomically(options.csv, as_csv(found))
    show(found, options.all)
    return 0
