"""``kappa verdict``."""

import pathlib

from kappa.app.command.arguments import add_json, add_run, alone, parser, resolved, site_of, write_json
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Print the verdict on a run: failures last, with where to look. Nothing is run again: the same report and the same site
files give the same answer. Of a run whose kappa or ReFrame was killed, first its jobs are cancelled, and the cases that
had ended are made a report. Colours follow NO_COLOR.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or an unusable report or site file."""
_EXAMPLES = """\
  kappa verdict embedded                            the newest run of a site
  kappa verdict results/embedded/runs               the newest of a folder
  kappa verdict run-report-7.json --mode smoke      held against what the mode smoke expects
  kappa verdict embedded -v                         every metric with its bounds, and what is not provided
  kappa verdict embedded --json v.json --junit v.xml    also for machines
"""


def run(arguments: list[str]) -> int:
    words = parser("verdict", _DESCRIPTION, _EXAMPLES)
    add_run(words)
    add_json(words)
    words.add_argument("--junit", metavar="FILE", type=pathlib.Path, help="write FILE for a CI server, too")
    shown = "show every metric, notes of cases, and what is not provided here"
    words.add_argument("-v", "--verbose", action="store_true", help=shown)
    options = resolved(words.parse_args(arguments))
    from reports.compare.compare import since_last
    from reports.compare.figures import past_of
    from reports.show.terminal import show
    from reports.verdict.judge import judge_report
    from reports.verdict.summary import to_json

    verdict = judge_report(options.run, site_of(options), options.mode)
    if options.json:
        write_json(options.json, to_json(verdict))
    if options.junit:
        from reports.show.junit import run_junit

        write_atomically(options.junit, run_junit(verdict))
    if not alone(options.json):
        show(verdict, since_last(options.run, past_of(options.run)), verbose=options.verbose)
    return verdict.exit_status
