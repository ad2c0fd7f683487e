"""A line on standard error now and then while something takes long, so that nobody waits in silence."""

import sys

from kappa.ground.figures import duration


class Progress:
    """Says of ``what`` how long it has taken, and, where it is known, how long it takes: at 5 s, 10 s, 20 s, …, and
    every minute at last."""

    def __init__(self, what: str, expected_s: float | None = None) -> None:
        self._what, self._expected_s, self._next_s = what, expected_s, 0.0

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
        print(f"{self._what}: {duration(passed_s)}{left}", file=sys.stderr, flush=True)
