"""``kappa acceptance time SITE DIR CLAUSE [-- COMMAND]``: measure the time of a restart, failover, reboot or start."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kappa.app.command.acceptance_log import moment
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError, stopping

if TYPE_CHECKING:
    from kappa.core.sites.contract import Contract
    from kappa.core.sites.load import Site

_EXAMPLES = """\
  kappa acceptance time SITE DIR T1                                        stop slurmctld by hand when Kappa says so
  kappa acceptance time SITE DIR T1 -- ssh mgmt1 sudo systemctl restart slurmctld
  kappa acceptance time SITE DIR T2 -- scontrol takeover
  kappa acceptance time SITE DIR T3 --node n017 -- scontrol reboot ASAP nextstate=RESUME n017
  kappa acceptance time SITE DIR T4 --since 2026-12-03T08:00+01:00         the power was switched on then"""
INTERRUPTED = 2


def add_time(
    actions: Any, of_site: argparse.ArgumentParser, load: Callable[[argparse.Namespace], tuple[Site, Contract]]
) -> None:
    """Add the subcommand ``time`` to those of ``kappa acceptance``.

    :param of_site: the arguments about the site and the contract. :param load: reads both.
    """
    timing = actions.add_parser(
        "time",
        parents=[of_site],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="time a restart, failover, reboot or start, once",
        description="Measure the next repeat of a duration clause: the time from the stop to the first new job that\n"
        "runs. Kappa sends a small job each second. Kappa does not stop the part: stop it by hand, or give\n"
        "the COMMAND after `--`; the time then begins with the command. Kappa runs it as you, without a shell.\n"
        "Exit status: 0 measured, 1 measured and beyond the bound, 2 not measured or an error.",
        epilog=_EXAMPLES,
    )
    timing.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder for contract and results")
    timing.add_argument("clause", metavar="CLAUSE", help="the id of the clause")
    timing.add_argument("--node", metavar="NODE", default="", help="the node that is rebooted")
    timing.add_argument("--since", metavar="TIME", type=moment, help="when it was stopped or switched on, with a zone")
    timing.set_defaults(act=lambda options: _time(options, load))


def _time(options: argparse.Namespace, load: Callable[[argparse.Namespace], tuple[Site, Contract]]) -> int:
    from kappa.app.conduct.leftovers import job_ended
    from kappa.app.conduct.operation_timing import measure_time
    from kappa.app.conduct.session import Conductor
    from kappa.core.sites.contract import FILE
    from reports.acceptance.campaign import Campaign
    from reports.acceptance.listing import say

    site, contract = load(options)
    clause = next((one for one in contract.clauses if one.id == options.clause and one.duration), None)
    if clause is None or clause.duration is None:
        legal = ", ".join(one.id for one in contract.clauses if one.duration) or "none"
        raise InputError(f"{clean(options.clause)}: expected a duration clause of the contract: {legal}")
    if (clause.duration.of == "reboot") != bool(options.node):
        raise InputError(f"{clause.id}: expected --node NODE with the reboot of a node, and only then")
    if clause.duration.of in ("reboot", "start") and not (options.command or options.since):
        raise InputError(f"{clause.id}: expected --since TIME or a COMMAND after `--`")
    if options.command and options.since:
        raise InputError("expected either --since or a COMMAND")
    campaign = Campaign(options.folder)
    with campaign.locked(job_ended(site)) as lock:
        campaign.freeze(options.contract or site.folder / FILE)
        try:
            with stopping() as stop:
                measured = measure_time(
                    campaign, clause, site, Conductor(stop, [lock]), options.command,
                    options.since.timestamp() if options.since else None, options.node,
                )  # fmt: skip
        except StoppedError as err:
            say(f"{err}; nothing was measured")
            return INTERRUPTED
    say(f"{clause.id}: {measured.words}")
    return 2 if measured.holds is None else 0 if measured.holds else 1
