"""Command line: ``python -m reports acceptance plan|run|report`` and ``python -m reports verify``."""

import argparse
import pathlib
import sys

from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.ground.figures import NOTHING, counted, duration
from kappa.sites.contract import FILE, Contract, load_contract
from kappa.sites.expected import SITES, load_site
from reports.acceptance.campaign import Campaign
from reports.acceptance.judge import Outcome, Verdict, judge
from reports.acceptance.plan import Item, Plan, plan, stored_times
from reports.acceptance.sessions import StoppedError, offers, stoppable

_EXAMPLES = """\
examples:
  python -m reports acceptance plan embedded                    what would run, on how many nodes, for how long
  python -m reports acceptance run embedded acceptance-2026     stop it at any moment; the same command goes on
  python -m reports acceptance report acceptance-2026           writes acceptance-2026/dossier
  python -m reports acceptance sign acceptance-2026/dossier gpg --party vendor     the second party
  python -m reports verify acceptance-2026/dossier              was anything altered since?
"""
_SITE_HELP = "name of a folder in site_configs, or a folder with settings.py and acceptance.yaml"
_HOW = "gpg, gpg:KEY or minisign:SECRET_KEY_FILE"
INTERRUPTED = 2


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``acceptance`` and ``verify`` to the command line of the reports."""
    raw = argparse.RawDescriptionHelpFormatter
    acceptance = commands.add_parser(
        "acceptance",
        formatter_class=raw,
        help="plan, run and report the acceptance by a site's contract",
        description="The clauses of a contract (acceptance.yaml of a site) held against repeated runs.\n\n"
        "  ACCEPTED      0  every mandatory clause is met or waived\n"
        "  NOT ACCEPTED  1  a mandatory clause is not met\n"
        "  INCOMPLETE    2  none is unmet, but a mandatory clause lacks samples",
        epilog=_EXAMPLES,
    )
    actions = acceptance.add_subparsers(dest="action", required=True, metavar="ACTION")

    of_site = argparse.ArgumentParser(add_help=False)
    of_site.add_argument("site", metavar="SITE", type=pathlib.Path, help=_SITE_HELP)
    of_site.add_argument("--contract", metavar="FILE", type=pathlib.Path, help=f"another contract than SITE/{FILE}")
    of_site.add_argument(
        "--results",
        metavar="DIR",
        type=pathlib.Path,
        help="stored runs to take run times from (default: results/SYSTEM/runs)",
    )

    planned = actions.add_parser(
        "plan",
        parents=[of_site],
        formatter_class=raw,
        help="print what would run; submits nothing",
        description="Print the series that the contract's clauses select, the repeats, nodes and time.\n"
        "Exit status: 0 when every clause selects one series, 2 otherwise.",
    )
    planned.set_defaults(command=_plan)

    running = actions.add_parser(
        "run",
        parents=[of_site],
        formatter_class=raw,
        help="run what is left of the contract, through ReFrame and Slurm",
        description="Run each repeat as a ReFrame session of its own. DIR has to be on a file system that the nodes\n"
        "see. SIGTERM or Ctrl-C stops it; the same command goes on with what is left.\n"
        "Exit status: 0, 1 or 2 as the verdict's on what DIR then holds; 2 when it was stopped.",
    )
    running.add_argument("folder", metavar="DIR", type=pathlib.Path, help="where contract and results are kept")
    running.add_argument(
        "--again",
        action="store_true",
        help="also run repeats anew that failed; the dossier tells of the earlier attempt",
    )
    running.set_defaults(command=_run)

    report = actions.add_parser(
        "report",
        formatter_class=raw,
        help="write the dossier of what was run",
        description="Write the dossier: HTML, PDF, contract, raw results, manifest. Runs nothing; the same results\n"
        "give the same dossier. A waiver that is given after measuring goes into the contract, then into the dossier\n"
        "by --contract; the dossier keeps both versions.\n"
        "Exit status: 0 ACCEPTED, 1 NOT ACCEPTED, 2 INCOMPLETE or an error.",
    )
    report.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder that run filled")
    report.add_argument(
        "-o", "--output", metavar="DOSSIER", type=pathlib.Path, help="a new folder (default: DIR/dossier)"
    )
    report.add_argument(
        "--contract", metavar="FILE", type=pathlib.Path, help="the contract with the waivers that were given since"
    )
    report.add_argument("--no-pdf", action="store_true", help="write no PDF")
    report.add_argument("--sign", metavar="HOW", help=f"sign the manifest: {_HOW}")
    report.set_defaults(command=_report)

    signing = actions.add_parser(
        "sign",
        formatter_class=raw,
        help="sign a dossier that is finished",
        description="Add a detached signature to a dossier, for instance that of the second party.\n"
        "What does not verify is not signed.",
    )
    signing.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    signing.add_argument("how", metavar="HOW", help=_HOW)
    signing.add_argument("--party", metavar="NAME", default="", help="who signs, for the name of the file")
    signing.set_defaults(command=_sign)

    proof = commands.add_parser(
        "verify",
        formatter_class=raw,
        help="prove that a dossier is as it was written",
        description="Hold every file of a dossier against its manifest and its signatures, and the verdict against\n"
        "the raw results. Exit status: 0 nothing was altered, 1 something was altered, is missing or was added,\n"
        "2 it is no dossier or a signature cannot be checked.",
    )
    proof.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    proof.add_argument(
        "--key",
        metavar="KEY",
        action="append",
        default=[],
        help="who must have signed: a GnuPG fingerprint, or the file of minisign's public key; once for each party",
    )
    proof.set_defaults(command=_verify)


def _plan(options: argparse.Namespace) -> int:
    site, contract = _site(options)
    planned = _planned(options, site, contract)
    _show_plan(contract, planned)
    return 2 if planned.unresolved else 0


def _run(options: argparse.Namespace) -> int:
    from reports.acceptance.run import run  # noqa: PLC0415

    site, contract = _site(options)
    campaign = Campaign(options.folder)
    with campaign.locked() as lock:
        campaign.freeze(options.contract or site / FILE)
        try:
            with stoppable():
                planned = _planned(options, site, contract)
                for clause, why in planned.unresolved.items():
                    _say(f"{clause}: nothing is run: {why}")
                run(campaign, planned, site, lock, options.again, _say)
        except StoppedError as err:
            _say(f"stopped by {err}; what is finished is kept, the same command goes on")
            return INTERRUPTED
        except OSError as err:
            raise InputError(f"{clean(str(options.folder))}: {err.strerror}; run again to go on") from err
        verdict = judge(campaign)
    _show_verdict(verdict)
    _say(f"write the dossier with: python -m reports acceptance report {options.folder}")
    return verdict.acceptance.exit_status


def _report(options: argparse.Namespace) -> int:
    from reports.acceptance.dossier import write_dossier  # noqa: PLC0415 (the page loads Bokeh's helpers)

    target = options.output or options.folder / "dossier"
    campaign = Campaign(options.folder)
    if options.contract:
        with campaign.locked():
            campaign.freeze(options.contract)
    with campaign.at_rest():
        verdict = write_dossier(campaign, target, not options.no_pdf, options.sign)
    _show_verdict(verdict)
    _say(f"dossier: {target}")
    return verdict.acceptance.exit_status


def _sign(options: argparse.Namespace) -> int:
    from reports.acceptance.dossier import verify  # noqa: PLC0415
    from reports.acceptance.signature import sign  # noqa: PLC0415

    problems = verify(options.dossier).problems
    if problems:
        raise InputError(f"{clean(str(options.dossier))} is not signed: {problems[0]}")
    _say(f"signed: {sign(options.dossier, options.how, options.party)}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from reports.acceptance.dossier import verify  # noqa: PLC0415

    proof = verify(options.dossier, options.key)
    for words in (*proof.problems, *proof.unchecked, *proof.good):
        _say(words)
    _say(("intact", "ALTERED", "intact as far as checked")[proof.exit_status])
    return proof.exit_status


def _site(options: argparse.Namespace) -> tuple[pathlib.Path, Contract]:
    named = SITES / options.site
    site = options.site if (options.site / "settings.py").is_file() or not named.is_dir() else named
    if not (site / "settings.py").is_file():
        raise InputError(f"{clean(str(options.site))}: expected {_SITE_HELP}")
    # A site without a description of its own holds no names to compare with.
    described = load_site(site).description if (site / "site.yaml").is_file() else None
    return site, load_contract(options.contract or site / FILE, described)


def _planned(options: argparse.Namespace, site: pathlib.Path, contract: Contract) -> Plan:
    results = options.results or pathlib.Path("results", contract.system, "runs")
    reports = [*results.glob("*/run-report.json")]
    if "folder" in options:
        reports += options.folder.glob("attempts/*/run-report.json")
    return plan(contract, offers(site, contract), stored_times(reports))


def _show_plan(contract: Contract, planned: Plan) -> None:
    series = counted(len(planned.items), "series", "series")
    _say(f"{contract.title}: {counted(len(contract.clauses), 'clause')}, {series}")
    for item in planned.items:
        nodes = NOTHING if item.nodes is None else counted(item.nodes, "node")
        _say(f"  {item.series}\n      clauses {', '.join(item.clauses)}; {item.repeats} x {_time(item)} on {nodes}")
    for clause, why in planned.unresolved.items():
        _say(f"  {clause} INCOMPLETE: {why}")
    known = [item.estimate.seconds * item.repeats for item in planned.items if item.estimate]
    bound = any(item.estimate and not item.estimate.runs for item in planned.items)
    unknown = len(planned.items) - len(known)
    _say(
        f"{sum(item.repeats for item in planned.items)} sessions, one at a time; "
        f"{'at most' if bound else 'about'} {duration(sum(known))}"
        + (f" and {counted(unknown, 'series', 'series')} without a time limit" if unknown else "")
    )


def _time(item: Item) -> str:
    if item.estimate is None:
        return "unknown time"
    runs = item.estimate.runs
    origin = f"median of {counted(runs, 'stored run')}" if runs else "time limit"
    return f"{duration(item.estimate.seconds)} ({origin})"


def _show_verdict(verdict: Verdict) -> None:
    from reports.acceptance.dossier_page import headline, measured  # noqa: PLC0415

    _say(f"{verdict.acceptance.symbol} {verdict.acceptance.word}. {headline(verdict)}")
    for clause in verdict.clauses:
        why = "; ".join(clause.problems[:2]) if clause.without_waiver is Outcome.INCOMPLETE else ""
        asked = f"{measured(clause)}, asked {clause.clause.requirement} ({clause.clause.statistic})"
        _say(f"  {clause.outcome.symbol} {clause.outcome.word:<10} {clause.clause.id:<8} {why or asked}")


def _say(line: str) -> None:
    print(clean(line), flush=True, file=sys.stdout)
