"""``kappa quarantine``."""

from __future__ import annotations

import argparse
import datetime
import time
from typing import TYPE_CHECKING

from kappa.app.command.arguments import RUN_HELP, add_site, add_stored, parser, resolved
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import stopping

if TYPE_CHECKING:
    from kappa.app.conduct.quarantine import Quarantine
    from kappa.core.record.actions import Action, Evidence

_DESCRIPTION = """\
List the nodes that are in quarantine. With --run, do what the site's rule (`quarantine` in site.yaml) says with the
nodes that the confirmed findings of a run name: a night does this by itself at its end, `kappa validate` does not. What
is not done, and why, is said and recorded, too.

Exit status: 0 done, or nothing to do, 1 a node that a finding names stays in service, 2 something could not be done."""
_EXAMPLES = """\
  kappa quarantine mycluster
  kappa quarantine mycluster --run mycluster --dry-run       by its newest run
"""
STAYS, UNDONE = 1, 2
# Older findings may be of another state of the node.
MOST_AGE_S = 86_400.0


def run(arguments: list[str]) -> int:
    words = parser("quarantine", _DESCRIPTION, _EXAMPLES)
    add_site(words)
    add_stored(words, "--run", f"apply the rule to {RUN_HELP}")
    words.add_argument("--dry-run", action="store_true", help="print what would be done")
    options = resolved(words.parse_args(arguments))
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.quarantine import Quarantine
    from kappa.core.sites.load import Site

    site = Site(site_folder(options.site))
    quarantine = Quarantine.required(site, results_folder(options.site))
    with stopping() as stop, cluster_up(site.folder):
        if not options.run:
            return _list(quarantine)
        named, measured = _findings(quarantine, options)
        report = str(options.run.absolute())
        if options.dry_run:
            return _say(quarantine.decided(named, measured, report))
        with quarantine.alone(stop.check):
            return _say(quarantine.drain(quarantine.decided(named, measured, report)))


def _list(quarantine: Quarantine) -> int:
    from reports.quarantine.decide import is_due, told

    now = time.time()
    held = quarantine.held()
    for action in held.values():
        print(clean(told(action) + (" (due)" if is_due(action, now) else "")))
    print(f"{len(held)} in quarantine" if held else "no node is in quarantine")
    return 0


def _findings(quarantine: Quarantine, options: argparse.Namespace) -> tuple[dict[str, tuple[Evidence, ...]], float]:
    """What speaks against which node, and when that was measured.

    :raises InputError: the run cannot be judged, is another site's, or is too old to act upon.
    """
    from reports.quarantine.evidence import named_nodes
    from reports.verdict.judge import judge_report

    verdict = judge_report(options.run, quarantine.site)
    if verdict.session.systems not in ((), (quarantine.site.name,)):
        raise InputError(f"{options.run} is of {', '.join(verdict.session.systems)}, not of {quarantine.site.name}")
    began = verdict.session.time_start
    try:
        measured = datetime.datetime.strptime(began, "%Y%m%dT%H%M%S%z").timestamp()
    except ValueError:
        raise InputError(f"{options.run}: expected a time as session_info.time_start, found {began!r}") from None
    if not options.dry_run and time.time() - measured > MOST_AGE_S:
        raise InputError(f"{options.run} is older than a day, and the nodes may be mended since: measure again")
    return named_nodes(verdict.cases, quarantine.rule.evidence), measured


def _say(actions: list[Action]) -> int:
    from reports.quarantine.decide import told

    for action in actions:
        print(clean(told(action)))
    if not actions:
        print("no confirmed finding names a node")
    outcomes = {action.outcome for action in actions}
    return UNDONE if "failed" in outcomes else STAYS if "declined" in outcomes else 0
