"""From the command line to a night or its schedule."""

import argparse
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
        if options.resubmit:
            _submit_next(options, command, results)
        with only_one(results / "nightly/.lock") as lock:
            return conduct(options, REPOSITORY, results, lock)
    except BusyError as err:
        print(f"nightly: {err}", file=sys.stderr)
        return BUSY
    except (NightlyError, OSError) as err:
        print(f"nightly: error: {err}", file=sys.stderr)
        return INCOMPLETE


def _submit_next(options: argparse.Namespace, command: list[str], results: pathlib.Path) -> None:
    """First of all, so that nothing that happens to this night ends the chain; and it must not keep it from running."""
    try:
        submit_next(options, command, results / "nightly/sbatch.log")
    except NightlyError as err:
        print(f"nightly: error: the next night is not submitted: {err}", file=sys.stderr)
