"""Compare two runs, metric by metric: two nights, two sites, or two MPI libraries. With one RUN, Kappa compares it with
the run before it.

Kappa states a confidence interval for a change in each of these cases:
  - both runs measured the same nodes;
  - both runs measured several times;
  - earlier runs of the same mode are stored beside the first one.

Exit status: 0 compared, whatever changed; 2 a report is unusable, or the runs have no metric in common.

examples:
  kappa compare embedded                            the newest run of a site, with the run before it
  kappa compare results/a/runs/20261121T020000-nightly results/a/runs/20261122T020000-nightly
  kappa compare siteA siteB                         the newest runs of two sites
  kappa compare openmpi.json mpich.json --html mpi.html --csv mpi.csv
"""

import argparse
import pathlib

from kappa.app.command.arguments import RUN_HELP, CommandParser, add_stored
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_stored(to, "before", f"the first run: {RUN_HELP}")
    add_stored(to, "after", "the second run, which is compared with the first", "?")
    to.add_argument("--all", action="store_true", help="also show changes within the usual variation")
    to.add_argument("--html", metavar="FILE", type=pathlib.Path, help="also write an HTML page")
    to.add_argument("--csv", metavar="FILE", type=pathlib.Path, help="also write the table as CSV")


def run(options: argparse.Namespace) -> int:
    from reports.compare.compare import as_csv, compare
    from reports.compare.figures import Past, figures_of, past_of
    from reports.show.comparison import show

    given = figures_of(options.before)
    past = past_of(given)
    if options.after is None:
        if past.last is None:
            raise InputError(f"there is no earlier run of this mode beside {clean(str(options.before))}: name two runs")
        before, after = past.last, given
    else:
        before, after = given, figures_of(options.after)
        past = Past((before, *past.runs))
    found = compare(before, after, past)
    if not found.rows:
        sides = f"{before.source} and {after.source}"
        raise InputError(f"{sides} have no metric in common: name two runs of the same checks")
    if options.html:
        from reports.show.comparison import render

        write_atomically(options.html, render(found))
    if options.csv:
        write_atomically(options.csv, as_csv(found))
    show(found, options.all)
    return 0
