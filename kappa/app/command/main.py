"""``kappa COMMAND …``: load and run one command, and turn each error into a message and exit status 2."""

import argparse
import functools
import gc
import os
import pathlib
import shlex
import sys
import traceback

from kappa import __version__
from kappa.app.command.arguments import CommandParser, ResolvedArgument
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SITES_VARIABLE
from kappa.core.ground.processes import StoppedError
from kappa.core.ground.whole_files import private

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "a cluster": {
        "site": ("describe this cluster as a site, list sites, accept software", "describe_site"),
        "doctor": ("test whether the cluster is as the site's description says", "doctor"),
        "cluster": ("start, stop, inspect and enter the embedded cluster", "cluster"),
        "spack": ("install the suite's Spack environments for a site", "spack"),
        "fabric": ("show simulated machines, or fit one to a real partition", "fabric"),
    },
    "a run": {
        "validate": ("run the suite on a site, or plan a run", "validate"),
        "runs": ("list the runs of a site: time, mode, verdict, folder", "runs"),
        "show": ("show a run: as verdict, HTML page or JUnit XML", "show"),
        "compare": ("compare two runs: which metrics are slower or faster", "compare"),
        "bundle": ("pack the evidence for a vendor, without secrets", "bundle"),
    },
    "every night": {
        "night": ("run or schedule nights, and report on them", "night"),
        "history": ("find metrics that became worse, and what changed then", "history"),
        "learn": ("propose references from past runs, or check the present ones", "learn"),
        "node": ("quarantine and return nodes, acknowledge findings", "node"),
    },
    "a contract": {"acceptance": ("plan, run, report and verify an acceptance", "acceptance")},
    "the checks": {"docs": ("explain a check: purpose, metrics, needs, failure", "docs")},
}
# For one version, a former name answers with the new one.
FORMER = {
    "verdict": "kappa show",
    "html": "kappa show --format page",
    "plan": "kappa validate --plan",
    "ingest": "kappa history SITE --add",
    "calibrate": "kappa fabric calibrate",
    "nightly": "kappa night",
    "ack": "kappa node ack",
    "quarantine": "kappa node quarantine",
    "return": "kappa node return",
    "verify": "kappa acceptance verify",
    "software": "kappa site software",
    "catalogue": "kappa docs catalogue",
    "coverage": "python -m tests.coverage",
    "power": "python -m tests.power",
    "fault-campaign": "python -m tests.fault_campaign",
    "tender": "",
}
_DESCRIPTION = """\
Is this cluster as fast and as sound as it should be, and if not, where is the
fault?
"""
_EPILOG = """\
A command that judges a run returns 0 PASS, 1 FAIL, or 2 INCOMPLETE. Every
command returns 2 after an error. `kappa COMMAND --help` has the details.
"""
ERROR = 2
# Thresholds of the garbage collector's three generations. Python's default is 700, 10, 10.
_SELDOM = 100_000, 50, 100


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
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    if not given:
        parser().print_help(sys.stderr)
        return ERROR
    options = parser().parse_args(given)
    return int(options.act(options))


def parser() -> CommandParser:
    """Return the parser of ``kappa``. It loads a command's module when it parses the command."""
    groups = "\n".join(
        "\n".join([f"{title}:", *(f"  {name:<11}{summary}" for name, (summary, _) in commands.items())])
        for title, commands in GROUPS.items()
    )
    found = CommandParser("kappa", allow_abbrev=False, usage="kappa [--sites FOLDER] COMMAND …", epilog=_EPILOG)
    found.description = f"{_DESCRIPTION}\n{groups}"
    found.add_argument("--version", action="version", version=f"kappa {__version__}")
    found.add_argument(
        "--sites", metavar="FOLDER", action=ResolvedArgument, find=_use_sites, help="also know the sites in this folder"
    )
    actions = found.add_subparsers(required=True, metavar="COMMAND", prog="kappa", help=argparse.SUPPRESS)
    for commands in GROUPS.values():
        for name, (_, declares) in commands.items():
            actions.add_parser(name, declares=declares)
    for name in FORMER:
        actions.add_parser(name, declares=functools.partial(_declare_former, name))
    return found


def _use_sites(folder: str) -> str:
    """Pass the folder of sites on in the environment, for ReFrame, too."""
    if not pathlib.Path(folder).is_dir():
        raise InputError(f"--sites: expected a folder of sites, found {clean(repr(folder))}")
    os.environ[SITES_VARIABLE] = str(pathlib.Path(folder).absolute())
    return folder


def _declare_former(name: str, to: CommandParser) -> None:
    to.take_all(functools.partial(_answer_former, name))


def _answer_former(name: str, options: argparse.Namespace) -> int:
    new = FORMER[name]
    if not new:
        raise InputError(f"Kappa no longer has `kappa {name}`")
    if "SITE" not in new:
        new = shlex.join([*new.split(), *options.arguments])
    if name != "nightly":
        raise InputError(f"`kappa {name}` is now `{new}`")
    # Schedules of the version before call it.
    print(f"kappa: `kappa {name}` is now `{new}`; please schedule the nights again", file=sys.stderr)
    return _run(["night", *options.arguments])


def _say(problem: str) -> None:
    sys.stdout.flush()
    print(f"kappa: error: {clean(problem)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
