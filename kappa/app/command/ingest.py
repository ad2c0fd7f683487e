"""``kappa ingest``."""

import pathlib
import sys

from kappa.app.command.arguments import add_site, parser, require_described, resolved
from kappa.core.ground.clean_text import clean
from kappa.core.ground.folders import SIMULATED_SITE, history_folder, results_folder

_DESCRIPTION = """\
Add all new runs to the history of a site (results/SITE/history, Parquet files). Kappa names a damaged report and leaves
it out.

Exit status: 0 all runs are in the history, 1 a report was damaged, 2 the history cannot be written."""


def run(arguments: list[str]) -> int:
    words = parser("ingest", _DESCRIPTION, "  kappa ingest embedded\n  kappa ingest embedded old/run-report-7.json\n")
    add_site(words, results=True)
    words.add_argument(
        "reports", metavar="REPORT", nargs="*", type=pathlib.Path,
        help="a report, or a folder of reports (default: results/SITE)",
    )  # fmt: skip
    options = resolved(words.parse_args(arguments))
    require_described(options.site)
    from reports.history.ingest import ingest, reports_in

    reports = reports_in(options.reports or [results_folder(options.site)])
    done = ingest(reports, history_folder(options.site), of_fabrics=options.site == SIMULATED_SITE)
    for problem in done.damaged:
        print(f"damaged, left out: {clean(problem)}", file=sys.stderr)
    print(f"{done.sessions} new sessions with {done.values} values, {done.known} known, {len(done.damaged)} damaged")
    return 1 if done.damaged else 0
