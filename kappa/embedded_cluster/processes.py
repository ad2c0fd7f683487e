"""Processes named so that a reused pid is never taken for the process meant."""

import dataclasses
import functools
import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kappa.embedded_cluster.layout import write_whole

PROC = Path("/proc")
EXITING = 0x4  # PF_EXITING of the flags in proc_pid_stat(5): on its way out, without namespaces any more


@functools.cache
def boot_id() -> str:
    """The kernel's identifier of this boot: start times repeat after a reboot, this does not."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _stat_fields(pid: int) -> list[str] | None:
    """Fields 3 and on of /proc/PID/stat (proc(5)), or None when there is no such process."""
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
        """The process that has this pid now; None when there is none or it is ending or a zombie."""
        fields = _stat_fields(pid)
        if fields is None or fields[0] in "ZX" or int(fields[6]) & EXITING:
            return None
        return cls(pid, int(fields[19]), boot_id())

    @classmethod
    def read(cls, path: Path) -> "ProcessId | None":
        """The process named by a pid file, alive or not; None for a missing or damaged file."""
        try:
            pid, start_ticks, boot = path.read_text().split()
            return cls(int(pid), int(start_ticks), boot)
        except (FileNotFoundError, ValueError):
            return None

    def write(self, path: Path) -> None:
        write_whole(path, f"{self.pid} {self.start_ticks} {self.boot}\n")

    def alive(self) -> bool:
        """Whether the process still runs; False for one that is ending."""
        return ProcessId.of(self.pid) == self

    def _holds_pid(self) -> bool:
        """Whether the pid is still this process's, running or ending."""
        fields = _stat_fields(self.pid)
        return fields is not None and int(fields[19]) == self.start_ticks and boot_id() == self.boot

    def send(self, signal_number: signal.Signals) -> None:
        """Signal this process and no other; nothing happens when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The handle keeps naming one process; the check after opening says that it is the right one.
            if self._holds_pid():
                signal.pidfd_send_signal(handle, signal_number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)

    def wait_gone(self, timeout_s: float) -> bool:
        """Wait until the process has ended altogether; False when it still runs after `timeout_s`."""
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
    """Name of the process's program as the kernel keeps it (at most 15 characters); empty when it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def child_pids(pid: int) -> list[int]:
    return [other for other in _all_pids() if parent_pid(other) == pid]


def argument_list(pid: int) -> list[str]:
    """The process's command line; empty when it is gone or a kernel thread."""
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return []


def find_by_arguments(matches: Callable[[list[str]], bool]) -> ProcessId | None:
    """The first live process whose command line `matches`."""
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
    """Inode number that identifies the process's UTS namespace, of which each place has one, also where processes are
    shared; None when it is gone or not ours to see."""
    try:
        return os.stat(PROC / str(pid) / "ns/uts").st_ino
    except OSError:
        return None


@dataclasses.dataclass(frozen=True)
class MemberProcess:
    """A process of the cluster and the namespace (login or node name) it lives in."""

    process: ProcessId
    place: str
    name: str


def members(inits: Mapping[str, ProcessId]) -> list[MemberProcess]:
    """Every process in the places, whose first processes are given."""
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
    """The process's share of memory, PSS in proc(5): shared pages are divided among their users."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def pid_inside(pid: int, depth: int) -> int:
    """The process's pid `depth` pid namespaces further in (line NSpid of /proc/PID/status)."""
    for line in (PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[1 + depth])
    raise ProcessLookupError(pid)
