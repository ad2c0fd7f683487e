"""Programs that are started, told to end, and ended; and the moment at which this program is told to."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_POLL_S = 0.05
# Longer nobody waits in silence.
TELL_EVERY_S = 5.0
# Is given the seconds that something has taken so far.
Tell = Callable[[float], None]


class StoppedError(Exception):
    """This program was told to stop, or its time is up; the message says which."""


class Stop:
    """Why to stop: empty until a signal has come or the ``deadline`` (seconds since 1970) has passed."""

    def __init__(self, deadline: float | None = None) -> None:
        self._why = ""
        self._deadline = deadline

    @property
    def why(self) -> str:
        if not self._why and self._deadline is not None and time.time() >= self._deadline:
            self._why = "it reached its time limit"
        return self._why

    def check(self) -> None:
        """:raises StoppedError: there is a reason to stop."""
        if self.why:
            raise StoppedError(self.why)

    def told(self, number: int, _frame: FrameType | None = None) -> None:
        self._why = self._why or f"stopped by {signal.Signals(number).name}"


@contextlib.contextmanager
def stopping(deadline: float | None = None) -> Iterator[Stop]:
    """SIGTERM, SIGINT and SIGHUP end nothing by themselves meanwhile: they are a reason to stop."""
    stop = Stop(deadline)
    before = {number: signal.signal(number, stop.told) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def silent(_seconds: float) -> None:
    """Tells nobody."""


def wait(process: "subprocess.Popen[Any]", stop: Stop, patience_s: float, tell: Tell = silent) -> int:
    """Wait until ``process`` has ended, and end it, as ``end`` does, when there is a reason to stop.

    Returns its exit status. ``tell`` is called every few seconds with those that have passed.

    :raises StoppedError: it was ended.
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


def end(process: "subprocess.Popen[Any]", patience_s: float) -> None:
    """Tell ``process`` to end (SIGTERM), and after ``patience_s`` kill it with all that it started.

    It has to have been started with ``start_new_session``.
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
