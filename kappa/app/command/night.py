"""Validate a site every night. A night does four things:
  - it runs the mode;
  - it measures, one by one, the nodes that are due in the rotation;
  - it ends within the limit;
  - it writes a dashboard and a message to results/SITE/nightly.
If something did not run, the verdict is INCOMPLETE.

examples:
  kappa night run mycluster --limit 30m -- -n NodeLinks
  kappa night schedule mycluster sbatch --at 02:00 --limit 4h --slurm=--partition=service --dry-run
  kappa night schedule mycluster scrontab --at 02:00 --nights 14
  kappa night schedule mycluster systemd > units.txt
  kappa night report mycluster
"""

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

from kappa.app.command.arguments import CommandParser, add_rotation, add_site, checked, name, node_hours
from kappa.app.conduct.night_schedule import SCHEDULES, install, night_command, submit_next
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import home, results_folder, site_folder

if TYPE_CHECKING:
    from kappa.core.sites.load import Site
    from reports.nightly.alert import NightAlert

_RUN = """\
Run one night now. If the site has an embedded cluster that is down, Kappa starts it, and stops it at the end.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or the night could not run, 75 another night of the site is running. With
--gate, 1 also if a series is worse than before.
"""
_SCHEDULE = """\
Schedule a night for every night: as a chain of sbatch jobs, as an entry in your scrontab, or as systemd units. Kappa
prints the units; you install them.

Exit status: 0 done, 2 error.
"""
_REPORT = """\
Read the results of the nights, compare them with the site's history, and write results/SITE/nightly/:

  index.html   dashboard: calendar of verdicts, trends, suspects, coverage of nodes
  message.md   changes since last night, and what to do first
  alert.json   the same for programs: a webhook receives it
  junit.xml    the newest night and its history, for CI servers
  SITE.prom    the newest night, for node_exporter's textfile collector

Exit status of the newest night: 0 PASS, 1 FAIL, 2 INCOMPLETE or there is no night. With --gate also 1 if a series is
worse than before, and 2 if the history has too few values."""
INCOMPLETE, BUSY = 2, 75
_DURATION = re.compile(r"(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__)
    to.add_command("run", "run one night now", _add_run)
    to.add_command("schedule", "schedule a night for every night", _add_schedule)
    to.add_command("report", "write dashboard and message on the nights so far", _add_report)


def _add_run(to: CommandParser) -> None:
    to.describe(_RUN, _run)
    to.usage = "%(prog)s SITE [OPTION…] [-- REFRAME-OPTION…]"
    add_site(to)
    _add_night(to)
    day = checked(_day, "a day such as 2026-11-30")
    to.add_argument("--night", metavar="DATE", type=day, help="the date of the night (default: today)")
    # How the night of a job submits the next one.
    to.add_argument("--resubmit", action="store_true", help=argparse.SUPPRESS)
    to.set_defaults(dry_run=False)
    _add_slurm(to, argparse.SUPPRESS, argparse.SUPPRESS)


def _add_schedule(to: CommandParser) -> None:
    to.describe(_SCHEDULE, _schedule)
    to.usage = "%(prog)s SITE {sbatch,scrontab,systemd} [OPTION…] [-- REFRAME-OPTION…]"
    add_site(to)
    to.add_argument("schedule", choices=SCHEDULES, help="the scheduler; with systemd, print the units")
    _add_night(to)
    _add_slurm(
        to,
        "start time (default: 02:00)",
        "an option for sbatch or #SCRON, for instance --slurm=--account=ops; repeat for more",
    )
    to.add_argument("--dry-run", action="store_true", help="print the schedule; change nothing")


def _add_report(to: CommandParser) -> None:
    to.describe(_REPORT, _report)
    add_site(to)
    to.add_argument("--results", metavar="DIR", type=pathlib.Path, help="the nights' results (default: results/SITE)")
    _add_outputs(to)


def _add_night(to: CommandParser) -> None:
    to.after_dashes = "reframe"
    limit = checked(duration, "a duration of 30s or more, such as 4h or 1h30m")
    to.add_argument(
        "--limit", metavar="TIME", type=limit, default="4h", help="longest duration of the night (default: 4h)"
    )
    add_rotation(to, 7, "measure each node alone once in N nights; 0: no rotation")
    to.add_argument(
        "--mode", metavar="MODE", type=name, default="nightly", help="run this mode of the site (default: nightly)"
    )
    to.add_argument(
        "--budget", metavar="NODE-HOURS", type=node_hours,
        help="limit the mode to these node-hours, as in `kappa validate`; the rotation is extra (default: no limit)",
    )  # fmt: skip
    _add_outputs(to)


def _add_outputs(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--textfile", metavar="DIR", type=pathlib.Path, help="write SITE.prom to DIR, the folder of node_exporter"
    )
    to.add_argument(
        "--gate", action="store_true", help="also return 1 if a series is worse than before in the site's history"
    )
    to.add_argument(
        "--mail", metavar="ADDRESS", type=checked(_mail), action="append", default=[],
        help="mail the message to ADDRESS; repeat for more",
    )  # fmt: skip
    to.add_argument(
        "--smtp", metavar="HOST[:PORT]", type=checked(_server), help="the mail server (default: the local sendmail)"
    )
    to.add_argument(
        "--webhook-file", metavar="FILE", type=lambda text: pathlib.Path(text).absolute(),
        help="send the message as JSON (POST) to the URL in FILE; Kappa keeps the URL secret",
    )  # fmt: skip
    to.add_argument(
        "--alert", choices=("needed", "always"), default="needed",
        help="send the message if there is something new, or always (default: needed)",
    )  # fmt: skip
    to.add_argument(
        "--insecure", action="store_true",
        help="send it also by http, to a mail server without STARTTLS, and to a server with an unverified certificate",
    )  # fmt: skip
    to.add_argument(
        "--link", metavar="URL", type=checked(_link),
        help="where results/SITE is served, for links to the reports",
    )  # fmt: skip


def _add_slurm(to: argparse.ArgumentParser, at_help: str, slurm_help: str) -> None:
    to.add_argument("--at", metavar="HH:MM", type=checked(_time, "a time such as 02:00"), default="02:00", help=at_help)
    to.add_argument("--slurm", metavar="OPTION", action="append", default=[], help=slurm_help)


def _day(text: str) -> str:
    return datetime.date.fromisoformat(text).isoformat()


def _time(text: str) -> datetime.time:
    return datetime.datetime.strptime(text, "%H:%M").time()


def duration(text: str) -> int:
    """Parse ``4h``, ``90m``, ``1h30m`` or ``45s`` into seconds.

    :raises ValueError: it is none of 30 s or more.
    """
    found = _DURATION.fullmatch(text)
    hours, minutes, rest = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    seconds = 3600 * hours + 60 * minutes + rest
    if seconds < 30:
        raise ValueError
    return seconds


def _mail(text: str) -> str:
    from kappa.app.conduct.alerts import mail_address

    return mail_address(text)


def _server(text: str) -> str:
    from kappa.app.conduct.alerts import mail_server

    return mail_server(text)


def _link(text: str) -> str:
    from reports.nightly.alert import Links

    return Links.of(text).prefix


def _command(options: argparse.Namespace) -> list[str]:
    return night_command(options, pathlib.Path(sys.executable).with_name("kappa"))


def _run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.night import BusyError, conduct, only_one
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.preflight import require_sense, require_sound
    from kappa.core.sites.load import Site

    site, results = Site(site_folder(options.site)), results_folder(options.site)
    problem = ""
    if not options.resubmit:  # In a chain, the dashboard shows the problem, and the next night is submitted.
        require_sound(site)
        require_sense(site.description, results, options.mode, options.reframe)
    try:
        with cluster_up(site.folder):
            # This night reports the site's errors. They may be repaired before the next night.
            with contextlib.suppress(InputError):
                _reach_slurm(site)
            # Submit first, so that no failure of this night ends the chain.
            problem = _submit_next(options, results) if options.resubmit else ""
            with only_one(results, site) as lock:
                late = functools.partial(_submit_next, options, results) if problem else str
                return conduct(options, site.now, results, lock, late)
    except BusyError as err:
        print(f"kappa: {clean(str(err))}", file=sys.stderr)
        # The chain has ended: BUSY would promise another attempt.
        return INCOMPLETE if problem else BUSY


def _submit_next(options: argparse.Namespace, results: pathlib.Path) -> str:
    """Submit the next night. Return why that failed, or an empty text. A failure does not stop this night."""
    try:
        submit_next(options, _command(options), results / "nightly/sbatch.log")
    except InputError as err:
        print(f"kappa: error: the next night is not submitted: {clean(str(err))}", file=sys.stderr)
        return str(err)
    return ""


def _schedule(options: argparse.Namespace) -> int:
    from kappa.app.conduct.alerts import AlertTargets
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.preflight import require_sense
    from kappa.core.sites.load import Site

    AlertTargets.of(options).require_usable()
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
    """Set the environment for Slurm's commands, by ``path`` and ``cluster`` of site.yaml."""
    from kappa.app.conduct.node_commands import NodeCommands

    if site.description:
        os.environ.update(NodeCommands(site.description).environment)


def _report(options: argparse.Namespace) -> int:
    from kappa.app.conduct.alerts import AlertTargets
    from kappa.core.sites.load import Site
    from reports.nightly.publish import publish

    site, results = Site(site_folder(options.site)), options.results or results_folder(options.site)
    targets = AlertTargets.of(options)

    def deliver(alert: NightAlert) -> None:
        def note(line: str) -> None:
            with (results / "nights" / alert.folder / "night.log").open("a", encoding="utf-8") as log:
                print(line, file=log)

        targets.deliver(alert, note)

    return publish(site, results, options.textfile, gate=options.gate, link=options.link or "", deliver=deliver)
