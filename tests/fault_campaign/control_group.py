"""Limits on all processes of a node through a control group of its own, version 1 or 2 (cgroups(7))."""

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator

from tests.fault_campaign.cluster import CampaignError, Cluster

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000
ENDING_S = 5.0


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
    deadline = time.monotonic() + ENDING_S
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
