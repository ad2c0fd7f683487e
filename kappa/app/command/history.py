"""Find metrics that became worse, since when, and what changed then. Kappa compares each series (one metric of one case
on the same nodes) with its own past. `kappa validate` and nights add their runs to the history (results/SITE/history,
Parquet files). With --add, Kappa adds other runs, and judges nothing. It names a damaged report and leaves it out.

Exit status: 0 nothing is worse than before, 1 something is worse, 2 there are too few values.
With --add: 0 all runs are in the history, 1 a report was damaged, 2 the history cannot be written.

examples:
  kappa history embedded --html history.html        also write a page with plots
  kappa history embedded --since 2026-11-01 --json -
  kappa history embedded --add old/run-report-7.json
"""

import argparse
import datetime
import pathlib
import sys

from kappa.app.command.arguments import (
    CommandParser,
    add_json,
    add_series,
    add_site,
    alone,
    checked,
    require_described,
    write_json,
)
from kappa.core.ground.clean_text import clean
from kappa.core.ground.folders import SIMULATED_SITE, history_folder, results_folder
from kappa.core.ground.whole_files import write_atomically


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to, results=True)
    to.add_argument(
        "--since", metavar="DATE", type=checked(_day, "a day such as 2026-11-30"), default=0.0,
        help="show only changes on or after this day",
    )  # fmt: skip
    to.add_argument("--html", metavar="FILE", type=pathlib.Path, help="also write an HTML page with plots")
    add_json(to)
    to.add_argument("--across-nodes", action="store_true", help="join the runs on different nodes into one series")
    add_series(to, "accepted rate of false positives for each series")
    to.add_argument(
        "--add", metavar="REPORT", nargs="*", type=pathlib.Path,
        help="add these reports, or all below these folders, to the history (default: results/SITE)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    require_described(options.site)
    return _judge(options) if options.add is None else _add(options)


def _add(options: argparse.Namespace) -> int:
    from reports.history.ingest import ingest, reports_in

    reports = reports_in(options.add or [results_folder(options.site)])
    done = ingest(reports, history_folder(options.site), of_fabrics=options.site == SIMULATED_SITE)
    for problem in done.damaged:
        print(f"damaged, left out: {clean(problem)}", file=sys.stderr)
    print(f"{done.sessions} new sessions with {done.values} values, {done.known} known, {len(done.damaged)} damaged")
    return 1 if done.damaged else 0


def _judge(options: argparse.Namespace) -> int:
    import msgspec

    from kappa.core.record.acknowledgements import load_acknowledgements
    from kappa.core.record.actions import load_actions
    from reports.history.dataset import History
    from reports.history.judgement import exit_status, judge_history
    from reports.history.listing import show, to_document

    actions = [one for one in load_actions(history_folder(options.site)) if one.time >= options.since]
    acknowledged = load_acknowledgements(results_folder(options.site))
    history = History(history_folder(options.site))
    judged = judge_history(history, options.newest, options.false_alarms, options.since, options.across_nodes)
    if options.html:
        from reports.show.history_page import render

        write_atomically(options.html, render(options.site, judged, actions, acknowledged))
    if options.json:
        document = to_document(options.site, judged, acknowledged)
        write_json(options.json, {**document, "actions": msgspec.to_builtins(actions)})
    if not alone(options.json):
        show(judged, actions, acknowledged)
    return exit_status(judged)


def _day(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()
