"""``kappa acceptance``: ``plan``, ``run``, ``time``, ``report``, ``sign`` and ``log``."""

from __future__ import annotations

import argparse
import pathlib
from dataclasses import replace
from typing import TYPE_CHECKING

from kappa.app.command.acceptance_log import add_log
from kappa.app.command.acceptance_time import add_time
from kappa.app.command.arguments import SITE_HELP, Words, add_json, alone, parser, write_json
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import StoppedError, stopping

if TYPE_CHECKING:
    from kappa.app.conduct.session import Conductor
    from kappa.core.sites.contract import Contract
    from kappa.core.sites.load import Site
    from reports.acceptance.accepted import AcceptedDossier
    from reports.acceptance.plan import AcceptancePlan

_DESCRIPTION = """\
Check a contract, clause by clause, with repeated runs. The contract is the file acceptance.yaml of the site.

  ACCEPTED      0  every mandatory clause is met or waived
  NOT ACCEPTED  1  a mandatory clause is not met
  INCOMPLETE    2  every mandatory clause with enough samples is met, but one lacks samples"""
_EXAMPLES = """\
  kappa acceptance plan embedded                    show what would run, on how many nodes, for how long
  kappa acceptance run embedded acceptance-2026     stop it at any time; the same command continues
  kappa acceptance time embedded acceptance-2026 T1 time a restart of slurmctld, for a clause of duration
  kappa acceptance report acceptance-2026           write acceptance-2026/dossier
  kappa acceptance sign acceptance-2026/dossier gpg --party vendor     sign as the second party
  kappa acceptance log acceptance-2026 show         show the outages, for clauses of reliability and availability
  kappa acceptance verify acceptance-2026/dossier              check that the dossier is unaltered
"""
_HOW = "gpg, gpg:KEY or minisign:SECRET_KEY_FILE"
INTERRUPTED = 2


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    return int(options.act(options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    words = parser("acceptance", _DESCRIPTION, _EXAMPLES)
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")

    of_site = Words(add_help=False)
    of_site.add_argument("site", metavar="SITE", help=SITE_HELP)
    of_site.add_argument(
        "--contract", metavar="FILE", type=pathlib.Path, help="use this contract instead of SITE/acceptance.yaml"
    )
    of_site.add_argument(
        "--results", metavar="DIR", type=pathlib.Path,
        help="take run times from the stored runs in DIR (default: results/SYSTEM/runs)",
    )  # fmt: skip

    planned = actions.add_parser(
        "plan",
        parents=[of_site],
        formatter_class=raw,
        help="print what would run; submit nothing",
        description="Print the series that the contract's clauses select, the repeats, nodes and time. For clauses\n"
        "about outages: the length of the test, the allowed interrupts and the risks of both parties. For retained\n"
        "clauses: the chance of a wrong answer, and the day by which the rerun is due.\n"
        "Exit status: 0 every clause selects one series, 2 otherwise.",
    )
    planned.add_argument(
        "--characteristic", metavar="FILE", type=pathlib.Path,
        help="write the operating characteristics of the reliability clauses as an HTML page",
    )  # fmt: skip
    add_json(planned)
    planned.set_defaults(act=_plan)

    running = actions.add_parser(
        "run",
        parents=[of_site],
        formatter_class=raw,
        help="run the remaining repeats of the contract",
        description="Run each repeat as a separate ReFrame session. DIR must be on a file system that the nodes see.\n"
        "SIGTERM or Ctrl-C stops the command. The same command continues with the remaining repeats.\n"
        "Exit status: 0 ACCEPTED, 1 NOT ACCEPTED, 2 INCOMPLETE, by the results in DIR; 2 also if it was stopped.",
    )
    running.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder for contract and results")
    running.add_argument(
        "--again",
        action="store_true",
        help="also run failed repeats again; the dossier lists the earlier attempt",
    )
    running.set_defaults(act=_run)

    report = actions.add_parser(
        "report",
        formatter_class=raw,
        help="write the dossier of the runs in DIR",
        description="Write the dossier: HTML, PDF, contract, raw results, manifest. The command runs no check.\n"
        "The same results give the same dossier. To add a waiver after the measurements, write it into the contract\n"
        "and pass the contract with --contract. The dossier keeps both versions.\n"
        "Exit status: 0 ACCEPTED, 1 NOT ACCEPTED, 2 INCOMPLETE or an error.",
    )
    report.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder of `kappa acceptance run`")
    report.add_argument(
        "-o", "--output", metavar="DOSSIER", type=pathlib.Path, help="write into this new folder (default: DIR/dossier)"
    )
    report.add_argument(
        "--contract", metavar="FILE", type=pathlib.Path, help="the contract with waivers added after the run"
    )
    report.add_argument("--no-pdf", action="store_true", help="write no PDF")
    report.add_argument("--sign", metavar="HOW", help=f"sign the manifest: {_HOW}")
    report.set_defaults(act=_report)

    signing = actions.add_parser(
        "sign",
        formatter_class=raw,
        help="sign a finished dossier",
        description="Add a detached signature to a dossier, for instance of the second party.\n"
        "The command verifies the dossier first, and does not sign an altered one.",
    )
    signing.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    signing.add_argument("how", metavar="HOW", help=_HOW)
    signing.add_argument("--party", metavar="NAME", default="", help="who signs; part of the signature's file name")
    signing.set_defaults(act=_sign)

    add_time(actions, of_site, _site_to_measure)
    add_log(actions)
    # argparse would give the words after `--` to other arguments.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = words.parse_args(arguments[:end])
    options.command = arguments[end + 1 :]
    if options.command and options.action != "time":
        words.error(f"unexpected words after --: {clean(' '.join(options.command))}")
    return options


def _plan(options: argparse.Namespace) -> int:
    from kappa.app.conduct.session import Conductor
    from reports.acceptance.accepted import accepted_dossiers
    from reports.acceptance.listing import say, show_plan
    from reports.acceptance.plan import to_document
    from reports.acceptance.tender import suite_problem

    site, contract = _site(options)
    accepted = accepted_dossiers(contract, _contract_file(options, site), None)
    with stopping() as stop:
        planned = _planned(options, site, contract, accepted, Conductor(stop))
    status = 2 if planned.unresolved else 0
    if options.characteristic:
        from kappa.core.ground.whole_files import write_atomically
        from reports.acceptance.dossier_page import characteristic_page

        write_atomically(options.characteristic, characteristic_page(contract), 0o644)
    write_json(options.json, {"exit_status": status, **to_document(contract, planned)})
    if not alone(options.json):
        show_plan(contract, planned)
        if problem := suite_problem(contract):
            say(f"note: `run` refuses this suite: {problem}")
    return status


def _run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.acceptance import run as run_left
    from kappa.app.conduct.leftovers import job_ended
    from kappa.app.conduct.mix_running import run_mixes
    from kappa.app.conduct.session import Conductor
    from reports.acceptance.accepted import accepted_dossiers, keep_copies
    from reports.acceptance.campaign import Campaign
    from reports.acceptance.judge import judge
    from reports.acceptance.listing import say, show_verdict

    site, contract = _site_to_measure(options)
    campaign = Campaign(options.folder)
    file = _contract_file(options, site)
    with campaign.locked(job_ended(site)) as lock:
        accepted = accepted_dossiers(contract, file, campaign.folder)
        campaign.freeze(file)
        keep_copies(campaign, accepted)
        try:
            with stopping() as stop:
                conductor = Conductor(stop, [lock])
                planned = _planned(options, site, contract, accepted, conductor)
                for clause, why in planned.unresolved.items():
                    say(f"{clause}: not run: {why}")
                run_left(campaign, planned, site, conductor, options.again)
                run_mixes(campaign, contract, site, conductor, options.again)
        except StoppedError as err:
            say(f"{err}; finished repeats are kept; run the same command to continue")
            return INTERRUPTED
        except OSError as err:
            raise InputError(f"{clean(str(options.folder))}: {err.strerror}; run the same command to continue") from err
        verdict = judge(campaign)
    show_verdict(verdict)
    say(f"write the dossier with: kappa acceptance report {options.folder}")
    return verdict.acceptance.exit_status


def _report(options: argparse.Namespace) -> int:
    from reports.acceptance.campaign import Campaign
    from reports.acceptance.dossier import write_dossier
    from reports.acceptance.listing import say, show_verdict
    from reports.acceptance.outage_log import log_at_rest

    target = options.output or options.folder / "dossier"
    campaign = Campaign(options.folder)
    if options.contract:
        with campaign.locked():
            campaign.freeze(options.contract)
    with campaign.at_rest(), log_at_rest(options.folder):
        verdict = write_dossier(campaign, target, not options.no_pdf, options.sign)
    show_verdict(verdict)
    say(f"dossier: {target}")
    return verdict.acceptance.exit_status


def _sign(options: argparse.Namespace) -> int:
    from kappa.app.conduct.rereading import prove
    from reports.acceptance.listing import say
    from reports.acceptance.signature import sign

    problems = prove(options.dossier).problems
    if problems:
        raise InputError(f"{clean(str(options.dossier))}: not signed, because it does not verify: {problems[0]}")
    say(f"signed: {sign(options.dossier, options.how, options.party)}")
    return 0


def _contract_file(options: argparse.Namespace, site: Site) -> pathlib.Path:
    from kappa.core.sites.contract import FILE

    return options.contract or site.folder / FILE


def _site(options: argparse.Namespace) -> tuple[Site, Contract]:
    from kappa.core.sites.contract import load_contract
    from kappa.core.sites.load import Site

    folder = site_folder(options.site)
    site = Site(folder)
    site.require_sound()
    # Without a description there are no names to compare with.
    agreed = None if options.contract else site.contract
    return site, agreed or load_contract(_contract_file(options, site), site.description)


def _site_to_measure(options: argparse.Namespace) -> tuple[Site, Contract]:
    """:raises InputError: the suite differs from the frozen one of the contract's tender."""
    from reports.acceptance.tender import suite_problem

    site, contract = _site(options)
    if problem := suite_problem(contract):
        raise InputError(f"{clean(str(_contract_file(options, site)))}: {problem}")
    return site, contract


def _planned(
    options: argparse.Namespace, site: Site, contract: Contract, accepted: list[AcceptedDossier], conductor: Conductor
) -> AcceptancePlan:
    from kappa.app.conduct.planning import offers
    from reports.acceptance.accepted import planned_reruns
    from reports.acceptance.plan import plan, stored_times
    from reports.acceptance.retained import with_reruns

    results = options.results or results_folder(contract.system) / "runs"
    reports = [*results.glob("*/run-report.json")]
    if "folder" in options:
        reports += options.folder.glob("attempts/*/run-report.json")
    whole = with_reruns(contract, {one.clause.id: one.verdict for one in accepted})
    planned = plan(whole, offers(site, whole, conductor), stored_times(reports))
    return replace(planned, reruns=planned_reruns(accepted))
