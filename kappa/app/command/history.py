"""``kappa history``."""

import datetime
import pathlib

from kappa.app.command.arguments import (
    add_json,
    add_site,
    alone,
    parser,
    probability,
    require_described,
    resolved,
    write_json,
)
from kappa.core.ground.folders import history_folder, results_folder
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Find metrics that became worse, since when, and what changed then. Kappa compares each series (one metric of one case on
the same nodes) with its own past.

Exit status: 0 nothing is worse than before, 1 something is worse, 2 there are too few values."""
_EXAMPLES = """\
  kappa history embedded --html history.html        also write a page with plots
  kappa history embedded --since 2026-11-01 --json -
"""


def run(arguments: list[str]) -> int:
    words = parser("history", _DESCRIPTION, _EXAMPLES)
    add_site(words, results=True)
    words.add_argument(
        "--since", metavar="DATE", type=_date, default=0.0,
        help="show only changes on or after this day, for instance 2026-11-30",
    )  # fmt: skip
    words.add_argument("--html", metavar="FILE", type=pathlib.Path, help="also write an HTML page with plots")
    add_json(words)
    words.add_argument("--across-nodes", action="store_true", help="join the runs on different nodes into one series")
    words.add_argument(
        "--newest", metavar="N", type=int, default=500, help="use the newest N values of each series (default: 500)"
    )
    words.add_argument(
        "--false-alarms", metavar="P", type=probability, default=0.001,
        help="accepted rate of false positives for each series (default: 0.001)",
    )  # fmt: skip
    options = resolved(words.parse_args(arguments))
    import msgspec

    from kappa.core.record.acknowledgements import load_acknowledgements
    from kappa.core.record.actions import load_actions
    from reports.history.dataset import History
    from reports.history.judgement import exit_status, judge_history
    from reports.history.listing import show, to_document

    require_described(options.site)
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


def _date(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()
