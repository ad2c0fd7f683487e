"""Identify processes so that a reused pid is never mistaken for the process."""

import dataclasses
import functools
import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kappa.embedded_cluster.layout import write_whole

PROC = Path("/proc")
EXITING = 0x4  # PF_EXITING of the flags in proc_pid_stat(5): the process is ending and has no namespaces any more


@functools.cache
def boot_id() -> str:
    """Return the kernel's identifier of this boot. Start times repeat after a reboot; this does not."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat (proc(5)) from the third on, or None if there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def parent_pid(pid: int) -> int | None:
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else None


@dataclasses.dataclass(frozen=True)
class ProcessId:
    """A process: pid, start time in clock ticks since boot, and the boot."""

    pid: int
    start_ticks: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """Return the process with this pid; None if there is none, or it is ending or a zombie."""
        fields = _stat_fields(pid)
        if fields is None or fields[0] in "ZX" or int(fields[6]) & EXITING:
            return None
        return cls(pid, int(fields[19]), boot_id())

    @classmethod
    def read(cls, path: Path) -> "ProcessId | None":
        """Read the process in a pid file, alive or not. Return None for a missing or damaged file."""
        try:
            pid, start_ticks, boot = path.read_text().split()
            return cls(int(pid), int(start_ticks), boot)
        except (FileNotFoundError, ValueError):
            return None

    def write(self, path: Path) -> None:
        write_whole(path, f"{self.pid} {self.start_ticks} {self.boot}\n")

    def alive(self) -> bool:
        """Return whether the process still runs; False for one that is ending."""
        return ProcessId.of(self.pid) == self

    def _holds_pid(self) -> bool:
        """Return whether the pid still belongs to this process, running or ending."""
        fields = _stat_fields(self.pid)
        return fields is not None and int(fields[19]) == self.start_ticks and boot_id() == self.boot

    def send(self, signal_number: signal.Signals) -> None:
        """Signal this process and no other. Do nothing if it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The handle stays with one process. Check after opening that it is the right one.
            if self._holds_pid():
                signal.pidfd_send_signal(handle, signal_number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)

    def wait_gone(self, timeout_s: float) -> bool:
        """Wait until the process has ended. Return False if it still runs after `timeout_s`."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            if not self._holds_pid():
                return True
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(timeout_s * 1000))
        finally:
            os.close(handle)


def command_name(pid: int) -> str:
    """Return the name of the process's program from the kernel (at most 15 characters); empty if it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def child_pids(pid: int) -> list[int]:
    return [other for other in _all_pids() if parent_pid(other) == pid]


def argument_list(pid: int) -> list[str]:
    """Return the process's command line; empty if it is gone or a kernel thread."""
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return []


def find_by_arguments(matches: Callable[[list[str]], bool]) -> ProcessId | None:
    """Return the first live process whose command line `matches`."""
    for pid in _all_pids():
        process = ProcessId.of(pid) if matches(argument_list(pid)) else None
        if process:
            return process
    return None


def _all_pids() -> Iterator[int]:
    for name in os.listdir(PROC):
        if name.isdecimal():
            yield int(name)


def host_namespace(pid: int) -> int | None:
    """Return the inode number of the process's UTS namespace; None if it is gone, or not visible to this user.

    Each place has its own UTS namespace, even if it shares processes.
    """
    try:
        return os.stat(PROC / str(pid) / "ns/uts").st_ino
    except OSError:
        return None


@dataclasses.dataclass(frozen=True)
class MemberProcess:
    """A process of the cluster, and its place (login or a node's name)."""

    process: ProcessId
    place: str
    name: str


def members(inits: Mapping[str, ProcessId]) -> list[MemberProcess]:
    """Return every process in the places with these first processes."""
    places = {host_namespace(init.pid): place for place, init in inits.items()}
    places.pop(None, None)
    found = []
    for pid in _all_pids():
        place = places.get(host_namespace(pid))
        process = ProcessId.of(pid) if place else None
        if place and process:
            found.append(MemberProcess(process, place, command_name(pid)))
    return found


def proportional_memory_bytes(pid: int) -> int:
    """Return the process's memory in bytes (PSS in proc(5)): shared pages are divided among their users."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def pid_inside(pid: int, depth: int) -> int:
    """Return the process's pid in the pid namespace `depth` levels further in (NSpid in /proc/PID/status)."""
    for line in (PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[1 + depth])
    raise ProcessLookupError(pid)
