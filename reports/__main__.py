"""Command line: ``python -m reports verdict|html RUN``, ``python -m reports ingest|history|learn|nightly SITE``."""

import argparse
import pathlib
import sys
import traceback

from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.ground.whole_files import private, write_atomically
from kappa.record.load import find_report, load_session
from kappa.record.model import OTHER_NODES, SAME_NODES
from kappa.sites.expected import Site, SiteUnknownError, find_site, load_site
from reports.acceptance.command_line import add_commands
from reports.history.command import add_commands as add_history_commands
from reports.learn.command import add_command as add_learn_command
from reports.nightly.command import add_commands as add_nightly_commands
from reports.show.terminal import show
from reports.verdict.confirm import repetitions
from reports.verdict.judge import Verdict, judge
from reports.verdict.verdict_json import to_json

_DESCRIPTION = """\
From ReFrame's JSON report to a verdict. Nothing is run again: the same report and the same
site files give the same answer.

  PASS        0  everything that the site expects ran, was measured and is within its bounds
  FAIL        1  a case failed
  INCOMPLETE  2  nothing failed, but something did not run, was not measured or has no reference
"""
_EXAMPLES = """\
examples:
  python -m reports verdict results/embedded/reports            the newest report of the folder
  python -m reports verdict run-report-7.json --mode smoke      held against what the mode smoke expects
  python -m reports verdict run-report-7.json --all             every metric with its bounds
  python -m reports verdict run-report-7.json --json v.json     also for machines
  python -m reports html run-report-7.json -o report.html       one page with plots, works without a network
  python -m reports ingest embedded                             new results into the site's history
  python -m reports history embedded --html history.html        what is worse than before, and since when
  python -m reports nightly embedded                            dashboard and message on the nights
  python -m reports learn embedded > new.patch                  references from past runs, as a patch to review
"""
_RUN_HELP = "ReFrame's JSON report, or a folder with run-report*.json or report*.json (the newest counts)"
NO_VERDICT = 2


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m reports", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=raw
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = argparse.ArgumentParser(add_help=False)
    run.add_argument("run", metavar="RUN", type=pathlib.Path, help=_RUN_HELP)
    run.add_argument(
        "--site",
        metavar="DIR",
        type=pathlib.Path,
        help="the site's folder with its expected.yaml (default: site_configs/SYSTEM, SYSTEM as in the report)",
    )
    run.add_argument(
        "--mode",
        metavar="MODE",
        help="the mode of expected.yaml that had to run (default: the session's, or else the site's default)",
    )

    verdict = commands.add_parser(
        "verdict",
        parents=[run],
        formatter_class=raw,
        help="print PASS, FAIL or INCOMPLETE and why",
        description="Print the verdict on a run: failures last, with where to look. Colours follow NO_COLOR.\n"
        "Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or an unusable report or site file.",
    )
    verdict.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the verdict for machines, too")
    verdict.add_argument("--all", action="store_true", help="show the metrics of passed cases, too")
    verdict.set_defaults(command=_verdict)

    confirm = commands.add_parser(
        "confirm",
        parents=[run],
        formatter_class=raw,
        help="print what to measure again, and where",
        description="Print the cases that were out of bounds, to be measured again on the same nodes or, those\n"
        "that still are, on other nodes. A line for each ReFrame session: partition, environment, nodes\n"
        "(to take or to avoid) and hash codes of the cases, separated by tabs. site_configs/validate runs them.",
    )
    confirm.add_argument("--on", choices=(SAME_NODES, OTHER_NODES), required=True)
    confirm.set_defaults(command=_confirm)

    html = commands.add_parser(
        "html",
        parents=[run],
        formatter_class=raw,
        help="write one self-contained HTML page",
        description="Write the verdict, tables and plots as one HTML file that needs no network and can be mailed or\n"
        "printed. Exit status: 0 when the file was written, whatever the verdict; 2 on an unusable report\n"
        "or site file.",
    )
    html.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="the file (default: beside the report, named .html)"
    )
    html.set_defaults(command=_html)
    add_history_commands(commands)
    add_learn_command(commands)
    add_commands(commands)
    add_nightly_commands(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        with private():
            return int(options.command(options))
    except InputError as err:
        print(f"python -m reports: error: {clean(str(err))}", file=sys.stderr)
    except Exception:
        # Python's own exit status 1 would read as FAIL.
        traceback.print_exc()
    return NO_VERDICT


def _judged(options: argparse.Namespace) -> Verdict:
    session = load_session(options.run)
    site: Site | None = None
    problem = ""
    try:
        site = load_site(options.site or find_site(session.systems))
    except SiteUnknownError as err:
        problem = str(err)
    if site and options.mode is not None and options.mode not in site.modes:
        raise InputError(f"--mode {options.mode}: {site.path}/expected.yaml has {', '.join(site.modes)}")
    return judge(session, site, options.mode, problem)


def _verdict(options: argparse.Namespace) -> int:
    verdict = _judged(options)
    if options.json:
        write_atomically(options.json, to_json(verdict))
    show(verdict, every_row=options.all)
    return verdict.exit_status


def _confirm(options: argparse.Namespace) -> int:
    for again in repetitions(_judged(options).cases, options.on):
        print(again.partition, again.environ, ",".join(again.nodes), " ".join(again.hashcodes), sep="\t")
    return 0


def _html(options: argparse.Namespace) -> int:
    from reports.show.run_page import render  # noqa: PLC0415 (Bokeh takes a second to load, which a verdict need not wait for)

    verdict = _judged(options)
    output = options.output or find_report(options.run).with_suffix(".html")
    write_atomically(output, render(verdict))
    print(f"{verdict.state.word.upper()}: {clean(str(output))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
