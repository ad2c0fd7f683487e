"""List the nodes in quarantine. With --run, apply the site's rule (`quarantine` in site.yaml) to the nodes that
confirmed findings of a run name. A night does this at its end; `kappa validate` does not. Kappa prints and records
every action, and the reason if it takes none.

Exit status: 0 done, or nothing to do, 1 a node named by a finding stays in service, 2 an action failed.

examples:
  kappa node quarantine mycluster
  kappa node quarantine mycluster --run mycluster --dry-run       show what the newest run would cause
"""

from __future__ import annotations

import argparse
import datetime
import time
from typing import TYPE_CHECKING

from kappa.app.command.arguments import RUN_HELP, CommandParser, add_site, add_stored
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import stopping

if TYPE_CHECKING:
    from kappa.app.conduct.quarantine import Quarantine
    from kappa.core.record.actions import Action, Evidence

STAYS, UNDONE = 1, 2
# The node may have changed since an older finding.
MOST_AGE_S = 86_400.0


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to)
    add_stored(to, "--run", f"apply the rule to {RUN_HELP}")
    to.add_argument("--dry-run", action="store_true", help="print the actions; change nothing")


def run(options: argparse.Namespace) -> int:
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
    """Return the evidence for each named node, and the time of the measurement, in seconds since 1970.

    :raises InputError: the run cannot be judged, belongs to another site, or is too old to act on.
    """
    from reports.quarantine.evidence import named_nodes
    from reports.verdict.stored import judge_report

    verdict = judge_report(options.run)
    if verdict.session.systems not in ((), (quarantine.site.name,)):
        systems = ", ".join(verdict.session.systems)
        raise InputError(f"{options.run}: a run of {systems}, not of {quarantine.site.name}: name a run of this site")
    began = verdict.session.time_start
    try:
        measured = datetime.datetime.strptime(began, "%Y%m%dT%H%M%S%z").timestamp()
    except ValueError:
        raise InputError(f"{options.run}: expected a time as session_info.time_start, found {began!r}") from None
    if not options.dry_run and time.time() - measured > MOST_AGE_S:
        raise InputError(f"{options.run}: older than a day, so the nodes may be repaired: validate the site again")
    return named_nodes(verdict.cases, quarantine.rule.evidence), measured


def _say(actions: list[Action]) -> int:
    from reports.quarantine.decide import told

    for action in actions:
        print(clean(told(action)))
    if not actions:
        print("no confirmed finding names a node")
    outcomes = {action.outcome for action in actions}
    return UNDONE if "failed" in outcomes else STAYS if "declined" in outcomes else 0
