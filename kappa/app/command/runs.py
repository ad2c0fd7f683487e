"""List the runs of a site, the newest last: start time, mode, verdict, cases and folder. The verdict uses the site's
files as they are now. For a night it covers only the mode; `kappa night report` judges the whole night.

Exit status: 0 the runs are listed, 2 there is no run, or a run cannot be judged.

examples:
  kappa runs mycluster
  kappa runs mycluster --newest 100
  kappa runs mycluster --json -                     as JSON
"""

import argparse
import pathlib
from typing import Any

from kappa.app.command.arguments import CommandParser, add_json, add_site, alone, whole, write_json
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, aligned, moment
from kappa.core.ground.folders import results_folder

_NEWEST = 10
_TITLES = ("began", "mode", "verdict", "cases", "run")


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to, results=True)
    to.add_argument(
        "--newest", metavar="N", type=whole(1), default=_NEWEST, help="list the newest N runs (default: %(default)s)"
    )
    add_json(to)


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.settling import settle_given
    from kappa.core.record.runs import newest_run, reports_of

    settle_given(options.site)
    newest_run(options.site)
    reports = reports_of(results_folder(options.site))
    listed = [_judged(report) for report in reversed(reports[: options.newest])]
    problems = dict.fromkeys(one["problem"] for one in listed if one["problem"])
    write_json(options.json, {"site": options.site, "runs": listed})
    if not alone(options.json):
        print("\n".join(aligned([_TITLES, *map(_row, listed)])))
        if len(reports) > len(listed):
            print(f"{len(listed)} of {len(reports)} runs: --newest {len(reports)} lists all")
        for problem in problems:
            print(f"cannot be judged: {problem}")
    return 2 if problems else 0


def _judged(report: pathlib.Path) -> dict[str, Any]:
    """Return a run as a JSON document; ``problem`` says why it has no ``verdict``."""
    from reports.verdict.stored import judge_report
    from reports.verdict.summary import tally

    found: dict[str, Any] = {
        "report": clean(str(report)), "time_start": "", "mode": None, "verdict": None, "counts": {}, "problem": "",
    }  # fmt: skip
    try:
        verdict = judge_report(report)
    except InputError as err:
        return found | {"problem": clean(str(err))}
    return found | {
        "time_start": verdict.session.time_start,
        "mode": verdict.mode,
        "verdict": verdict.state.value,
        "counts": {what: many for many, what in tally(verdict)},
    }


def _row(found: dict[str, Any]) -> tuple[str, ...]:
    report, here = pathlib.Path(found["report"]), pathlib.Path.cwd()
    # Show a folder with a single run instead of its report: every command accepts it.
    place = report if report.parent.name == "reports" else report.parent
    cases = ", ".join(f"{many} {what}" for what, many in found["counts"].items() if many)
    return (
        moment(found["time_start"]) if found["time_start"] else NOTHING,
        found["mode"] or NOTHING,
        found["verdict"] or NOTHING,
        cases or NOTHING,
        str(place.relative_to(here) if place.is_relative_to(here) else place),
    )
