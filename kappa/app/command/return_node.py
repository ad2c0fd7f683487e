"""Test nodes in quarantine, and resume each node that passes. Without NODE, Kappa tests all nodes whose quarantine has
ended by the site's rule.

The test runs the checks that named the node, and related checks. A reservation keeps other jobs off the node during the
test. If the node fails, Kappa drains it again. Kappa leaves nodes alone that somebody else drained. OPTIONs are options
for ReFrame.

Exit status: 0 each node passed, or none was due, 1 a node failed, 2 a test has no result, or a node cannot resume.

examples:
  kappa node return mycluster node17 --dry-run       print the actions; change nothing
  kappa node return mycluster node17                 test node17 now
  kappa node return mycluster                        test the nodes that are due, as a night does
"""

from __future__ import annotations

import argparse
import shlex
import time
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, add_site
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import stopping

if TYPE_CHECKING:
    from kappa.app.conduct.quarantine import Quarantine
    from kappa.core.record.actions import Action
    from reports.verdict.state import State


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    to.usage = "%(prog)s SITE [NODE…] [--dry-run] [-- OPTION…]"
    to.after_dashes = "reframe"
    add_site(to)
    to.add_argument("nodes", metavar="NODE", nargs="*", help="a node in quarantine (default: all due nodes)")
    to.add_argument("--dry-run", action="store_true", help="print the actions; change nothing")


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.preflight import require_sound
    from kappa.app.conduct.quarantine import Quarantine, ReturnTest, end_quarantines
    from kappa.app.conduct.session import Conductor, reframe
    from kappa.app.conduct.validation import using
    from kappa.core.sites.load import Site
    from reports.verdict.judge import EXIT_STATUS

    site, results = Site(site_folder(options.site)), results_folder(options.site)
    require_sound(site)
    quarantine = Quarantine.required(site, results)
    with stopping() as stop, cluster_up(site.folder):
        if options.dry_run:
            return _dry_run(quarantine, options)
        reframe()
        with using(results, site) as own, quarantine.alone(stop.check) as lock:
            conductor = Conductor(stop, [own, lock])
            if options.nodes:
                tests = [ReturnTest(quarantine, held, options.reframe) for held in _chosen(quarantine, options.nodes)]
                found = [_said(test.run(conductor)) for test in tests]
            else:
                found = [_said(one) for one in end_quarantines(quarantine, conductor, options.reframe)]
    if not found:
        print("no quarantine has ended")
        return 0
    return EXIT_STATUS[max(found, key=lambda state: state.severity)]


def _chosen(quarantine: Quarantine, nodes: list[str]) -> list[Action]:
    """Return the quarantines of the given nodes.

    :raises InputError: Kappa did not put one of them into quarantine. The message states the node's state.
    """
    held = quarantine.held()
    for node in nodes:
        if node not in held:
            now = quarantine.commands.nodes().get(node)
            raise InputError(
                f"{node} is not in quarantine: {now or 'Slurm lists no such node'}; Kappa resumes only nodes that it"
                f" drained; in quarantine: {', '.join(sorted(held)) or 'none'}"
            )
    return [held[node] for node in dict.fromkeys(nodes)]


def _said(found: tuple[Action, State]) -> State:
    from reports.quarantine.decide import told

    action, state = found
    print(clean(told(action)), flush=True)
    return state


def _dry_run(quarantine: Quarantine, options: argparse.Namespace) -> int:
    from kappa.app.conduct.quarantine import ReturnTest
    from reports.quarantine.decide import is_due, told

    now = time.time()
    chosen = _chosen(quarantine, options.nodes) if options.nodes else list(quarantine.held().values())
    for held in chosen:
        due = bool(options.nodes) or is_due(held, now)
        print(clean(f"{told(held)}{'' if due else ' (not due)'}"))
        for command in ReturnTest(quarantine, held, options.reframe).commands() if due else ():
            print(clean(f"    {shlex.join(command)}"))
    if not chosen:
        print("no node is in quarantine")
    return 0
