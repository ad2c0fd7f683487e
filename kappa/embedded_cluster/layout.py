"""The options of a cluster, the paths of its files, and how they are written."""

import dataclasses
import os
import re
import stat
from pathlib import Path
from typing import Any

from kappa.core.ground.whole_files import write_atomically
from kappa.embedded_cluster.console import ClusterError

SCRATCH_FILE_SYSTEMS = ("auto", "ext4", "tmpfs")
MIN_SCRATCH_BYTES = 16 << 20  # below this ext4 has no room for its journal
MAX_NODES = 64
MAX_LIGHT_NODES = 1024
MAX_ADAPTERS = 8
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# The state folder inside the cluster. It is short, because a Unix socket's path has at most 107 characters.
INSIDE = Path("/run/kappa")
LOGIN = "login"


def parse_size(text: str) -> int:
    """Parse a size such as ``512M`` or ``1G`` (binary units) into bytes.

    :raises ValueError: the text is no size.
    """
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is not a size: write a whole number with K, M, G or T, for example 1G")
    return int(match[1]) * _UNITS[match[2].upper()]


@dataclasses.dataclass(frozen=True)
class ClusterOptions:
    """The options of `cluster up`. Clusters with equal options are equal."""

    nodes: int = 4
    cpus_per_node: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)
    scratch_bytes: int = 1 << 30
    scratch_fs: str = "auto"
    accounting: bool = True
    adapters: int = 2
    backup_controller: bool = False  # a second slurmctld, on node1
    light: bool = False  # nodes share network, processes and munged; their only own storage is memory

    def __post_init__(self) -> None:
        """Check the options.

        :raises ClusterError: a cluster with these options is not possible.
        """
        most = MAX_LIGHT_NODES if self.light else MAX_NODES
        if not 2 <= self.nodes <= most or self.nodes % 2:
            more = "" if self.light else f"; with --light up to {MAX_LIGHT_NODES}"
            raise ClusterError(
                f"--nodes {self.nodes}: the partitions cpu and gpu have half of the nodes each: "
                f"give an even number from 2 to {most}{more}"
            )
        if self.light and self.backup_controller:
            raise ClusterError("--backup-controller: light nodes share the controller's network: remove --light")
        if self.light and (self.adapters, self.scratch_fs) != (1, "tmpfs"):
            raise ClusterError("--light: light nodes have one adapter, and tmpfs on /scratch: remove the other option")
        if self.cpus_per_node < 1:
            raise ClusterError(f"--cpus-per-node {self.cpus_per_node}: give 1 or more")
        if self.scratch_bytes < MIN_SCRATCH_BYTES:
            raise ClusterError(f"--scratch-size {self.scratch_bytes} B: give at least {MIN_SCRATCH_BYTES >> 20}M")
        if not 1 <= self.adapters <= MAX_ADAPTERS:
            raise ClusterError(f"--adapters {self.adapters}: give 1 to {MAX_ADAPTERS}")
        if self.scratch_fs not in SCRATCH_FILE_SYSTEMS:
            raise ClusterError(f"--scratch-fs {self.scratch_fs}: give one of {', '.join(SCRATCH_FILE_SYSTEMS)}")

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return node1 … nodeN."""
        return tuple(f"node{i}" for i in range(1, self.nodes + 1))

    @property
    def nodes_of_a_leaf(self) -> int:
        """Return the number of nodes on one leaf switch."""
        return min(16, self.nodes // 2) if self.light else 2

    def conflicts(self, wanted: dict[str, Any]) -> list[str]:
        """Return one line for each wanted option that differs from this cluster's."""
        return [
            f"{name.replace('_', '-')} is {getattr(self, name)}, not {value}"
            for name, value in wanted.items()
            if getattr(self, name) != value
        ]


def find_gpu_devices(dev: Path = Path("/dev")) -> tuple[str, ...]:
    """Return the paths of the host's NVIDIA GPUs, by number."""
    found = [(int(match[1]), str(path)) for path in dev.iterdir() if (match := re.fullmatch(r"nvidia(\d+)", path.name))]
    return tuple(path for _, path in sorted(found))


class StateLayout:
    """The paths below one state folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.lock, self.bin, self.etc, self.log, self.run, self.root, self.shared = (
            state / name for name in ("lock", "bin", "etc", "log", "run", "root", "shared")
        )
        self.slurm_etc, self.instance = self.etc / "slurm", self.run / "instance.json"
        self.munge_key, self.mark = state / "munge.key", state / ".kappa-folder"
        self.database = state / "database"
        # MariaDB's temporary tables. Each cluster has its own folder: a MariaDB removes the tables of others.
        self.database_scratch = state / "database.tmp"

    def write_mark(self) -> None:
        """Mark the state folder, so that `down --purge` may remove it, with the fields of ``own_folder.sh``."""
        write_whole(self.mark, f"suite kappa\nuser {os.geteuid()}\nhost {os.uname().nodename}\njob \n", 0o600)

    def is_marked(self) -> bool:
        """Return whether this user's `cluster up` made the state folder."""
        try:
            mark, folder = self.mark.lstat(), self.state.stat()
        except OSError:
            return False
        return stat.S_ISREG(mark.st_mode) and mark.st_uid == folder.st_uid == os.geteuid()

    def node(self, name: str) -> Path:
        return self.state / "nodes" / name

    def init_pid(self, name: str) -> Path:
        """Return the pid file of the first process of the login or a node namespace."""
        return self.run / f"{name}.pid"

    def log_of(self, daemon: str) -> Path:
        return self.log / f"{daemon}.log"

    def create(self, node_names: tuple[str, ...]) -> None:
        """Make every folder. Only the owner may enter the state folder, because it has the munge key.

        :raises ClusterError: the state folder is not new, and no `cluster up` has made it.
        """
        self.state.mkdir(parents=True, exist_ok=True)
        if not self.is_marked():
            if self.state.stat().st_uid != os.geteuid() or {*self.state.iterdir()} - {self.lock}:
                raise ClusterError(
                    f"{self.state} is another user's, or has other files: name a new folder with --state"
                )
            self.state.chmod(0o700)
            self.write_mark()
        folders = [self.bin, self.slurm_etc, self.log, self.run, self.root, self.shared, self.database_scratch]
        folders += [self.state / "slurmctld", *(self.node(name) / "spool" for name in node_names)]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.shared.chmod(0o1777)


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace `path` in one step, so that no reader sees a part of it. Daemons of other users read these files.

    :raises InputError: the file cannot be written.
    """
    write_atomically(path, text, mode, lasting=False)
