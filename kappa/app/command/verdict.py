"""``kappa verdict``."""

from kappa.app.command.arguments import add_json, add_run, alone, parser, site_of, write_json
from kappa.app.conduct.validation import settle_run
from reports.compare.compare import since_last
from reports.compare.figures import past_of
from reports.show.terminal import show
from reports.verdict.judge import judge_report
from reports.verdict.summary import to_json

_DESCRIPTION = """\
Print the verdict on a run: failures last, with where to look. Nothing is run again: the same report and the same site
files give the same answer. Of a run whose kappa or ReFrame was killed, first its jobs are cancelled, and the cases that
had ended are made a report. Colours follow NO_COLOR.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or an unusable report or site file."""
_EXAMPLES = """\
  kappa verdict results/embedded/reports            the newest report of the folder
  kappa verdict run-report-7.json --mode smoke      held against what the mode smoke expects
  kappa verdict run-report-7.json -v                every metric with its bounds, and what is not provided
  kappa verdict run-report-7.json --json v.json     also for machines
"""


def run(arguments: list[str]) -> int:
    words = parser("verdict", _DESCRIPTION, _EXAMPLES)
    add_run(words)
    add_json(words)
    shown = "show every metric, notes of cases, and what is not provided here"
    words.add_argument("-v", "--verbose", action="store_true", help=shown)
    options = words.parse_args(arguments)
    settle_run(options.run, site_of(options))
    verdict = judge_report(options.run, site_of(options), options.mode)
    if options.json:
        write_json(options.json, to_json(verdict))
    if not alone(options.json):
        show(verdict, since_last(options.run, past_of(options.run)), verbose=options.verbose)
    return verdict.exit_status
