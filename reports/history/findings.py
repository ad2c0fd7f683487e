"""What is found in a series: that it is quiet, too thin, or changed, and in which way."""

from dataclasses import dataclass, replace
from enum import Enum

# Smaller changes than this share of the level are of no consequence, however sure.
MIN_CHANGE = 0.02


class Kind(Enum):
    QUIET = "quiet"
    THIN = "too few values"
    BIMODAL = "noise with two levels"
    OUTLIER = "newest value stands out"
    STEP = "step"
    DRIFT = "drift"
    ODD = "differs from its equals"


@dataclass(frozen=True)
class Finding:
    """``at`` is the index of the first value after the change (of a drift: where it begins).

    ``z`` is the newest value's robust z-score against the earlier ones of the same level as the judgement used;
    ``points`` are all indices at which the level changed.
    """

    kind: Kind
    before: float
    after: float
    z: float
    at: int
    points: tuple[int, ...] = ()

    def later(self, values: int) -> "Finding":
        """The same of a series that has so many values before."""
        return replace(self, at=self.at + values)

    @property
    def change(self) -> float:
        """Relative change; absolute when the level was 0."""
        return (self.after - self.before) / (abs(self.before) or 1.0)

    @property
    def changed(self) -> bool:
        return self.kind in (Kind.OUTLIER, Kind.STEP, Kind.DRIFT, Kind.ODD)

    @property
    def matters(self) -> bool:
        return abs(self.change) >= MIN_CHANGE

    def worse(self, sign: int) -> bool:
        return self.changed and (sign == 0 or self.change * sign > 0)
