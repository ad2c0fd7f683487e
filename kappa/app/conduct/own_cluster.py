"""A site may bring its cluster: a program ``cluster`` in its folder, with ``status --json``, ``up`` and ``down``."""

import contextlib
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

from kappa.core.ground.errors import InputError

# Exit status of `status`; any other but that of a crash tells of a cluster that is up, in whatever state.
_NOT_UP = 3


def program(site: pathlib.Path) -> pathlib.Path | None:
    """The site's ``cluster``, when it has one."""
    path = site / "cluster"
    return path if path.is_file() and os.access(path, os.X_OK) else None


@contextlib.contextmanager
def cluster_up(site: pathlib.Path, *, stays: bool = False) -> Iterator[None]:
    """Have the site's own cluster up, if it brings one, and its Slurm commands first on PATH.

    One that had to be started is ended afterwards, unless it ``stays``; one that is up in part is left as it is, for
    the checks to tell of. In a job of Slurm there is a cluster.

    :raises InputError: it cannot be started; it has said why on standard error.
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
    """The folder of its commands; ``None`` when it is not up."""
    done = subprocess.run([cluster, "status", "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode == _NOT_UP:
        return None
    try:
        return str(json.loads(done.stdout)["paths"]["bin"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"`{cluster} status --json` ended with status {done.returncode} and tells nothing") from None


def _call(cluster: pathlib.Path, action: str) -> None:
    # A session of its own: Ctrl-C, which ends what runs on the cluster, does not keep it from being ended itself.
    status = subprocess.run([cluster, action], start_new_session=True, check=False).returncode
    if status:
        raise InputError(f"`{cluster} {action}` ended with status {status}; `{cluster} logs` shows more")
