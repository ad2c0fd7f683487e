"""``kappa compare``."""

import pathlib

from kappa.app.command.arguments import add_stored, parser, resolved
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Compare the second run with the first, metric by metric: two nights, two sites, or two MPI libraries. A change has an
interval where both runs measured the same nodes or measured several times, or where earlier runs of the same mode lie
beside the first one.

Exit status: 0 when they were compared, whatever changed; 2 on an unusable report, or nothing that both measured."""
_EXAMPLES = """\
  kappa compare embedded                            the newest run of a site with the one before it
  kappa compare results/a/runs/20261121T020000-nightly results/a/runs/20261122T020000-nightly
  kappa compare siteA siteB                         the newest run of each
  kappa compare openmpi.json mpich.json --html mpi.html --csv mpi.csv
"""


def run(arguments: list[str]) -> int:
    words = parser("compare", _DESCRIPTION, _EXAMPLES)
    add_stored(words, "before")
    add_stored(words, "after", "the run that is compared with it; alone, RUN is compared with the run before it", "?")
    words.add_argument("--all", action="store_true", help="show what is within what varies anyway, too")
    words.add_argument("--html", metavar="FILE", type=pathlib.Path, help="write a page, too")
    words.add_argument("--csv", metavar="FILE", type=pathlib.Path, help="write a table for machines, too")
    options = resolved(words.parse_args(arguments))
    from reports.compare.compare import as_csv, compare, show
    from reports.compare.figures import Past, figures_of, past_of

    past = past_of(options.before)
    if options.after is None:
        if past.last is None:
            raise InputError(f"there is no earlier run of this mode beside {clean(str(options.before))}: name two runs")
        before, after = past.last, figures_of(options.before)
    else:
        before, after = figures_of(options.before), figures_of(options.after)
        past = Past((before, *past.runs))
    found = compare(before, after, past)
    if not found.rows:
        sides = f"{before.source} and {after.source}"
        raise InputError(f"{sides} have no metric in common: name two runs of the same checks")
    if options.html:
        from reports.compare.page import render

        write_atomically(options.html, render(found))
    if options.csv:
        write_atomically(options.csv, as_csv(found))
    show(found, options.all)
    return 0
