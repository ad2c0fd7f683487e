"""The record of a running cluster, commands in it, and a lock for one `up` or `down` at a time."""

import contextlib
import dataclasses
import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from kappa.core.ground.locks import locked
from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline
from kappa.embedded_cluster.layout import LOGIN, ClusterOptions, StateLayout, write_whole
from kappa.embedded_cluster.processes import ProcessId, argument_list, child_pids, find_by_arguments
from kappa.embedded_cluster.wrappers import SYSTEM_PATH, namespace_flags

LOGIN_INIT_SCRIPT = Path(__file__).resolve().with_name("login_init.sh")
NODE_INIT_SCRIPT = Path(__file__).resolve().with_name("node_init.sh")
# Daemons must not depend on the shell that started them.
DAEMON_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "HOME": "/root"}


@dataclasses.dataclass(frozen=True)
class Instance:
    """A started cluster, with its options."""

    layout: StateLayout
    options: ClusterOptions
    rootless: bool
    gpu_devices: tuple[str, ...]

    def save(self) -> None:
        record = {
            "options": dataclasses.asdict(self.options),
            "rootless": self.rootless,
            "gpu_devices": self.gpu_devices,
        }
        write_whole(self.layout.instance, json.dumps(record, indent=2) + "\n")

    @classmethod
    def load(cls, layout: StateLayout) -> "Instance | None":
        """Read the record of a cluster, up or not. Return None without a record.

        :raises ClusterError: the record cannot be read.
        """
        try:
            record = json.loads(layout.instance.read_text())
            options = ClusterOptions(**record["options"])
            return cls(layout, options, bool(record["rootless"]), tuple(record["gpu_devices"]))
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise ClusterError(f"{layout.state} belongs to another user: choose another folder with --state") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ClusterError(
                f"{layout.instance} is damaged ({error}): stop the cluster with `cluster down`, then start it again"
            ) from error

    @property
    def places(self) -> tuple[str, ...]:
        """Return login and the names of the nodes."""
        return (LOGIN, *self.options.node_names)

    def init_of(self, place: str) -> ProcessId | None:
        """Return the first process of a place's namespaces; None if it is not running."""
        init = ProcessId.read(self.layout.init_pid(place))
        return init if init and init.alive() else None

    def inits(self) -> dict[str, ProcessId]:
        """Return the first process of each running place."""
        found = {place: self.init_of(place) for place in self.places}
        return {place: init for place, init in found.items() if init}

    def enter_command(self, init: ProcessId, arguments: Sequence[str], folder: Path | None = None) -> list[str]:
        """Return the command line that runs `arguments` in the namespaces of `init`."""
        place = [f"--wdns={folder or '/'}", "--"]
        return ["nsenter", "--target", str(init.pid), *namespace_flags(self.rootless), *place, *arguments]

    def run_in(
        self, place: str, arguments: Sequence[str], timeout_s: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a short command in a place. The caller must check its exit status.

        :raises ClusterError: the place is not running, or the command takes longer than `timeout_s`.
        """
        init = self.init_of(place)
        if init is None:
            raise ClusterError(f"{place} is not running: restart it with `cluster up`")
        try:
            return subprocess.run(
                self.enter_command(init, arguments),
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                env=DAEMON_ENVIRONMENT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{arguments[0]} on {place} did not answer within {timeout_s:.0f} s") from error


def outer_command(layout: StateLayout, rootless: bool, login_address: str) -> list[str]:
    """Return the command of the host process that carries the cluster. All of the cluster ends with it."""
    user = ["--user", "--map-auto", "--map-root-user"] if rootless else []
    flags = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--propagation", "private"]
    return ["unshare", *user, *flags, "--", "bash", str(LOGIN_INIT_SCRIPT), str(layout.state), login_address]


def find_outer(layout: StateLayout) -> ProcessId | None:
    """Find the running cluster of this state folder by its command line, even if all its files are gone."""

    def is_outer(arguments: list[str]) -> bool:
        match arguments:
            case ["unshare", *_, script, state, _]:
                # Another checkout may have started it.
                return Path(script).name == LOGIN_INIT_SCRIPT.name and state == str(layout.state)
        return False

    return find_by_arguments(is_outer)


def login_init_of(outer: ProcessId) -> ProcessId | None:
    """Return the outer process's child, if it has become the init of the login namespace."""
    for pid in child_pids(outer.pid):
        if argument_list(pid)[:1] == ["tini"]:
            return ProcessId.of(pid)
    return None


@contextlib.contextmanager
def state_lock(layout: StateLayout, deadline: Deadline, progress: ConsoleProgress) -> Iterator[None]:
    """Hold the lock of the state folder. Wait for another holder until the deadline.

    :raises ClusterError: the lock is not free in time.
    """
    told: list[str] = []

    def waiting() -> None:
        if not told:
            told.append(f"another `cluster up` or `down` uses {layout.state}: waiting for it")
            progress.say(told[0])
        if deadline.remaining_s() == 0:
            raise ClusterError(
                f"another `cluster up` or `down` still uses {layout.state} after {deadline.timeout_s:.0f} s: try later"
            )

    while True:
        with contextlib.ExitStack() as stack:
            try:
                handle = stack.enter_context(locked(layout.lock, waiting=waiting))
                # `down --purge` may have removed the locked file, or its folder.
                current = os.path.samestat(os.fstat(handle), os.stat(layout.lock))
            except FileNotFoundError:
                continue
            if current:
                yield
                return


def remove_state(layout: StateLayout) -> None:
    """Remove the state folder. The caller holds its lock. A process that waits for the lock may make both again.

    :raises ClusterError: the folder has no mark of `cluster up`.
    """
    if not layout.is_marked():
        raise ClusterError(f"no `cluster up` made {layout.state} ({layout.mark.name} is missing): remove it by hand")
    for entry in layout.state.iterdir():
        if entry in (layout.lock, layout.mark):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    layout.mark.unlink()
    layout.lock.unlink()
    try:
        layout.state.rmdir()
    except OSError as err:
        if err.errno != errno.ENOTEMPTY:
            raise
