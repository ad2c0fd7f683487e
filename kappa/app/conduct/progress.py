"""A line on standard error now and then while something takes long, so that nobody waits in silence."""

import pathlib
import re
import sys
from collections.abc import Callable

from kappa.core.ground.figures import duration

# ReFrame counts the cases that have ended: `[       OK ] ( 3/76) Hpl …`.
_ENDED = re.compile(rb"^\[ +[A-Z]+ \] \( *(\d+)/(\d+)\)", re.MULTILINE)


class Progress:
    """Says of ``what`` how long it has taken, and, where it is known, how long it takes: at 5 s, 10 s, 20 s, …, and
    every minute at last; and how far it has come, where ``done`` says so."""

    def __init__(self, what: str, expected_s: float | None = None, done: Callable[[], str] = str) -> None:
        self._what, self._expected_s, self._done, self._next_s = what, expected_s, done, 0.0

    def __call__(self, passed_s: float) -> None:
        if passed_s < self._next_s:
            return
        self._next_s = passed_s + min(passed_s, 60.0)
        left = ""
        if self._expected_s is not None:
            more = self._expected_s - passed_s
            left = (
                f", some {duration(more)} left" if more > 0 else f", longer than the usual {duration(self._expected_s)}"
            )
        done = self._done()
        words = f"{self._what}: {duration(passed_s)}{f', {done}' if done else ''}{left}"
        print(words, file=sys.stderr, flush=True)


def cases_done(printed: pathlib.Path) -> str:
    """How many cases have ended, as ReFrame ``printed``; empty before the first."""
    try:
        ended = _ENDED.findall(printed.read_bytes())
    except OSError:
        return ""
    return f"{int(ended[-1][0])} of {int(ended[-1][1])} cases" if ended else ""
