"""``kappa COMMAND …``: finds the command, loads it alone, and turns what goes wrong into a message and status 2."""

import argparse
import gc
import importlib
import os
import pathlib
import sys
import traceback
from typing import NamedTuple

from kappa import __version__
from kappa.app.command.arguments import Words
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SITES_VARIABLE
from kappa.core.ground.processes import StoppedError
from kappa.core.ground.whole_files import private

_DESCRIPTION = "Is this cluster as fast and as sound as it should be, and if not, where is the fault?"
_EPILOG = """\
exit status, of a command that judges something:
  0  PASS        everything that the site expects ran, was measured and is within its bounds
  1  FAIL        something is wrong
  2  INCOMPLETE  nothing failed, but something did not run, was not measured or has no reference; also the status of
                 every command that could not do its work
`kappa COMMAND --help`, or `kappa help COMMAND`, says it for each.

examples:
  kappa validate embedded                        run the suite on a site, measure again what is out of bounds, judge
  kappa runs embedded                            its runs, and what each was judged
  kappa verdict embedded                         its newest run, judged
  kappa html embedded --open                     and as a page
  kappa nightly schedule mycluster sbatch        a night every night
  kappa acceptance run mycluster acceptance-2026

environment:
  KAPPA_SITES    the folder of your own sites, as --sites
  KAPPA_HOME     the folder of results/ and .kappa/
  KAPPA_RESULTS  the site's results, in place of results/SITE

The first two may stand in ~/.config/kappa/config.toml: sites = "FOLDER", home = "FOLDER".
"""
ERROR = 2
# Objects, and collections of the generation before, after which Python looks for cycles: by default 700, 10, 10.
_SELDOM = 100_000, 50, 100


class Command(NamedTuple):
    module: str
    """Beside this file; it has ``run(arguments) -> exit status``."""
    summary: str


COMMANDS = {
    "site": Command("describe_site", "describe a cluster as a site by asking it"),
    "doctor": Command("doctor", "say whether a site can run what it promises, with the remedies"),
    "validate": Command("validate", "run the suite on a site and judge it"),
    "plan": Command("plan", "say what a run takes and writes: node-hours and bytes, by check"),
    "runs": Command("runs", "list the runs of a site: when, mode, verdict, where"),
    "verdict": Command("verdict", "print PASS, FAIL or INCOMPLETE and why"),
    "html": Command("run_page", "write a run as one self-contained HTML page"),
    "compare": Command("compare", "compare a run with another: what is slower, what faster"),
    "bundle": Command("bundle", "pack what a vendor's ticket needs of a finding, without names and secrets"),
    "ingest": Command("ingest", "add new run reports to a site's history"),
    "history": Command("history", "find what became slower, and what changed then"),
    "calibrate": Command("calibrate", "fit a simulated fabric to a real partition, and state its error"),
    "learn": Command("learn", "propose references from past runs, or check those there are"),
    "nightly": Command("nightly", "run or schedule nights, and report on them"),
    "quarantine": Command("quarantine", "list nodes in quarantine, or apply a site's rule to a run"),
    "return": Command("return_node", "test nodes in quarantine and give back those that pass"),
    "acceptance": Command("acceptance", "plan, run and report the acceptance by a site's contract"),
    "verify": Command("verify", "prove that a dossier is as it was written"),
    "cluster": Command("cluster", "start, stop, inspect and enter the cluster that a site brings"),
    "fabric": Command("fabric", "list and show the fabrics of simulated machines; write SimGrid's files"),
    "software": Command("software", "see which programs and libraries have changed, and accept them"),
    "spack": Command("spack", "install the suite's Spack environments for a site"),
    "catalogue": Command("catalogue", "list the checks: metrics, needs, durations"),
    "coverage": Command("coverage", "say which checks measure what documents measure"),
    "power": Command("power", "simulate what bounds and nights can see"),
    "fault-campaign": Command("fault_campaign", "put faults into an embedded cluster, count what is found"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    # A report of thousands of nodes is millions of objects: looking through them for cycles took a third of the time.
    gc.set_threshold(*_SELDOM)
    try:
        # Results tell of the inside of the cluster: for the owner alone. Slurm takes this over for a job's output.
        with private():
            return _run(given)
    except (InputError, StoppedError) as err:
        _say(str(err))
    except KeyboardInterrupt:
        _say("interrupted")
    except BrokenPipeError:
        # Who reads has gone away: nothing is left to say, and Python would complain as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as err:
        _say(f"{err.filename}: {err.strerror}" if err.filename else str(err))
    except ImportError as err:
        _say(
            f"{err}; the Python environment {sys.prefix} is not complete: `make setup` on Debian,"
            " else `.venv/bin/pip install -e .`"
        )
    except Exception:
        # Python's own exit status 1 would read as FAIL.
        traceback.print_exc()
        _say("this is a fault of the program, not of the cluster")
    return ERROR


def _run(given: list[str]) -> int:
    given = _without_sites(given)
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    if not given:
        _parser().print_help(sys.stderr)
        return ERROR
    if given[0] not in COMMANDS:
        _parser().parse_args(given)
    module = importlib.import_module(f"{__package__}.{COMMANDS[given[0]].module}")
    return int(module.run(given[1:]))


def _without_sites(given: list[str]) -> list[str]:
    """What follows ``--sites``, of which every command, and ReFrame, learns by the variable."""
    if given[:1] == ["--sites"] and len(given) > 1:
        _, folder, *given = given
    elif given and given[0].startswith("--sites="):
        folder, *given = given[0].removeprefix("--sites="), *given[1:]
    else:
        return given
    if not pathlib.Path(folder).is_dir():
        raise InputError(f"--sites: expected a folder of sites, found {clean(repr(folder))}")
    os.environ[SITES_VARIABLE] = str(pathlib.Path(folder).absolute())
    return given


def _parser() -> Words:
    parser = Words(
        "kappa", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"kappa {__version__}")
    parser.add_argument("--sites", metavar="FOLDER", help="the folder of your own sites, beside those of the suite")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    return parser


def _say(problem: str) -> None:
    sys.stdout.flush()
    print(f"kappa: error: {clean(problem)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
