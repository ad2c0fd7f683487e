"""One step: its whole output goes into a log file and onto the terminal, and no process of it outlives a signal."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO

POLL_S = 0.1
# `kappa validate` gives ReFrame 120 s to cancel its jobs.
PATIENCE_S = 150.0
# Variables that an outer make passes to an inner one, which does not belong to it.
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
_STATUS_IN_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[.*\] Error (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """``environment`` adds variables when the step begins; ``results`` is the JUnit file that the step writes;
    ``excuse`` returns why a failure passes, or nothing."""

    name: str
    command: Sequence[str]
    environment: Callable[[], Mapping[str, str]] = dict
    results: pathlib.Path | None = None
    excuse: Callable[[], str] = str


@dataclass(frozen=True)
class Outcome:
    """``status`` is negative after a signal, as in ``subprocess``; ``note`` says more of it."""

    step: Step
    log: pathlib.Path
    seconds: float
    status: int
    note: str = ""
    stopped: bool = False

    @property
    def passed(self) -> bool:
        return self.status == 0 and not self.stopped


class Stop:
    """The number of the first signal that has told this program to end; 0 until then."""

    def __init__(self) -> None:
        self.signal, self.count = 0, 0

    def told(self, number: int, _frame: FrameType | None) -> None:
        self.signal, self.count = self.signal or number, self.count + 1

    @property
    def name(self) -> str:
        return signal.Signals(self.signal).name


@contextlib.contextmanager
def stopping() -> Iterator[Stop]:
    """SIGTERM, SIGINT and SIGHUP are noted meanwhile, and end nothing by themselves."""
    stop = Stop()
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, stop.told) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(step: Step, folder: pathlib.Path, stop: Stop) -> Outcome:
    """Run ``step`` until it ends or ``stop`` is told; its log lies in ``folder``."""
    log = folder / f"{step.name}.log"
    if step.results:
        step.results.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    began = time.monotonic()
    # A file and no pipe: a program that the step leaves behind would keep a pipe open.
    with log.open("wb") as output, log.open("rb") as written:
        process = subprocess.Popen(
            step.command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env={**environment, **step.environment()}, start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None and not stop.signal:
                _show(written)
                time.sleep(POLL_S)
            stopped = process.poll() is None
            if stopped:
                # At once: who sent the signal may not wait until the processes have ended.
                seconds = time.monotonic() - began
                print(f"\n{stop.name} in step {step.name}, after {seconds:.0f} s: ending it", flush=True)
            else:
                _show(written)
        finally:
            end(process, stop)
    seconds = time.monotonic() - began
    if stopped:
        return Outcome(step, log, seconds, process.returncode, f"ended by {stop.name}", stopped=True)
    if process.returncode and (excuse := step.excuse()):
        return Outcome(step, log, seconds, 0, excuse)
    return Outcome(step, log, seconds, *_status(process.returncode, log))


def _show(written: BinaryIO) -> None:
    if new := written.read():
        sys.stdout.buffer.write(new)
        sys.stdout.buffer.flush()


def _status(status: int, log: pathlib.Path) -> tuple[int, str]:
    """Return ``status`` in words, with the status of the program that ``make`` ran: make's own is always 2."""
    found = _STATUS_IN_MAKE.search(_end_of(log)) if status == 2 else None
    return status, f"status {found[1]}, make's {status}" if found else f"status {status}" if status else ""


def _end_of(log: pathlib.Path, size: int = 65536) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode("utf-8", "replace")


def last_lines(log: pathlib.Path, number: int) -> list[str]:
    return [line for line in _end_of(log).splitlines() if line.strip()][-number:]


def end(process: "subprocess.Popen[bytes]", stop: Stop) -> None:
    """End ``process`` and its group: first as Ctrl-C does, so that tests tear down; late or told twice, by SIGKILL."""
    if process.poll() is None:
        _signal(process, signal.SIGINT)
        deadline = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline and stop.count < 2:
            time.sleep(POLL_S)
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
