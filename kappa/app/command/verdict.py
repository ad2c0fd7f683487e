"""``kappa verdict``."""

import pathlib

from kappa.app.command.arguments import add_json, add_run, alone, parser, resolved, site_of, write_json
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Print the verdict on a run, with the failures last and where to look. Kappa runs no check: the same report and the same
site files give the same verdict. If the run was killed, Kappa first makes a report of the finished cases; the next
`kappa validate` cancels its jobs. The variable NO_COLOR turns colours off.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or a report or site file is unusable."""
_EXAMPLES = """\
  kappa verdict embedded                            the newest run of a site
  kappa verdict results/embedded/runs               the newest run in a folder
  kappa verdict run-report-7.json --mode smoke      judge by the mode smoke
  kappa verdict embedded -v                         every metric with its bounds, and the checks not provided here
  kappa verdict embedded --json v.json --junit v.xml    also write JSON and JUnit files
"""


def run(arguments: list[str]) -> int:
    words = parser("verdict", _DESCRIPTION, _EXAMPLES)
    add_run(words)
    add_json(words)
    words.add_argument(
        "--junit", metavar="FILE", type=pathlib.Path, help="also write the verdict to FILE as JUnit XML, for CI servers"
    )
    shown = "show every metric, the notes of cases, and the checks that are not provided here"
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
