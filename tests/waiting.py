"""Waiting for what other processes do: for a condition, never for a time, and never with one look."""

import time
from collections.abc import Callable
from typing import TypeVar

# Ends a test that hangs. What is waited for takes seconds, and many times as long on a machine with other work.
PATIENCE_S = 300

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, timeout_s: float = PATIENCE_S, poll_s: float = 0.05) -> Found:
    """What ``condition`` returns as soon as that is true.

    :raises AssertionError: it was not within ``timeout_s``; the message says ``what`` was waited for and what was seen.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain until {what}; seen last: {found!r}")
        time.sleep(poll_s)
    return found
