"""Where everything of one cluster lies, seen from the host and from inside, and how its files are written."""

import dataclasses
from pathlib import Path

from kappa.core.ground.whole_files import write_atomically

# The state directory as the cluster sees it: short, because a Unix socket's path has at most 107 characters.
INSIDE = Path("/run/kappa")
LOGIN = "login"


@dataclasses.dataclass(frozen=True)
class StateLayout:
    """Paths below one state directory."""

    state: Path

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def bin(self) -> Path:
        return self.state / "bin"

    @property
    def etc(self) -> Path:
        return self.state / "etc"

    @property
    def slurm_etc(self) -> Path:
        return self.etc / "slurm"

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def instance(self) -> Path:
        return self.run / "instance.json"

    @property
    def root(self) -> Path:
        return self.state / "root"

    @property
    def shared(self) -> Path:
        return self.state / "shared"

    @property
    def database(self) -> Path:
        return self.state / "database"

    @property
    def database_scratch(self) -> Path:
        """MariaDB's temporary tables: it removes those of every other one that uses the same folder."""
        return self.state / "database.tmp"

    @property
    def munge_key(self) -> Path:
        return self.state / "munge.key"

    def node(self, name: str) -> Path:
        return self.state / "nodes" / name

    def init_pid(self, name: str) -> Path:
        """Pid file of the first process of the login or a node namespace."""
        return self.run / f"{name}.pid"

    def log_of(self, daemon: str) -> Path:
        return self.log / f"{daemon}.log"

    def create(self, node_names: tuple[str, ...]) -> None:
        """Make every folder; only the owner may enter the state directory (it holds the munge key)."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.state.chmod(0o700)
        folders = [self.bin, self.slurm_etc, self.log, self.run, self.root, self.shared, self.database_scratch]
        folders += [self.state / "slurmctld", *(self.node(name) / "spool" for name in node_names)]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.shared.chmod(0o1777)


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace `path` in one step, so that no reader sees half of it. Other users' daemons read these files.

    :raises InputError: the file cannot be written.
    """
    write_atomically(path, text, mode, lasting=False)
