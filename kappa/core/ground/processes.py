"""Start, stop and end programs; the user of this program, and the load of the machine."""

import contextlib
import ctypes
import os
import pathlib
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_POLL_S = 0.05
_PR_SET_PDEATHSIG = 1
# Longest time without a progress line, in seconds.
TELL_EVERY_S = 5.0
# A function that gets the elapsed time in seconds.
Tell = Callable[[float], None]
STAT = pathlib.Path("/proc/stat")


class StoppedError(Exception):
    """This program got a signal, or reached its time limit; the message says which."""


class Stop:
    """The reason to stop: empty until a signal arrives or the ``deadline`` (of ``time.monotonic``) passes."""

    def __init__(self, deadline: float | None = None) -> None:
        self._why = ""
        self._deadline = deadline

    @property
    def why(self) -> str:
        if not self._why and self._deadline is not None and time.monotonic() >= self._deadline:
            self._why = "it reached its time limit"
        return self._why

    def check(self) -> None:
        """Raise an error if there is a reason to stop.

        :raises StoppedError: there is one.
        """
        if self.why:
            raise StoppedError(self.why)

    def told(self, number: int, _frame: FrameType | None = None) -> None:
        self._why = self._why or f"stopped by {signal.Signals(number).name}"


@contextlib.contextmanager
def stopping(deadline: float | None = None) -> Iterator[Stop]:
    """Turn SIGTERM, SIGINT and SIGHUP into a reason to stop; within the context they do not end the program."""
    stop = Stop(deadline)
    before = {number: signal.signal(number, stop.told) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def silent(_seconds: float) -> None:
    """Print nothing."""


def wait(process: "subprocess.Popen[Any]", stop: Stop, patience_s: float, tell: Tell = silent) -> int:
    """Wait until ``process`` has ended and return its exit status. End it, like ``end``, if there is a reason to stop.

    ``tell`` is called every few seconds with the elapsed time in seconds.

    :raises StoppedError: the process was ended.
    """
    began, told = time.monotonic(), 1
    try:
        while process.poll() is None:
            stop.check()
            time.sleep(_POLL_S)
            if time.monotonic() - began >= told * TELL_EVERY_S:
                tell(time.monotonic() - began)
                told += 1
    finally:
        end(process, patience_s)
    return process.returncode


def ask(
    command: Sequence[str],
    environment: Mapping[str, str],
    patience_s: float,
    given: str | None = None,
    end_s: float = 1.0,
) -> tuple[str, str, int]:
    """Run a command without a shell. Return its standard output, its standard error and its exit status.

    :param given: its standard input.
    :param end_s: the time after SIGTERM before it is killed, in seconds.

    :raises OSError: it cannot be started.
    :raises subprocess.TimeoutExpired: it did not end within ``patience_s``; it was ended.
    """
    child = subprocess.Popen(
        command, env=dict(environment), stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    with child:
        try:
            output, problem = child.communicate(given, timeout=patience_s)
        finally:
            end(child, end_s)
    return output, problem, child.returncode


def end(process: "subprocess.Popen[Any]", patience_s: float) -> None:
    """Send SIGTERM to ``process``, and after ``patience_s`` kill it and all processes that it started.

    The process must have been started with ``start_new_session``.
    """
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_with_parent() -> None:
    """Let the kernel send SIGTERM to this process when its parent ends (prctl(2)); for ``preexec_fn`` of Popen."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def user_name() -> str:
    """Return the user's name, or the user ID if there is no name. Do not use the environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def busy_seconds(stat: str, cores: set[int], ticks_per_s: int) -> float:
    """Return how long ``cores`` were busy, or taken by a hypervisor, since the machine started, in seconds.

    :param stat: the text of ``/proc/stat`` (proc(5)): user, nice and system time are fields 1 to 3, steal is 8.
    """
    rows = [line.split() for line in stat.splitlines()]
    mine = [row for row in rows if row and row[0] in {f"cpu{core}" for core in cores}]
    return sum(int(row[field]) for row in mine for field in (1, 2, 3, 8)) / ticks_per_s


class BusyCores:
    """Measure how many of this process' allowed cores were busy since the last call, with any program."""

    def __init__(self) -> None:
        self._at_s, self._busy_s = time.monotonic(), self._read()

    def since_last(self) -> float:
        at_s, busy_s = time.monotonic(), self._read()
        passed_s, used_s = at_s - self._at_s, busy_s - self._busy_s
        self._at_s, self._busy_s = at_s, busy_s
        return used_s / passed_s if passed_s > 0 else 0.0

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0))

    @staticmethod
    def _read() -> float:
        text = STAT.read_text(encoding="ascii")
        return busy_seconds(text, os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK"))
