"""Runs the stages of a night and ends them in time: a stage that is told to end records what it has."""

import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO

# A stage that was told to end cancels its jobs and writes its report; then it is killed.
ENDING_S = 60.0
_POLL_S = 0.2


class Stages:
    """``cut`` is empty until the deadline (seconds since 1970) or a signal ended a stage; then no stage starts.

    A stage holds ``lock``, a file descriptor, until it ends, whatever becomes of this process.
    """

    def __init__(self, deadline: float, log: IO[str], lock: int) -> None:
        self.cut = ""
        self._deadline = deadline
        self._log = log
        self._lock = lock
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told)

    def _told(self, number: int, _frame: object) -> None:
        self.cut = self.cut or f"stopped by {signal.Signals(number).name}"

    def run(self, command: Sequence[str | pathlib.Path], folder: pathlib.Path, environment: dict[str, str]) -> bool:
        """Run ``command``; whether it came to its end."""
        if self._over():
            return False
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=subprocess.STDOUT, start_new_session=True, pass_fds=[self._lock],
        )  # fmt: skip
        while process.poll() is None:
            if self._over():
                self._end(process)
                return False
            time.sleep(_POLL_S)
        return True

    def _over(self) -> bool:
        if not self.cut and time.time() >= self._deadline:
            self.cut = "it reached its time limit"
        return bool(self.cut)

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
