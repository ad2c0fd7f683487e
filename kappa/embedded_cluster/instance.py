"""The record of a running cluster, commands inside it, and the lock: one `up` or `down` at a time."""

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
    """A cluster that was started, with what it was started with."""

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
        """The recorded cluster, up or not; None without a record.

        Raises ClusterError for a record that cannot be read.
        """
        try:
            record = json.loads(layout.instance.read_text())
            options = ClusterOptions(**record["options"])
            return cls(layout, options, bool(record["rootless"]), tuple(record["gpu_devices"]))
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise ClusterError(f"{layout.state} belongs to another user, who alone can use this cluster") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ClusterError(
                f"{layout.instance} is damaged ({error}): end the cluster with `cluster down`, then start it again"
            ) from error

    @property
    def places(self) -> tuple[str, ...]:
        """login and the nodes."""
        return (LOGIN, *self.options.node_names)

    def init_of(self, place: str) -> ProcessId | None:
        """First process of a place's namespaces; None when it is not running."""
        init = ProcessId.read(self.layout.init_pid(place))
        return init if init and init.alive() else None

    def inits(self) -> dict[str, ProcessId]:
        """First processes of all the places that are running."""
        found = {place: self.init_of(place) for place in self.places}
        return {place: init for place, init in found.items() if init}

    def enter_command(self, init: ProcessId, arguments: Sequence[str], folder: Path | None = None) -> list[str]:
        """The command line that runs `arguments` in the namespaces of `init`."""
        place = [f"--wdns={folder or '/'}", "--"]
        return ["nsenter", "--target", str(init.pid), *namespace_flags(self.rootless), *place, *arguments]

    def run_in(
        self, place: str, arguments: Sequence[str], timeout_s: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a short command in a place; its exit status is the caller's to judge.

        Raises ClusterError when the place is not running or the command takes longer than `timeout_s`.
        """
        init = self.init_of(place)
        if init is None:
            raise ClusterError(f"{place} is not running: `cluster up` starts it again")
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
            raise ClusterError(f"{arguments[0]} in {place} gave no answer within {timeout_s:.0f} s") from error


def outer_command(layout: StateLayout, rootless: bool, login_address: str) -> list[str]:
    """The host process that carries the cluster: when it ends, so does everything in it."""
    user = ["--user", "--map-auto", "--map-root-user"] if rootless else []
    flags = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--propagation", "private"]
    return ["unshare", *user, *flags, "--", "bash", str(LOGIN_INIT_SCRIPT), str(layout.state), login_address]


def find_outer(layout: StateLayout) -> ProcessId | None:
    """The live cluster of this state directory, found by its command line, so even when all files are gone."""

    def is_outer(arguments: list[str]) -> bool:
        match arguments:
            case ["unshare", *_, script, state, _]:
                # Another checkout may have started it.
                return Path(script).name == LOGIN_INIT_SCRIPT.name and state == str(layout.state)
        return False

    return find_by_arguments(is_outer)


def login_init_of(outer: ProcessId) -> ProcessId | None:
    """The outer process's child, once it has become the init of the login namespace."""
    for pid in child_pids(outer.pid):
        if argument_list(pid)[:1] == ["tini"]:
            return ProcessId.of(pid)
    return None


@contextlib.contextmanager
def state_lock(layout: StateLayout, deadline: Deadline, progress: ConsoleProgress) -> Iterator[None]:
    """Hold the state directory's lock; wait for another holder until the deadline.

    Raises ClusterError when it is not free in time.
    """
    told: list[str] = []

    def waiting() -> None:
        if not told:
            told.append(f"another `cluster up` or `down` works on {layout.state}: waiting for it")
            progress.say(told[0])
        if deadline.remaining_s() == 0:
            raise ClusterError(
                f"another `cluster up` or `down` still works on {layout.state} after {deadline.timeout_s:.0f} s"
            )

    while True:
        with contextlib.ExitStack() as stack:
            try:
                handle = stack.enter_context(locked(layout.lock, waiting=waiting))
                # `down --purge` may have removed the file that is locked, or the directory.
                current = os.path.samestat(os.fstat(handle), os.stat(layout.lock))
            except FileNotFoundError:
                continue
            if current:
                yield
                return


def remove_state(layout: StateLayout) -> None:
    """Remove the state directory, whose lock the caller holds; what waits for the lock may make both anew meanwhile."""
    for entry in layout.state.iterdir():
        if entry == layout.lock:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    layout.lock.unlink()
    try:
        layout.state.rmdir()
    except OSError as err:
        if err.errno != errno.ENOTEMPTY:
            raise
