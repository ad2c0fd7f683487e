"""From the command line to a night or its schedule."""

import argparse
import functools
import os
import pathlib
import sys

from .conduct import conduct
from .errors import NightlyError
from .install import install, submit_next
from .lock import BusyError, only_one
from .options import parse
from .schedule import night_command

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
INCOMPLETE, BUSY = 2, 75


def main(arguments: list[str] | None = None) -> int:
    """Run a night or schedule it; returns the exit status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    # Results tell of the inside of the cluster: for the owner alone. Slurm takes this over for a job's output.
    os.umask(0o077)
    problem = ""
    try:
        site = REPOSITORY / "site_configs" / options.site
        if not (site / "settings.py").is_file():
            raise NightlyError(f"there is no {site / 'settings.py'}")
        results = pathlib.Path(os.environ.get("KAPPA_RESULTS", REPOSITORY / "results" / options.site)).resolve()
        named = not (site / "nightly").is_file()
        command = night_command(options, site.parent / "nightly" if named else site / "nightly", named=named)
        if options.schedule:
            install(options, command, REPOSITORY, results)
            return 0
        # First of all, so that nothing that happens to this night ends the chain.
        problem = _submit_next(options, command, results) if options.resubmit else ""
        with only_one(results / "nightly/.lock") as lock:
            late = functools.partial(_submit_next, options, command, results) if problem else str
            return conduct(options, REPOSITORY, results, lock, late)
    except BusyError as err:
        print(f"nightly: {err}", file=sys.stderr)
        # Nobody is left to try again.
        return INCOMPLETE if problem else BUSY
    except (NightlyError, OSError) as err:
        print(f"nightly: error: {err}", file=sys.stderr)
        return INCOMPLETE


def _submit_next(options: argparse.Namespace, command: list[str], results: pathlib.Path) -> str:
    """Why the next night could not be submitted, which must not keep this one from running; empty when it was."""
    try:
        submit_next(options, command, results / "nightly/sbatch.log")
    except NightlyError as err:
        print(f"nightly: error: the next night is not submitted: {err}", file=sys.stderr)
        return str(err)
    return ""
