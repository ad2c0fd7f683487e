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
from kappa.core.ground.folders import history_folder
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Judge every series (check, case, metric, partition, nodes) by its own past.

Exit status: 0 quiet, 1 something is worse than before, 2 there is too little to judge."""
_EXAMPLES = """\
  kappa history embedded --html history.html        what is worse than before, and since when
  kappa history embedded --since 2026-11-01 --json -
"""


def run(arguments: list[str]) -> int:
    words = parser("history", _DESCRIPTION, _EXAMPLES)
    add_site(words, results=True)
    words.add_argument(
        "--since", metavar="DATE", type=_date, default=0.0, help="only changes on or after this day (2026-11-30)"
    )
    words.add_argument("--html", metavar="FILE", type=pathlib.Path, help="write a page with plots, too")
    add_json(words)
    words.add_argument("--across-nodes", action="store_true", help="do not tell runs on different nodes apart")
    words.add_argument(
        "--newest", metavar="N", type=int, default=500, help="values of each series that count (default: 500)"
    )
    words.add_argument(
        "--false-alarms", metavar="P", type=probability, default=0.001,
        help="how often a quiet series may be reported (default: 0.001)",
    )  # fmt: skip
    options = resolved(words.parse_args(arguments))
    import msgspec

    from kappa.core.record.actions import load_actions
    from reports.history.dataset import History
    from reports.history.judgement import exit_status, judge_history
    from reports.history.listing import show, to_document

    require_described(options.site)
    actions = [one for one in load_actions(history_folder(options.site)) if one.time >= options.since]
    history = History(history_folder(options.site))
    judged = judge_history(history, options.newest, options.false_alarms, options.since, options.across_nodes)
    if options.html:
        from reports.history.history_page import render

        write_atomically(options.html, render(options.site, judged, actions))
    if options.json:
        write_json(options.json, {**to_document(options.site, judged), "actions": msgspec.to_builtins(actions)})
    if not alone(options.json):
        show(judged, actions)
    return exit_status(judged)


def _date(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()
