"""The commands ``ingest`` and ``history``."""

import argparse
import datetime
import pathlib
import sys
from typing import Any

from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.ground.whole_files import write_atomically

RESULTS = pathlib.Path("results")


def add_commands(commands: Any) -> None:
    into = commands.add_parser(
        "ingest",
        help="add new run reports to a site's history",
        description="Add every new session to results/SITE/history (Parquet). A damaged report is named and left out.\n"
        "Exit status: 0 everything is in, 1 some report was damaged, 2 the history cannot be written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    into.add_argument("site", metavar="SITE", help="name of the site")
    into.add_argument(
        "reports", metavar="REPORT", nargs="*", type=pathlib.Path, help="reports or folders (default: results/SITE)"
    )
    into.set_defaults(command=_ingest)

    history = commands.add_parser(
        "history",
        help="find what became slower, and what changed then",
        description="Judge every series (check, case, metric, partition, nodes) by its own past.\n"
        "Exit status: 0 quiet, 1 something is worse than before, 2 there is too little to judge.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    history.add_argument("site", metavar="SITE", help="name of the site")
    history.add_argument(
        "--since", metavar="DATE", type=_date, default=0.0, help="only changes on or after this day (2026-11-30)"
    )
    history.add_argument("--html", metavar="FILE", type=pathlib.Path, help="write a page with plots, too")
    history.add_argument("--across-nodes", action="store_true", help="do not tell runs on different nodes apart")
    history.add_argument(
        "--newest", metavar="N", type=int, default=500, help="values of each series that count (default: 500)"
    )
    history.add_argument(
        "--false-alarms", metavar="P", type=probability, default=0.001,
        help="how often a quiet series may be reported (default: 0.001)",
    )  # fmt: skip
    history.set_defaults(command=_history)


def history_folder(site: str) -> pathlib.Path:
    """:raises InputError: ``site`` is no plain name."""
    if site != pathlib.PurePath(site).name or site.startswith("."):
        raise InputError(f"SITE: expected the name of a site, found {site!r}")
    return RESULTS / site / "history"


def _date(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()


def probability(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


# Arrow, DuckDB, SciPy and Bokeh take seconds to load; each command loads what it needs.
# ruff: noqa: PLC0415


def _ingest(options: argparse.Namespace) -> int:
    from reports.history.ingest import ingest, reports_in

    folder = history_folder(options.site)
    done = ingest(reports_in(options.reports or [RESULTS / options.site]), folder)
    for problem in done.damaged:
        print(f"left out: {clean(problem)}", file=sys.stderr)
    print(f"{done.sessions} new sessions with {done.values} values, {done.known} known, {len(done.damaged)} damaged")
    return 1 if done.damaged else 0


def _history(options: argparse.Namespace) -> int:
    from reports.history.gate import exit_status, judge_history
    from reports.history.listing import show
    from reports.history.query import History

    history = History(history_folder(options.site))
    judged = judge_history(history, options.newest, options.false_alarms, options.since, options.across_nodes)
    if options.html:
        from reports.history.history_page import render

        write_atomically(options.html, render(options.site, judged))
    show(judged)
    return exit_status(judged)
