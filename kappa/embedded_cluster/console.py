"""Errors, progress lines on standard error, deadlines, and the last lines of log files."""

import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

_LOG_LINES_SHOWN = 12


class ClusterError(Exception):
    """An error whose message says what failed, where, and what to do."""


class ConsoleProgress:
    """Print lines such as ``cluster: [  1.3 s] slurmctld (0.4 s)``: time since the start, then of the step."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def say(self, text: str) -> None:
        print(f"cluster: [{time.monotonic() - self._started:5.1f} s] {text}", file=sys.stderr, flush=True)

    def step(self, text: str, since: float) -> None:
        """Report a finished step that began at time.monotonic() `since`."""
        self.say(f"{text} ({time.monotonic() - since:.1f} s)")


class Deadline:
    """The time at which waiting ends."""

    def __init__(self, timeout_s: float) -> None:
        self._end = time.monotonic() + timeout_s
        self.timeout_s = timeout_s

    def remaining_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def poll(self, ready: Callable[[], bool], interval_s: float = 0.03) -> bool:
        """Wait until `ready()` is true. Return False if the time is up."""
        while not ready():
            if self.remaining_s() == 0:
                return False
            time.sleep(interval_s)
        return True


def log_tail(path: Path) -> str:
    """Return the last lines of a log, indented, with its path, or a note that it is empty."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            lines = deque((line.rstrip("\n") for line in stream), maxlen=_LOG_LINES_SHOWN)
    except FileNotFoundError:
        lines = deque()
    if not lines:
        return f"  (the log {path} is empty)"
    return "\n".join([f"  last lines of {path}:", *(f"  | {line}" for line in lines)])


def failure(what: str, log: Path) -> ClusterError:
    return ClusterError(f"{what}\n{log_tail(log)}")
