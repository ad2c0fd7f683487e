"""Check a contract, clause by clause, with repeated runs. The contract is the file acceptance.yaml of the site.

  ACCEPTED      0  every mandatory clause is met or waived
  NOT ACCEPTED  1  a mandatory clause is not met
  INCOMPLETE    2  every mandatory clause with enough samples is met, but one lacks samples

examples:
  kappa acceptance plan embedded                    show what would run, on how many nodes, for how long
  kappa acceptance run embedded acceptance-2026     stop it at any time; the same command continues
  kappa acceptance time embedded acceptance-2026 T1 time a restart of slurmctld, for a clause of duration
  kappa acceptance report acceptance-2026           write acceptance-2026/dossier
  kappa acceptance sign acceptance-2026/dossier gpg --party vendor     sign as the second party
  kappa acceptance log acceptance-2026 show         show the outages, for clauses of reliability and availability
  kappa acceptance verify acceptance-2026/dossier   check that the dossier is unaltered
"""

from __future__ import annotations

import argparse
import pathlib
from inspect import getdoc
from typing import TYPE_CHECKING

from kappa.app.command.arguments import SITE_HELP, CommandParser, add_json, alone, write_json
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import StoppedError, stopping

if TYPE_CHECKING:
    from kappa.app.conduct.session import Conductor
    from kappa.core.sites.load import Site
    from reports.acceptance.kinds.clause import Contract, Planning
    from reports.acceptance.plan import AcceptancePlan

_HOW = "gpg, gpg:KEY or minisign:SECRET_KEY_FILE"
INTERRUPTED = 2


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__)
    to.add_command("plan", "print what would run; submit nothing", _add_plan)
    to.add_command("run", "run the remaining repeats of the contract", _add_run)
    to.add_command("time", "time a restart, failover, reboot or start, once", "acceptance_time")
    to.add_command("log", "the outage log: collect, add, agree, show", "acceptance_log")
    to.add_command("report", "write the dossier of the runs in DIR", _add_report)
    to.add_command("sign", "sign a finished dossier", _add_sign)
    to.add_command("verify", "check that a dossier is unaltered", "verify")


def add_contract(to: CommandParser) -> None:
    """Add the arguments about the site and its contract."""
    to.add_argument("site", metavar="SITE", help=SITE_HELP)
    to.add_argument(
        "--contract", metavar="FILE", type=pathlib.Path, help="use this contract instead of SITE/acceptance.yaml"
    )


def _add_requirements(to: CommandParser) -> None:
    to.add_argument(
        "--requirements",
        metavar="FILE",
        type=pathlib.Path,
        help="a YAML file `ID: text`; list its requirements that no clause covers",
    )


def _add_results(to: CommandParser) -> None:
    to.add_argument(
        "--results",
        metavar="DIR",
        type=pathlib.Path,
        help="take run times from the stored runs in DIR (default: results/SYSTEM/runs)",
    )


def _add_plan(to: CommandParser) -> None:
    to.describe(getdoc(_plan), _plan)
    add_contract(to)
    _add_results(to)
    _add_requirements(to)
    add_json(to)


def _plan(options: argparse.Namespace) -> int:
    """Print the series that the contract's clauses select, the repeats, nodes and time, and what each
    further kind of clause costs and decides.
    Exit status: 0 every clause selects one series, 2 otherwise.
    """
    from kappa.app.conduct.session import Conductor
    from reports.acceptance.contract import load_requirements
    from reports.acceptance.listing import say, show_plan
    from reports.acceptance.plan import to_document
    from reports.acceptance.requirements import uncovered

    site, contract = load_site(options)
    planning = _planning(options, site, contract, None)
    missing = uncovered(contract, load_requirements(options.requirements)) if options.requirements else []
    with stopping() as stop:
        planned = _planned(options, site, planning, Conductor(stop))
    status = 2 if planned.unresolved else 0
    document = {"exit_status": status, **to_document(contract, planned), "uncovered_requirements": missing}
    write_json(options.json, document)
    if not alone(options.json):
        show_plan(contract, planned)
        for requirement in missing:
            say(f"no clause covers the requirement {requirement}")
    return status


def _add_run(to: CommandParser) -> None:
    to.describe(getdoc(_run), _run)
    add_contract(to)
    to.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder for contract and results")
    _add_results(to)
    to.add_argument(
        "--again", action="store_true", help="also run failed repeats again; the dossier lists the earlier attempt"
    )


def _run(options: argparse.Namespace) -> int:
    """Run each repeat as a separate ReFrame session. DIR must be on a file system that the nodes see.
    SIGTERM or Ctrl-C stops the command. The same command continues with the remaining repeats.
    Exit status: 0 ACCEPTED, 1 NOT ACCEPTED, 2 INCOMPLETE, by the results in DIR; 2 also if it was stopped.
    """
    from kappa.app.conduct.acceptance import run_series
    from kappa.app.conduct.leftovers import job_ended
    from kappa.app.conduct.operation_bench import SlurmBench
    from kappa.app.conduct.session import Conductor
    from reports.acceptance.campaign.folder import Campaign
    from reports.acceptance.contract import freeze
    from reports.acceptance.judge import judge
    from reports.acceptance.listing import say, show_verdict

    site, contract = load_site(options)
    campaign = Campaign(options.folder)
    with campaign.locked(job_ended(site)) as lock:
        planning = _planning(options, site, contract, options.folder)
        # Only then the contract is bound, so that a wrong path in it can still be corrected.
        for clause in contract.clauses:
            clause.keep_inputs(planning)
        freeze(options.folder, planning.file)
        try:
            with stopping() as stop:
                conductor = Conductor(stop, [lock])
                planned = _planned(options, site, planning, conductor)
                for name, why in planned.unresolved.items():
                    say(f"{name}: not run: {why}")
                run_series(campaign, contract, planned, site, conductor, options.again)
                bench = SlurmBench(campaign.folder, site, conductor, options.again)
                for clause in contract.clauses:
                    clause.measure(bench)
        except StoppedError as err:
            say(f"{err}; finished repeats are kept; run the same command to continue")
            return INTERRUPTED
        except OSError as err:
            raise InputError(f"{clean(str(options.folder))}: {err.strerror}; run the same command to continue") from err
        verdict = judge(campaign)
    show_verdict(verdict)
    say(f"write the dossier with: kappa acceptance report {options.folder}")
    return verdict.acceptance.exit_status


def _add_report(to: CommandParser) -> None:
    to.describe(getdoc(_report), _report)
    to.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder of `kappa acceptance run`")
    to.add_argument(
        "-o", "--output", metavar="DOSSIER", type=pathlib.Path, help="write into this new folder (default: DIR/dossier)"
    )
    to.add_argument(
        "--contract", metavar="FILE", type=pathlib.Path, help="the contract with waivers added after the run"
    )
    _add_requirements(to)
    to.add_argument("--no-pdf", action="store_true", help="write no PDF")
    to.add_argument("--sign", metavar="HOW", help=f"sign the manifest: {_HOW}")


def _report(options: argparse.Namespace) -> int:
    """Write the dossier: HTML, PDF, contract, raw results, manifest. The command runs no check.
    The same results give the same dossier. To add a waiver after the measurements, write it into the contract
    and pass the contract with --contract. The dossier keeps both versions.
    Exit status: 0 ACCEPTED, 1 NOT ACCEPTED, 2 INCOMPLETE or an error.
    """
    from reports.acceptance.campaign.folder import Campaign
    from reports.acceptance.contract import freeze, keep_requirements
    from reports.acceptance.dossier import write_dossier
    from reports.acceptance.listing import say, show_verdict

    target = options.output or options.folder / "dossier"
    campaign = Campaign(options.folder)
    if options.contract or options.requirements:
        with campaign.locked():
            if options.contract:
                freeze(options.folder, options.contract)
            if options.requirements:
                keep_requirements(options.folder, options.requirements)
    with campaign.at_rest():
        verdict = write_dossier(campaign, target, not options.no_pdf, options.sign)
    show_verdict(verdict)
    say(f"dossier: {target}")
    return verdict.acceptance.exit_status


def _add_sign(to: CommandParser) -> None:
    to.describe(getdoc(_sign), _sign)
    to.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    to.add_argument("how", metavar="HOW", help=_HOW)
    to.add_argument("--party", metavar="NAME", default="", help="who signs; part of the signature's file name")


def _sign(options: argparse.Namespace) -> int:
    """Add a detached signature to a dossier, for instance of the second party.
    The command verifies the dossier first, and does not sign an altered one.
    """
    from kappa.app.conduct.rereading import prove
    from reports.acceptance.campaign.signature import sign
    from reports.acceptance.listing import say

    problems = prove(options.dossier).problems
    if problems:
        raise InputError(f"{clean(str(options.dossier))}: not signed, because it does not verify: {problems[0]}")
    say(f"signed: {sign(options.dossier, options.how, options.party)}")
    return 0


def load_site(options: argparse.Namespace) -> tuple[Site, Contract]:
    """Return the site and the contract that ``add_contract``'s arguments name."""
    from kappa.core.sites.load import Site
    from reports.acceptance.contract import load_contract

    site = Site(site_folder(options.site))
    site.require_sound()
    # Without a description there are no names to compare with.
    return site, load_contract(contract_file(options, site), site.description)


def contract_file(options: argparse.Namespace, site: Site) -> pathlib.Path:
    from reports.acceptance.contract import FILE

    return options.contract or site.folder / FILE


def _planning(options: argparse.Namespace, site: Site, contract: Contract, campaign: pathlib.Path | None) -> Planning:
    from reports.acceptance.campaign.folder import Campaign
    from reports.acceptance.dossier import verify
    from reports.acceptance.judge import judge
    from reports.acceptance.kinds.clause import Planning

    file = contract_file(options, site)
    return Planning(contract, file, campaign, lambda dossier: judge(Campaign(dossier)), verify)


def _planned(options: argparse.Namespace, site: Site, planning: Planning, conductor: Conductor) -> AcceptancePlan:
    from kappa.app.conduct.planning import offers
    from reports.acceptance.plan import plan, wanted_series
    from reports.plan.plan import past_of, read_sessions

    results = options.results or results_folder(planning.contract.system) / "runs"
    reports = [*results.glob("*/run-report.json")]
    if planning.campaign:
        reports += planning.campaign.glob("attempts/*/run-report.json")
    newest = sorted(reports, key=lambda path: path.stat().st_mtime, reverse=True)
    wanted, past = wanted_series(planning), past_of(read_sessions(newest))
    return plan(planning, wanted, offers(site, planning.contract, wanted, past, conductor))
