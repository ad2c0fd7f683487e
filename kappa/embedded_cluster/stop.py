"""Stop a cluster, so that none of its processes remains."""

import contextlib
import signal
import subprocess
import time
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline
from kappa.embedded_cluster.daemons import find_process, login_daemons, stop_daemon
from kappa.embedded_cluster.instance import DAEMON_ENVIRONMENT, Instance, find_outer, login_init_of
from kappa.embedded_cluster.layout import LOGIN, StateLayout
from kappa.embedded_cluster.processes import ProcessId, members
from kappa.embedded_cluster.status import cancel_all_jobs, no_jobs

_ORDERLY_S = 30.0  # longest time for each step of an orderly stop, before everything is killed
_CGROUPS_ARE_MIXED = Path("/sys/fs/cgroup/unified").is_dir()  # versions 1 and 2 side by side


def stop_cluster(layout: StateLayout, progress: ConsoleProgress) -> bool:
    """Stop the cluster of a state folder. Return False if none was up.

    It uses the process tree, so it works even if the cluster's records are lost or damaged.
    """
    outer = find_outer(layout)
    if outer:
        since = time.monotonic()
        try:
            instance = Instance.load(layout)
        except ClusterError as error:
            progress.say(str(error))
            instance = None
        cgroups: set[Path] = set()
        if instance:
            cgroups = _cgroups_of(instance)
            _end_jobs(instance)
            _end_daemons(instance)
        _end_namespaces(outer)
        _remove_cgroups(cgroups)
        progress.step("cluster stopped", since)
    for pid_file in layout.run.glob("*.pid"):
        # After a crash, the kernel may still be ending this process.
        process = ProcessId.read(pid_file)
        if process and not process.wait_gone(_ORDERLY_S):
            raise ClusterError(_undying(process))
        pid_file.unlink()
    for image in layout.state.glob("nodes/*/scratch.img"):
        _free_loop_devices(image)
        image.unlink()
    layout.instance.unlink(missing_ok=True)
    return outer is not None


def _end_jobs(instance: Instance) -> None:
    """Cancel all jobs, and wait for them, so that accounting records their end."""
    slurmctld = login_daemons(instance)[-1]
    if find_process(instance, slurmctld):
        with contextlib.suppress(ClusterError):  # a controller that does not answer is killed with the rest
            if cancel_all_jobs(instance, _ORDERLY_S):
                Deadline(_ORDERLY_S).poll(lambda: no_jobs(instance), interval_s=0.1)


def _end_daemons(instance: Instance) -> None:
    """Stop the daemons: the controller first, so that it saves its state; the database last."""
    for daemon in reversed(login_daemons(instance)):
        if daemon.program != "munged":
            stop_daemon(instance, daemon, _ORDERLY_S)


def _end_namespaces(outer: ProcessId) -> None:
    """Kill the first process of the namespaces, then its parent. The kernel ends all other processes."""
    for process in (login_init_of(outer), outer):
        if process:
            process.send(signal.SIGKILL)
            if not process.wait_gone(_ORDERLY_S):
                raise ClusterError(_undying(process))


def _undying(process: ProcessId) -> str:
    return f"process {process.pid} of the cluster does not end: see `ps -p {process.pid} -o stat,wchan,args`"


def _free_loop_devices(image: Path) -> None:
    """Free the loop devices of a scratch image, if the kernel has not freed them soon after the last mount."""
    if not Deadline(2).poll(lambda: not _loop_devices(image)):
        for device in _loop_devices(image):
            _losetup("--detach", device)


def _loop_devices(image: Path) -> list[str]:
    return _losetup("--noheadings", "--output", "NAME", "--associated", str(image)).split()


def _losetup(*arguments: str) -> str:
    command = ["losetup", *arguments]
    return subprocess.run(command, env=DAEMON_ENVIRONMENT, capture_output=True, text=True, check=False).stdout


def _cgroups_of(instance: Instance) -> set[Path]:
    """Return the control groups into which cluster processes were put after the start."""
    inits = instance.inits()
    if LOGIN not in inits:
        return set()
    original = _cgroup_folders(inits[LOGIN].pid)
    return {folder for p in members(inits) for folder in _cgroup_folders(p.process.pid)} - original


def _cgroup_folders(pid: int) -> set[Path]:
    """Return a process's control groups. cgroups(7): lines ID:CONTROLLERS:PATH, version 2 without controllers."""
    folders = set()
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers:
                folders.add(Path("/sys/fs/cgroup", controllers.removeprefix("name="), path.lstrip("/")))
            else:
                folders.add(Path("/sys/fs/cgroup", "unified" if _CGROUPS_ARE_MIXED else "", path.lstrip("/")))
    return folders


def _remove_cgroups(folders: set[Path]) -> None:
    for folder in sorted(folders, key=lambda f: len(f.parts), reverse=True):
        with contextlib.suppress(OSError):  # in use by others, or gone
            folder.rmdir()
