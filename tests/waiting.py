"""Wait for other processes: until a condition holds, never for a fixed time, and never with a single look."""

import time
import types
from collections.abc import Callable
from typing import TypeVar

import pytest

# Ends a test that hangs. A condition normally takes seconds, and many times as long on a busy machine.
PATIENCE_S = 300

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, timeout_s: float = PATIENCE_S, poll_s: float = 0.05) -> Found:
    """Return the result of ``condition`` as soon as it is true.

    :raises AssertionError: it was not within ``timeout_s``; the message says ``what`` was waited for and what was seen.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain until {what}; seen last: {found!r}")
        time.sleep(poll_s)
    return found


def late_when(condition: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour passes, for what waits for a program or for a deadline, at the moment when ``condition`` is true."""
    clock = types.SimpleNamespace(sleep=time.sleep, monotonic=lambda: time.monotonic() + 3600 * bool(condition()))
    monkeypatch.setattr("kappa.core.ground.processes.time", clock)
