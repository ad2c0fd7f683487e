"""Acknowledge a finding until a day, with a reason: pages, messages, JUnit XML and metrics show it beside the finding,
and a night sends no alert for it. No verdict and no exit status changes. Without FINDING, list the findings of the
newest night and the newest run, and the acknowledgements.

FINDING is what a page or the message of a night shows: the name of a suspect node, the title of a case that failed, or
a series that became worse. The acknowledgement of a node also counts for failures that name no other node.

Exit status: 0 done, 2 there is no such finding, or it could not be written.

examples:
  kappa node ack mycluster
  kappa node ack mycluster node17 --until 2026-12-05 --reason 'cable ordered, ticket 4711'
  kappa node ack mycluster 'NodeLinks on cpu+packaged' --until 2026-12-05 --reason 'switch is replaced on Friday'
  kappa node ack mycluster node17 --remove
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import sys
import time
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, add_site, checked
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import results_folder
from kappa.core.ground.processes import stopping, user_name

if TYPE_CHECKING:
    from kappa.core.record.acknowledgements import Acknowledgements, NamedFinding

# An expiry further away is none.
MOST_DAYS = 366
_DAY = f"a day such as 2026-12-05, from today on, at most {MOST_DAYS} days ahead"
ALERT = "nightly/alert.json"


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to, results=True)
    to.add_argument("finding", metavar="FINDING", nargs="?", help="a node, a case or a series, by its whole name")
    to.add_argument("--until", metavar="DATE", type=checked(_day, _DAY), help="the last day on which it counts")
    to.add_argument(
        "--reason", metavar="TEXT", type=checked(_reason), help="why; everybody who sees the finding reads it"
    )
    to.add_argument("--by", metavar="NAME", type=checked(_reason), help="who acknowledges it (default: your user name)")
    to.add_argument("--remove", action="store_true", help="take the acknowledgement back")


def run(options: argparse.Namespace) -> int:
    if options.remove and not options.finding:
        raise InputError("--remove: name the finding")
    if options.finding and not options.remove and not (options.until and options.reason):
        raise InputError("say until when and why: --until DATE --reason TEXT")
    if not options.finding and (options.until or options.reason):
        raise InputError("name the finding; `kappa node ack SITE` lists them")
    from kappa.core.record.acknowledgements import Acknowledgement, NamedFinding, acknowledge, load_acknowledgements

    results = results_folder(options.site)
    acknowledged = load_acknowledgements(results)
    findings = [] if options.remove else _findings(results)
    if not options.finding:
        return _list(findings, acknowledged)
    if options.remove and not acknowledged.applying:
        raise InputError("nothing is acknowledged")
    before = acknowledged.applying if options.remove else [one for one in acknowledged.newest.values() if one.until]
    legal = [*findings, *(NamedFinding(one.kind, one.finding) for one in before)]
    finding = next((one for one in legal if one.name == options.finding), None)
    if not finding:  # Never by a part of the name: the beginning of one node's is another's.
        near = suggestion(options.finding, (one.name for one in legal))
        none = "no acknowledgement of" if options.remove else "no finding"
        given = one_line(clean(options.finding), 200)
        raise InputError(f"there is {none} {given!r}: {near}; `kappa node ack SITE` lists them")
    until = None if options.remove else options.until
    new = Acknowledgement(
        kind=finding.kind, finding=finding.name, until=until, reason=options.reason or "", by=options.by or user_name(),
        time=time.time(),
    )  # fmt: skip
    with stopping() as stop:
        acknowledge(results, new, stop.check)
    print(f"{clean(finding.name)}: {f'acknowledged until {until}' if until else 'no longer acknowledged'}")
    if until and (results / ALERT).exists():
        print(f"`kappa night report {options.site}` renews the dashboard, the message and the metrics")
    return 0


def _day(text: str) -> datetime.date:
    day, today = datetime.date.fromisoformat(text), datetime.date.today()
    if not today <= day <= today + datetime.timedelta(days=MOST_DAYS):
        raise ValueError
    return day


def _reason(text: str) -> str:
    from kappa.core.record.acknowledgements import MOST_REASON

    reason = one_line(clean(text), MOST_REASON + 1)
    if not reason or len(reason) > MOST_REASON:
        raise InputError(f"expected 1 to {MOST_REASON} characters")
    return reason


def _findings(results: pathlib.Path) -> list[NamedFinding]:
    """Return the findings of the newest night's message and of the newest run's page; report an unreadable source."""
    found: dict[tuple[str, str], NamedFinding] = {}
    for read in (_of_night, _of_run):
        try:
            found |= {(one.kind, one.name): one for one in read(results)}
        except InputError as err:
            print(f"warning: {clean(str(err))}", file=sys.stderr)
    return list(found.values())


def _of_night(results: pathlib.Path) -> list[NamedFinding]:
    from kappa.core.ground.documents import load_json
    from kappa.core.record.acknowledgements import AlertedFindings

    path = results / ALERT
    return list(load_json(path, AlertedFindings).findings) if path.exists() else []


def _of_run(results: pathlib.Path) -> list[NamedFinding]:
    from kappa.core.record.runs import reports_of
    from reports.verdict.named_findings import findings_of
    from reports.verdict.stored import judge_report

    newest = reports_of(results)[:1]
    return [finding for report in newest for finding in findings_of(judge_report(report))]


def _list(findings: list[NamedFinding], acknowledged: Acknowledgements) -> int:
    for finding in findings:
        known = acknowledged.of(finding)
        print(clean(f"{finding.kind:6}  {finding.name}" + (f"\n        {known}" if known else "")))
    shown = {(finding.kind, finding.name) for finding in findings}
    for one in acknowledged.newest.values():
        if one.until and (one.kind, one.finding) not in shown:
            state = "not found any more" if one.applies(acknowledged.day) else "expired"
            print(clean(f"{one.kind:6}  {one.finding} ({state})\n        {one}"))
    known_now = sum(acknowledged.of(finding) is not None for finding in findings)
    print(f"{len(findings)} found, {known_now} of them acknowledged")
    return 0
