"""The course of a metric over the last runs, as a line without axes of the size of a word."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import figure

WIDTH, HEIGHT = 56, 14
_MARGIN = 2
LEAST_RUNS = 3
# The line's height is at least this share of the last value, so that noise looks flat.
_LEAST_SPAN = 0.2


@dataclass(frozen=True)
class Sparkline:
    """``path`` is the line, which ends at ``end``, both in pixels; ``title`` has its values, for who cannot see it."""

    path: str
    end: tuple[float, float]
    title: str


def sparkline(values: Sequence[float]) -> Sparkline | None:
    """Draw ``values``, one of each run, oldest first; ``None`` if they are too few for a line."""
    if len(values) < LEAST_RUNS:
        return None
    low, high = min(values), max(values)
    span = max(high - low, _LEAST_SPAN * abs(values[-1])) or 1.0
    middle = (low + high) / 2
    step = (WIDTH - 2 * _MARGIN) / (len(values) - 1)
    points = [
        (
            round(_MARGIN + number * step, 1),
            round(HEIGHT / 2 - (value - middle) / span * (HEIGHT - 2 * _MARGIN), 1),
        )
        for number, value in enumerate(values)
    ]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    told = ", ".join(map(figure, values))
    return Sparkline(path, points[-1], f"{len(values)} runs, this one last: {told}")
