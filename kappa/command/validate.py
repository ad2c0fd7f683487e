"""``kappa validate``."""

import argparse
import datetime
import os
import pathlib

from kappa.command.arguments import add_site, name, parser
from kappa.conduct.own_cluster import cluster_up
from kappa.conduct.preflight import require_ready
from kappa.conduct.session import Conductor, reframe
from kappa.conduct.validation import Validation, using
from kappa.ground.errors import InputError
from kappa.ground.processes import StoppedError, stopping
from kappa.sites.expected import check_site
from kappa.sites.places import results_folder, site_folder

_DESCRIPTION = """\
Run the suite on a site in MODE (smoke, nightly, acceptance, full; default nightly), measure again what is out of bounds
(in the same allocation, or by a job on the same nodes, then on others), print the verdict and write the HTML report.
OPTIONs are ReFrame's.

Everything is kept in a folder of its own in results/SITE/runs, readable by its owner only ($KAPPA_RESULTS: in place of
results/SITE; $KAPPA_RUN: this very folder). One run at a time on these results. Told to end (SIGTERM, Ctrl-C), it ends
ReFrame, which cancels its jobs, and judges what ran. A cluster that the site brings is started if it is not up, and
ended again.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or it could not run."""
_EXAMPLES = """\
  kappa validate embedded smoke
  kappa validate mycluster nightly -n NodeLinks -S NodeLinks.iterations=3
  kappa validate mycluster nightly -J reservation=maintenance
"""


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    site, results = site_folder(options.site), results_folder(options.site)
    reframe()
    check_site(site)
    with stopping() as stop, using(results) as lock, cluster_up(site):
        require_ready(site, results, options.mode, options.reframe)
        validation = Validation(site, options.mode, options.reframe, _own_folder(results, options.mode))
        try:
            validation.measure(Conductor(stop, [lock]))
        except StoppedError as err:
            if not validation.report.exists():
                raise
            print(f"{err}: what ran is judged", flush=True)
        return validation.judge()


def _parse(arguments: list[str]) -> argparse.Namespace:
    words = parser("validate", _DESCRIPTION, _EXAMPLES, usage="kappa validate SITE [MODE [OPTION…]]")
    add_site(words)
    words.add_argument("mode", metavar="MODE", type=name, nargs="?", default="nightly", help="a mode of the site")
    words.add_argument("reframe", metavar="OPTION", nargs=argparse.REMAINDER, help="an option for ReFrame")
    options = words.parse_args(arguments)
    if options.reframe[:1] == ["--"]:
        del options.reframe[0]
    return options


def _own_folder(results: pathlib.Path, mode: str) -> pathlib.Path:
    given = os.environ.get("KAPPA_RUN")
    folder = pathlib.Path(given or results / "runs" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}-{mode}").absolute()
    try:
        folder.mkdir(exist_ok=bool(given))
    except OSError as err:
        raise InputError(f"cannot make {folder}: {err.strerror}") from err
    return folder
