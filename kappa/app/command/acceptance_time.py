"""Measure the next repeat of a duration clause: the time from the stop to the first new job that runs. Kappa sends a
small job each second. Kappa does not stop the part: stop it by hand, or give the COMMAND after `--`. The time then
begins with the command, which Kappa runs as you, without a shell.

Exit status: 0 measured, 1 measured and beyond the bound, 2 not measured or an error.

examples:
  kappa acceptance time SITE DIR T1                                        stop slurmctld by hand when Kappa says so
  kappa acceptance time SITE DIR T1 -- ssh mgmt1 sudo systemctl restart slurmctld
  kappa acceptance time SITE DIR T2 -- scontrol takeover
  kappa acceptance time SITE DIR T3 --node n017 -- scontrol reboot ASAP nextstate=RESUME n017
  kappa acceptance time SITE DIR T4 --since 2026-12-03T08:00+01:00         the power was switched on then
"""

import argparse
import pathlib

from kappa.app.command.acceptance import INTERRUPTED, add_contract, contract_file, load_site
from kappa.app.command.arguments import CommandParser, moment
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError, stopping


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    to.after_dashes = "command"
    add_contract(to)
    to.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder for contract and results")
    to.add_argument("clause", metavar="CLAUSE", help="the id of the clause")
    to.add_argument("--node", metavar="NODE", default="", help="the node that is rebooted")
    to.add_argument("--since", metavar="TIME", type=moment, help="when it was stopped or switched on, with a zone")


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.leftovers import job_ended
    from kappa.app.conduct.operation_bench import SlurmBench
    from kappa.app.conduct.session import Conductor
    from reports.acceptance.campaign.folder import Campaign
    from reports.acceptance.contract import freeze
    from reports.acceptance.kinds.clause import OperatorStop
    from reports.acceptance.listing import say

    site, contract = load_site(options)
    timed = {clause.id: clause for clause in contract.clauses if clause.timed}
    if options.clause not in timed:
        legal = ", ".join(timed) or "none"
        raise InputError(f"{clean(options.clause)}: expected a duration clause of the contract: {legal}")
    if options.command and options.since:
        raise InputError("expected either --since or a COMMAND")
    operator_stop = OperatorStop(options.command, options.since and options.since.timestamp(), options.node)
    campaign = Campaign(options.folder)
    with campaign.locked(job_ended(site)) as lock:
        freeze(campaign.folder, contract_file(options, site))
        try:
            with stopping() as stop:
                bench = SlurmBench(campaign.folder, site, Conductor(stop, [lock]))
                holds = timed[options.clause].measure_stop(bench, operator_stop)
        except StoppedError as err:
            say(f"{err}; nothing was measured")
            return INTERRUPTED
    return 2 if holds is None else 0 if holds else 1
