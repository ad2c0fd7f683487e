"""``kappa nightly``: ``run``, ``schedule`` and ``report``."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import os
import pathlib
import re
import sys
from typing import TYPE_CHECKING

from kappa.app.command.arguments import (
    REPEATS,
    add_site,
    name,
    nights,
    node_hours,
    parser,
    repeats,
    resolved,
    split_options,
)
from kappa.app.conduct.night_schedule import SCHEDULES, install, night_command, submit_next
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import home, results_folder, site_folder

if TYPE_CHECKING:
    from kappa.core.sites.load import Site

_DESCRIPTION = """\
Validate a site every night: run the mode, measure the nodes whose turn it is one by one, end within the limit, write
dashboard and message to results/SITE/nightly. What did not run is INCOMPLETE.
"""
_EXAMPLES = """\
  kappa nightly run mycluster --limit 30m -- -n NodeLinks
  kappa nightly schedule mycluster sbatch --at 02:00 --limit 4h --slurm=--partition=service --dry-run
  kappa nightly schedule mycluster scrontab --at 02:00 --nights 14
  kappa nightly schedule mycluster systemd > units.txt
  kappa nightly report mycluster
"""
_RUN = """\
Run one night now. A cluster that the site brings is started if it is not up, and ended again.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or it could not run, 75 another night of the site is running. With --gate, 1
also when a series is worse than before.
"""
_SCHEDULE = """\
Arrange that a night runs every night: a chain of jobs of sbatch, an entry of your scrontab, or units for systemd, which
are printed. Exit status: 0 done, 2 it could not be.
"""
_REPORT = """\
Take in what the nights left, hold it against the site's history, and write results/SITE/nightly/:

  index.html   dashboard: calendar of verdicts, trends, suspects, coverage of nodes
  message.md   what changed since last night, what to do first
  junit.xml    the newest night and its history for CI servers
  SITE.prom    the newest night for node_exporter's textfile collector

Exit status: that of the newest night, 0 PASS, 1 FAIL, 2 INCOMPLETE, or there is none; with --gate also 1 when a series
is worse than before, and 2 when the history cannot say."""
INCOMPLETE, BUSY = 2, 75
_DURATION = re.compile(r"(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def run(arguments: list[str]) -> int:
    options = resolved(parse(arguments))
    return {"run": _run, "schedule": _schedule, "report": _report}[options.action](options)


def parse(arguments: list[str]) -> argparse.Namespace:
    """What follows ``--`` is for ReFrame."""
    arguments, for_reframe = split_options(arguments)
    raw = argparse.RawDescriptionHelpFormatter
    words = parser("nightly", _DESCRIPTION, _EXAMPLES)
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    run_now = actions.add_parser(
        "run", help="run one night now", description=_RUN, formatter_class=raw,
        usage="kappa nightly run SITE [OPTION…] [-- REFRAME-OPTION…]",
    )  # fmt: skip
    add_site(run_now)
    _add_night(run_now)
    run_now.add_argument("--night", metavar="DATE", type=_date, help="the day it counts for (default: today)")
    # How the night of a job submits the next one.
    run_now.add_argument("--resubmit", action="store_true", help=argparse.SUPPRESS)
    run_now.set_defaults(dry_run=False)
    _add_slurm(run_now, argparse.SUPPRESS, argparse.SUPPRESS)
    every = actions.add_parser(
        "schedule", help="run a night every night", description=_SCHEDULE, formatter_class=raw,
        usage="kappa nightly schedule SITE {sbatch,scrontab,systemd} [OPTION…] [-- REFRAME-OPTION…]",
    )  # fmt: skip
    add_site(every)
    every.add_argument("schedule", choices=SCHEDULES, help="what starts the nights; systemd prints its units")
    _add_night(every)
    _add_slurm(every, "when it starts (default: 02:00)", "option for sbatch or #SCRON, as --slurm=--account=ops")
    every.add_argument("--dry-run", action="store_true", help="print what would be done")
    report = actions.add_parser(
        "report", help="dashboard and message on the nights so far", description=_REPORT, formatter_class=raw
    )
    add_site(report)
    report.add_argument(
        "--results", metavar="DIR", type=pathlib.Path, help="the nights' results (default: results/SITE)"
    )
    _add_outputs(report)
    options = words.parse_args(arguments)
    options.reframe = for_reframe
    if options.reframe and options.action == "report":
        words.error("unrecognized arguments: --")
    return options


def _add_night(to: argparse.ArgumentParser) -> None:
    to.add_argument("--limit", metavar="TIME", type=duration, default="4h", help="end by then (default: 4h)")
    to.add_argument(
        "--nights", metavar="N", type=nights, default=7,
        help="nights within which each node is measured on its own; 0: no such rotation (default: 7)",
    )  # fmt: skip
    to.add_argument(
        "--repeats", metavar="N", type=repeats, default=REPEATS,
        help="how often a night measures each node whose turn it is: what is slow by less than the noise adds up"
        f" (default: {REPEATS})",
    )  # fmt: skip
    to.add_argument("--mode", metavar="MODE", type=name, default="nightly", help="the site's mode (default: nightly)")
    to.add_argument(
        "--budget", metavar="NODE-HOURS", type=node_hours,
        help="of the mode by its plan, as of kappa validate; nodes one by one come on top (default: the whole mode)",
    )  # fmt: skip
    _add_outputs(to)


def _add_outputs(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--textfile", metavar="DIR", type=pathlib.Path, help="write SITE.prom there instead, node_exporter's directory"
    )
    to.add_argument(
        "--gate", action="store_true", help="the history counts, too: status 1 when a series is worse than before"
    )


def _add_slurm(to: argparse.ArgumentParser, at_help: str, slurm_help: str) -> None:
    to.add_argument("--at", metavar="HH:MM", type=_time, default="02:00", help=at_help)
    to.add_argument("--slurm", metavar="OPTION", action="append", default=[], help=slurm_help)


def duration(text: str) -> int:
    """``4h``, ``90m``, ``1h30m`` or ``45s`` in seconds."""
    found = _DURATION.fullmatch(text)
    hours, minutes, rest = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    seconds = 3600 * hours + 60 * minutes + rest
    if seconds < 30:
        raise argparse.ArgumentTypeError(f"expected a duration such as 4h, 90m or 1h30m, at least 30s, found {text!r}")
    return seconds


def _time(text: str) -> datetime.time:
    try:
        return datetime.datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 02:00, found {text!r}") from None


def _date(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-11-30, found {text!r}") from None


def _command(options: argparse.Namespace) -> list[str]:
    return night_command(options, pathlib.Path(sys.executable).with_name("kappa"))


def _run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.night import BusyError, conduct, only_one
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.preflight import require_sense
    from kappa.core.sites.load import Site

    site, results = Site(site_folder(options.site)), results_folder(options.site)
    problem = ""
    if not options.resubmit:  # A night of a chain says it on the dashboard, and the next one is submitted.
        site.require_sound()
        require_sense(site.description, results, options.mode, options.reframe)
    try:
        with cluster_up(site.folder):
            # What is wrong with the site this night tells, and the next one may find mended.
            with contextlib.suppress(InputError):
                _reach_slurm(site)
            # First of all, so that nothing that happens to this night ends the chain.
            problem = _submit_next(options, results) if options.resubmit else ""
            with only_one(results) as lock:
                late = functools.partial(_submit_next, options, results) if problem else str
                return conduct(options, site.now, results, lock, late)
    except BusyError as err:
        print(f"kappa: {clean(str(err))}", file=sys.stderr)
        # Nobody is left to try again.
        return INCOMPLETE if problem else BUSY


def _submit_next(options: argparse.Namespace, results: pathlib.Path) -> str:
    """Why the next night could not be submitted, which must not keep this one from running; empty when it was."""
    try:
        submit_next(options, _command(options), results / "nightly/sbatch.log")
    except InputError as err:
        print(f"kappa: error: the next night is not submitted: {clean(str(err))}", file=sys.stderr)
        return str(err)
    return ""


def _schedule(options: argparse.Namespace) -> int:
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.preflight import require_sense
    from kappa.core.sites.load import Site

    site = Site(site_folder(options.site))
    require_sense(site.description, results_folder(options.site), options.mode, options.reframe)
    _reach_slurm(site)
    if options.dry_run or options.schedule == "systemd":
        install(options, _command(options), home(), results_folder(options.site))
        return 0
    with cluster_up(site.folder, stays=True):
        install(options, _command(options), home(), results_folder(options.site))
    return 0


def _reach_slurm(site: Site) -> None:
    """Have Slurm's commands found, and asked about the cluster, as ``path`` and ``cluster`` of site.yaml say."""
    from kappa.app.conduct.node_commands import NodeCommands

    if site.description:
        os.environ.update(NodeCommands(site.description).environment)


def _report(options: argparse.Namespace) -> int:
    from kappa.core.sites.load import Site
    from reports.nightly.publish import publish

    site = Site(site_folder(options.site))
    return publish(site, options.results or results_folder(options.site), options.textfile, gate=options.gate)
