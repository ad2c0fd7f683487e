"""Start and stop a site's own cluster: the program ``cluster`` in its folder, with ``status``, ``up`` and ``down``."""

import contextlib
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

from kappa.core.ground.errors import InputError

# Exit status of `status` if the cluster is down. Any other, except of a crash, means that it is up, perhaps in part.
_NOT_UP = 3


def program(site: pathlib.Path) -> pathlib.Path | None:
    """Return the site's program ``cluster``, or None."""
    path = site / "cluster"
    return path if path.is_file() and os.access(path, os.X_OK) else None


@contextlib.contextmanager
def cluster_up(site: pathlib.Path, *, stays: bool = False) -> Iterator[None]:
    """Start the site's own cluster, if it has one, and put its Slurm commands first on PATH.

    At the end, stop a cluster that was started here, unless it ``stays``. Leave a cluster that is up in part as it is,
    so that the checks report it. In a Slurm job, do nothing: there is a cluster already.

    :raises InputError: it cannot be started. It has printed the reason on standard error.
    """
    cluster = program(site)
    if cluster is None or "SLURM_JOB_ID" in os.environ:
        yield
        return
    commands = _commands(cluster)
    start = commands is None
    if start:
        _call(cluster, "up")
        commands = _commands(cluster)
    try:
        os.environ["PATH"] = f"{commands}:{os.environ['PATH']}"
        yield
    finally:
        if start and not stays:
            _call(cluster, "down")


def _commands(cluster: pathlib.Path) -> str | None:
    """Return the folder of the cluster's commands; ``None`` if it is down."""
    done = subprocess.run([cluster, "status", "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode == _NOT_UP:
        return None
    try:
        return str(json.loads(done.stdout)["paths"]["bin"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"`{cluster} status --json` ended with status {done.returncode} and without JSON") from None


def _call(cluster: pathlib.Path, action: str) -> None:
    # In a new session, so that Ctrl-C does not interrupt the stop of the cluster.
    status = subprocess.run([cluster, action], start_new_session=True, check=False).returncode
    if status:
        raise InputError(f"`{cluster} {action}` ended with status {status}; read `{cluster} logs`")
