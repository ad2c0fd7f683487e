"""``kappa COMMAND …``: load and run one command, and turn each error into a message and exit status 2."""

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
exit status of a command that judges a run:
  0  PASS        every check that the site expects ran; every metric was measured and is within its bounds
  1  FAIL        something is wrong
  2  INCOMPLETE  nothing failed, but something did not run, was not measured or has no reference
Every command returns 2 if it could not do its work. `kappa COMMAND --help` lists the exit statuses of each command.
`kappa help COMMAND` prints the same.

examples:
  kappa validate embedded                        run the suite on a site, and print the verdict
  kappa runs embedded                            list the site's runs with their verdicts
  kappa verdict embedded                         print the verdict on the newest run again
  kappa html embedded --open                     show the newest run as a page
  kappa docs PairSweep                           explain a check, and what its failure means
  kappa nightly schedule mycluster sbatch        validate every night
  kappa acceptance run mycluster acceptance-2026

environment:
  KAPPA_SITES    the folder of your own sites, as --sites
  KAPPA_HOME     the folder of results/ and .kappa/
  KAPPA_RESULTS  the folder of the site's results, instead of results/SITE

You can also set the first two in ~/.config/kappa/config.toml: sites = "FOLDER", home = "FOLDER".
"""
ERROR = 2
# Thresholds of the garbage collector's three generations. Python's default is 700, 10, 10.
_SELDOM = 100_000, 50, 100


class Command(NamedTuple):
    module: str
    """A module in this folder, with ``run(arguments) -> exit status``."""
    summary: str


COMMANDS = {
    "site": Command("describe_site", "describe this login node's cluster as a site"),
    "doctor": Command("doctor", "test whether the cluster is as the site's description says"),
    "validate": Command("validate", "run the suite on a site and print the verdict"),
    "plan": Command("plan", "predict the node-hours and bytes of a run, for each check"),
    "runs": Command("runs", "list the runs of a site: time, mode, verdict, folder"),
    "verdict": Command("verdict", "print the verdict on a run: PASS, FAIL or INCOMPLETE, with the reasons"),
    "html": Command("run_page", "write a run as one HTML page"),
    "compare": Command("compare", "compare two runs: which metrics are slower or faster"),
    "bundle": Command("bundle", "pack the evidence for a finding into an archive for a vendor, without secrets"),
    "ingest": Command("ingest", "add new runs to a site's history"),
    "history": Command("history", "find metrics that became worse, since when, and what changed then"),
    "calibrate": Command("calibrate", "fit a simulated fabric to a real partition, and state its error"),
    "learn": Command("learn", "propose references from past runs, or check the present ones"),
    "nightly": Command("nightly", "run or schedule nights, and report on them"),
    "ack": Command("acknowledge", "acknowledge a finding until a day, with a reason"),
    "quarantine": Command("quarantine", "list nodes in quarantine, or apply a site's rule to a run"),
    "return": Command("return_node", "test nodes in quarantine, and resume nodes that pass"),
    "tender": Command("tender", "ask for bids on a contract, and make a bid the contract"),
    "acceptance": Command("acceptance", "plan, run and report an acceptance by contract"),
    "verify": Command("verify", "check that a dossier is unaltered"),
    "cluster": Command("cluster", "start, stop, inspect and enter the embedded cluster"),
    "fabric": Command("fabric", "list and show the fabrics of simulated machines; write SimGrid's files"),
    "software": Command("software", "list programs and libraries that have changed, and accept them"),
    "spack": Command("spack", "install the suite's Spack environments for a site"),
    "catalogue": Command("catalogue", "list the checks with metrics, needed features and durations"),
    "docs": Command("docs", "explain a check: purpose, metrics, needs, and what its failure means"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    # A report of thousands of nodes has millions of objects. Garbage collection took a third of the time.
    gc.set_threshold(*_SELDOM)
    try:
        # Results describe the cluster's inside, so only the owner may read them. A job inherits this umask from Slurm.
        with private():
            return _run(given)
    except (InputError, StoppedError) as err:
        _say(str(err))
    except KeyboardInterrupt:
        _say("interrupted")
    except BrokenPipeError:
        # The reader has gone. Without this, Python would print an error as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as err:
        _say(f"{err.filename}: {err.strerror}" if err.filename else str(err))
    except ImportError as err:
        _say(
            f"{err}; the Python environment {sys.prefix} is not complete: run `make setup` on Debian,"
            " else `.venv/bin/pip install -e .`"
        )
    except Exception:
        # Python's exit status 1 would mean FAIL.
        traceback.print_exc()
        _say("this is a fault in Kappa, not in the cluster; please report the lines above")
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
    """Return the arguments after ``--sites FOLDER``, and pass the folder on in the environment, for ReFrame, too."""
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
    parser.add_argument("--sites", metavar="FOLDER", help="the folder of your own sites, in addition to the suite's")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    return parser


def _say(problem: str) -> None:
    sys.stdout.flush()
    print(f"kappa: error: {clean(problem)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
