"""Can a cluster run here?  Each answer that says no says how to mend it."""

import os
import subprocess
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError
from kappa.embedded_cluster.instance import DAEMON_ENVIRONMENT, LOGIN_INIT_SCRIPT
from kappa.embedded_cluster.layout import INSIDE
from kappa.embedded_cluster.wrappers import SLURM_COMMANDS, find_program

_PACKAGES = {
    **dict.fromkeys(SLURM_COMMANDS, "slurm-client"),
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "munged": "munge",
    "tini": "tini",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "losetup": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}
_ACCOUNTING_PACKAGES = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server-core"}
# The cluster has its own of these, so what the host has below them cannot be seen inside.
_OWN_FOLDERS = [Path(name) for name in ("/scratch", "/shared", "/proc", "/sys", "/dev", "/run")]
_NAMESPACES = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork"]


def check_programs(accounting: bool) -> None:
    """Raise ClusterError that names the missing programs and their Debian packages."""
    needed = _PACKAGES | (_ACCOUNTING_PACKAGES if accounting else {})
    missing = {program: package for program, package in needed.items() if find_program(program) is None}
    if missing:
        raise ClusterError(
            f"missing programs: {', '.join(sorted(missing))}; "
            f"install them with: apt-get install --no-install-recommends {' '.join(sorted(set(missing.values())))}"
        )
    if not Path("/etc/slurm").is_dir():
        raise ClusterError("there is no folder /etc/slurm: install the Debian package slurm-client")


def check_place(state: Path) -> None:
    """Raise ClusterError when the state directory cannot be used where it is."""
    if INSIDE.exists():
        raise ClusterError("this is the inside of an embedded cluster: run `cluster` on the host")
    for path, what in ((state, "the state directory"), (LOGIN_INIT_SCRIPT, "this program")):
        for folder in _OWN_FOLDERS:
            if path.is_relative_to(folder):
                raise ClusterError(f"{what} {path} lies below {folder}, which the cluster replaces: use another place")
    existing = next(folder for folder in (state, *state.parents) if folder.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ClusterError(f"{state} cannot be written: choose another folder with --state or KAPPA_CLUSTER_STATE")


def needs_user_namespace() -> bool:
    """False for root with all rights; True when a user namespace does instead.

    Raises ClusterError when neither is possible.
    """
    if os.geteuid() == 0 and _unshare_works([]) is None:
        return False
    if find_program("newuidmap") is None:
        raise ClusterError(
            "this user may not make namespaces alone: install the Debian package uidmap, or run this as root"
        )
    refusal = _unshare_works(["--user", "--map-auto", "--map-root-user"])
    if refusal is not None:
        raise ClusterError(
            f"neither root's rights nor user namespaces are at hand ({refusal}): run this as root, or let the kernel "
            "make user namespaces and give this user a range in /etc/subuid and /etc/subgid"
        )
    return True


def _unshare_works(user_flags: list[str]) -> str | None:
    """None when the namespaces can be made, otherwise what unshare said."""
    command = ["unshare", *user_flags, *_NAMESPACES, "true"]
    result = subprocess.run(command, env=DAEMON_ENVIRONMENT, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else (result.stderr.strip() or f"exit status {result.returncode}")
