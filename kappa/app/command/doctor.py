"""Test whether the cluster is as the site's description says. Kappa prints one line for each test, with a remedy if
something is wrong. It tests:
  - Slurm answers and accepts your jobs;
  - nodes, cores, memory and GPUs are as in site.yaml;
  - nodes see the same folders, can write and run programs there, and have space and quota;
  - storage targets exist and are shared as described;
  - clocks and user agree on all nodes;
  - compilers, modules and programs of each environment exist;
  - MPI connects all ranks of a job.

Two jobs of seconds run for each kind of access, on two nodes. Kappa removes their files.

Exit status: 0 all is right; 1 something is wrong; 2 nothing is wrong, but something could not be tested.

examples:
  kappa doctor mycluster
  kappa doctor mycluster --nodes 8         on eight nodes of each partition
  kappa doctor mycluster --nodes all       on all nodes in service
  kappa doctor mycluster --wait 1800       if nodes are busy
  kappa doctor mycluster --json -          as JSON
"""

import argparse
import sys

from kappa.app.command.arguments import CommandParser, add_json, add_site, alone, whole, write_json
from kappa.app.survey.doctor.results import FAIL, INCOMPLETE, PASS, RIGHT, SIGNS, UNTOLD, WRONG, DoctorResult, status
from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import counted
from kappa.core.ground.folders import site_folder
from kappa.core.ground.processes import stopping

_NODES, _WAIT_S = 2, 120.0
_VERDICTS = {PASS: "PASS", FAIL: "FAIL", INCOMPLETE: "INCOMPLETE"}


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to)
    to.add_argument(
        "--nodes", metavar="N", type=_nodes, default=_NODES,
        help=f"test N nodes of each partition, or `all` (default: {_NODES}, the fewest for shared folders and MPI)",
    )  # fmt: skip
    to.add_argument(
        "--wait", metavar="S", type=whole(1), default=_WAIT_S,
        help=f"wait S seconds for free nodes, for each job (default: {_WAIT_S:g})",
    )  # fmt: skip
    to.add_argument("--quiet", "-q", action="store_true", help="print only problems")
    add_json(to)


def _nodes(text: str) -> int | None:
    return None if text == "all" else whole(1)(text)


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.doctor.examination import Examination
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.core.sites.site_file import describe

    folder = site_folder(options.site)
    with cluster_up(folder), stopping() as stop:
        site = describe(folder)
        results = Examination(site, options.nodes, options.wait, stop, _tell).results()
    verdict = status(results)
    if not alone(options.json):
        _show(results, verdict, quiet=options.quiet)
    matters = [
        {"state": each.state, "subject": each.subject, "places": list(map(clean, each.places)),
         "found": clean(each.finding), "remedy": clean(each.remedy)} for each in results
    ]  # fmt: skip
    write_json(options.json, {"site": site.name, "verdict": _VERDICTS[verdict], "matters": matters})
    return verdict


def _show(results: list[DoctorResult], verdict: int, *, quiet: bool) -> None:
    for each in results:
        if not quiet or each.state in (WRONG, UNTOLD):
            print(clean(each.line))
    of = {state: sum(each.state == state for each in results) for state in SIGNS}
    sign = SIGNS[{PASS: RIGHT, FAIL: WRONG, INCOMPLETE: UNTOLD}[verdict]]
    counts = f"{counted(of[RIGHT], 'test')} right, {of[WRONG]} wrong, {of[UNTOLD]} could not be tested"
    print(f"{sign} {_VERDICTS[verdict]}: {counts}", flush=True)


def _tell(words: str) -> None:
    print(f"kappa doctor: {clean(words)}", file=sys.stderr, flush=True)
