"""Control the campaign's own cluster: run commands on nodes, limit all processes of a node, and check its health.

The limits use a control group of the node, version 1 or 2 (cgroups(7)).
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import site_folder

SITE = "embedded"
NODES = ("node1", "node2", "node3", "node4")
COMMAND_SECONDS = 600
ENDING_SECONDS = 10
ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000
GROUP_ENDING_S = 5.0


class CampaignError(InputError):
    """The campaign cannot continue. The message says what to look at."""


@dataclass(frozen=True)
class Cluster:
    """A cluster with its state in ``state`` and results in ``results``."""

    state: pathlib.Path
    results: pathlib.Path

    def environment(self) -> dict[str, str]:
        own = {"KAPPA_CLUSTER_STATE": str(self.state), "KAPPA_RESULTS": str(self.results)}
        return {**os.environ, **own}

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(site_folder(SITE) / "cluster"), *arguments],
            env=self.environment(), capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False,
        )  # fmt: skip

    def on(self, place: str, script: str, *arguments: str) -> str:
        """Run a shell script in the namespaces of a place, and return its output. ``arguments`` are ``$1`` and so on.

        :raises CampaignError: its exit status is not 0.
        """
        # Files of a fault have the permissions of a node's files, independent of the campaign's umask.
        line = f"set -euo pipefail; umask 022; {script}"
        done = self.command("exec", place, "bash", "-c", line, "bash", *arguments)
        if done.returncode != 0:
            raise CampaignError(f"on {place}: {script}: {done.stderr.strip() or f'exit status {done.returncode}'}")
        return done.stdout

    def init_pid(self, node: str) -> int:
        """Return the host's process ID of the first process in a node's namespaces."""
        return int((self.state / f"run/{node}.pid").read_text(encoding="ascii").split()[0])

    def end_node(self, node: str) -> None:
        """End all processes and namespaces of a node, as a power loss does. `make_healthy` starts it again."""
        if self._runs(node):
            os.kill(self.init_pid(node), signal.SIGKILL)
        deadline = time.monotonic() + ENDING_SECONDS
        while self._runs(node) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _runs(self, node: str) -> bool:
        """Return whether the process in the node's pid file runs. The file also has the start time in ticks."""
        init, started, _ = (self.state / f"run/{node}.pid").read_text(encoding="ascii").split()
        try:
            stat = pathlib.Path(f"/proc/{init}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        fields = stat.rpartition(")")[2].split()
        return fields[0] != "Z" and fields[19] == started

    def pids(self, node: str, program: str | None = None, subcommand: str = "") -> list[int]:
        """Return the host's process IDs of a node's processes, or of those with this name and subcommand."""
        namespace = os.stat(f"/proc/{self.init_pid(node)}/ns/pid").st_ino
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
                words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                chosen = program in (None, name) and (not subcommand or words[1:2] == [subcommand])
                if chosen and (folder / "ns/pid").stat().st_ino == namespace:
                    found.append(int(folder.name))
            except OSError:
                continue  # it has ended
        return found

    def await_down(self, node: str, seconds: float) -> None:
        """Wait until Slurm has noticed that a node is lost, but at most ``seconds``."""
        deadline = time.monotonic() + seconds
        while "down" not in self.on("login", f"sinfo -h -n {node} -o %T") and time.monotonic() < deadline:
            time.sleep(1)

    def make_healthy(self) -> None:
        """Start all parts that do not run.

        :raises CampaignError: the cluster is still not healthy.
        """
        started = self.command("up")
        if started.returncode != 0:
            raise CampaignError(f"the cluster cannot be repaired: {started.stderr.strip()}")
        status = self.command("status", "--json")
        if status.returncode != 0:
            raise CampaignError(f"the cluster is not healthy: {status.stdout.strip()}")

    def end(self) -> None:
        self.command("down", "--purge")


def cpu_limit(cores: float) -> tuple[str, dict[str, str]]:
    """Return controller and settings of a control group that limit a node to so many cores."""
    quota_us = round(cores * PERIOD_US)
    if _version_2("cpu"):
        return "cpu", {"cpu.max": f"{quota_us} {PERIOD_US}"}
    return "cpu", {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


def disk_limit(device: str, bytes_per_s: int) -> tuple[str, dict[str, str]]:
    """Return controller and settings that limit reads and writes of a block device, named ``MAJOR:MINOR``."""
    if _version_2("io"):
        return "io", {"io.max": f"{device} rbps={bytes_per_s} wbps={bytes_per_s}"}
    limit = f"{device} {bytes_per_s}"
    return "blkio", {"blkio.throttle.read_bps_device": limit, "blkio.throttle.write_bps_device": limit}


def _version_2(controller: str) -> bool:
    controllers = ROOT / "cgroup.controllers"
    return controllers.exists() and controller in controllers.read_text(encoding="ascii").split()


@contextlib.contextmanager
def limited(cluster: Cluster, node: str, controller: str, settings: dict[str, str]) -> Iterator[None]:
    """Apply ``settings`` to every process of the node. Jobs inherit them from slurmd."""
    with _group(cluster, node, controller) as folder:
        for name, value in settings.items():
            (folder / name).write_text(value, encoding="ascii")
        _move(cluster.pids(node), folder)
        yield


@contextlib.contextmanager
def freezer(cluster: Cluster, node: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that makes a process of the node wait in the kernel (state D), even if it is killed.

    The context's end releases it. This needs version 1 of control groups: with version 2 the process can be killed, and
    its state is sleeping.
    """
    with _group(cluster, node, "freezer") as folder:

        def freeze(pid: int) -> None:
            _move([pid], folder)
            (folder / "freezer.state").write_text("FROZEN", encoding="ascii")

        try:
            yield freeze
        finally:
            (folder / "freezer.state").write_text("THAWED", encoding="ascii")


@contextlib.contextmanager
def _group(cluster: Cluster, node: str, controller: str) -> Iterator[pathlib.Path]:
    """Make a control group for the node. At the end, move its processes back."""
    init = cluster.init_pid(node)
    # Another cluster on this machine may have a node of this name, too.
    folder = _hierarchy(controller) / f"kappa-fault-{node}-{init}"
    before = _group_of(init, controller)
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        _move([int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split()], before)
        _remove(folder)


def _remove(folder: pathlib.Path) -> None:
    """Remove a control group as soon as its processes have ended. They end with the node after the round."""
    deadline = time.monotonic() + GROUP_ENDING_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def _hierarchy(controller: str) -> pathlib.Path:
    if _version_2(controller):
        (ROOT / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
        return ROOT
    if not (ROOT / controller).is_dir():
        raise CampaignError(f"the control group controller {controller} is not mounted below {ROOT}: mount it")
    return ROOT / controller


def _group_of(pid: int, controller: str) -> pathlib.Path:
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") or (not controllers and _version_2(controller)):
            return _hierarchy(controller) / path.lstrip("/")
    raise CampaignError(f"/proc/{pid}/cgroup has no group of the controller {controller}")


def _move(pids: list[int], folder: pathlib.Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
