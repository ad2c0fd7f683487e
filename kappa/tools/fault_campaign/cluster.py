"""The campaign's own cluster: commands on its nodes, limits of all processes of a node, and whether it is healthy.

The limits are those of a control group of the node, version 1 or 2 (cgroups(7)).
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
    """The campaign cannot go on; the message says what to look at."""


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
        """Standard output of a shell script run in the namespaces of a place; ``arguments`` are its ``$1`` and on.

        :raises CampaignError: its exit status is not 0.
        """
        # What a fault makes has the permissions that it would have on a node, whatever those of who runs the campaign.
        line = f"set -euo pipefail; umask 022; {script}"
        done = self.command("exec", place, "bash", "-c", line, "bash", *arguments)
        if done.returncode != 0:
            raise CampaignError(f"on {place}: {script}: {done.stderr.strip() or f'exit status {done.returncode}'}")
        return done.stdout

    def init_pid(self, node: str) -> int:
        """Process id on the host of the first process of a node's namespaces."""
        return int((self.state / f"run/{node}.pid").read_text(encoding="ascii").split()[0])

    def end_node(self, node: str) -> None:
        """End all processes and namespaces of a node, as when it loses its power; `make_healthy` starts it anew."""
        if self._runs(node):
            os.kill(self.init_pid(node), signal.SIGKILL)
        deadline = time.monotonic() + ENDING_SECONDS
        while self._runs(node) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _runs(self, node: str) -> bool:
        """Whether the process of the node's file runs: the file names the ticks at which it was started, too."""
        init, started, _ = (self.state / f"run/{node}.pid").read_text(encoding="ascii").split()
        try:
            stat = pathlib.Path(f"/proc/{init}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        fields = stat.rpartition(")")[2].split()
        return fields[0] != "Z" and fields[19] == started

    def pids(self, node: str, program: str | None = None, subcommand: str = "") -> list[int]:
        """Process ids on the host of a node's processes, or of those with the name ``program`` and this subcommand."""
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
        """Wait until Slurm has noticed that a node is lost, at most so long."""
        deadline = time.monotonic() + seconds
        while "down" not in self.on("login", f"sinfo -h -n {node} -o %T") and time.monotonic() < deadline:
            time.sleep(1)

    def make_healthy(self) -> None:
        """Start what does not run.

        :raises CampaignError: something is wrong still.
        """
        started = self.command("up")
        if started.returncode != 0:
            raise CampaignError(f"the cluster cannot be mended: {started.stderr.strip()}")
        status = self.command("status", "--json")
        if status.returncode != 0:
            raise CampaignError(f"the cluster is not healthy: {status.stdout.strip()}")

    def end(self) -> None:
        self.command("down", "--purge")


def cpu_limit(cores: float) -> tuple[str, dict[str, str]]:
    """Controller and settings that leave a share of the machine's cores."""
    quota_us = round(cores * PERIOD_US)
    if _version_2("cpu"):
        return "cpu", {"cpu.max": f"{quota_us} {PERIOD_US}"}
    return "cpu", {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


def disk_limit(device: str, bytes_per_s: int) -> tuple[str, dict[str, str]]:
    """Controller and settings that limit reads and writes of a block device, named ``MAJOR:MINOR``."""
    if _version_2("io"):
        return "io", {"io.max": f"{device} rbps={bytes_per_s} wbps={bytes_per_s}"}
    limit = f"{device} {bytes_per_s}"
    return "blkio", {"blkio.throttle.read_bps_device": limit, "blkio.throttle.write_bps_device": limit}


def _version_2(controller: str) -> bool:
    controllers = ROOT / "cgroup.controllers"
    return controllers.exists() and controller in controllers.read_text(encoding="ascii").split()


@contextlib.contextmanager
def limited(cluster: Cluster, node: str, controller: str, settings: dict[str, str]) -> Iterator[None]:
    """Every process of the node under ``settings``; its jobs inherit them from slurmd."""
    with _group(cluster, node, controller) as folder:
        for name, value in settings.items():
            (folder / name).write_text(value, encoding="ascii")
        _move(cluster.pids(node), folder)
        yield


@contextlib.contextmanager
def freezer(cluster: Cluster, node: str) -> Iterator[Callable[[int], None]]:
    """A function that makes a process of the node wait in the kernel (state D) until the context ends, even when it
    is killed. Version 1 only: that of version 2 lets it be killed, and shows it asleep."""
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
    """A control group of the node, which gives its processes back at the end."""
    init = cluster.init_pid(node)
    # Another cluster on this machine has a node of this name, too.
    folder = _hierarchy(controller) / f"kappa-fault-{node}-{init}"
    before = _group_of(init, controller)
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        _move([int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split()], before)
        _remove(folder)


def _remove(folder: pathlib.Path) -> None:
    """As soon as no process that is ending holds it; a node that ends with the round takes its processes with it."""
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
        raise CampaignError(f"no control group controller {controller} is mounted below {ROOT}")
    return ROOT / controller


def _group_of(pid: int, controller: str) -> pathlib.Path:
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") or (not controllers and _version_2(controller)):
            return _hierarchy(controller) / path.lstrip("/")
    raise CampaignError(f"/proc/{pid}/cgroup names no group of the controller {controller}")


def _move(pids: list[int], folder: pathlib.Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
