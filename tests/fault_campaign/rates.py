"""Rates with confidence intervals."""

import math
from dataclasses import dataclass

from scipy.stats import binomtest


@dataclass(frozen=True)
class Rate:
    """``hits`` of ``trials``."""

    hits: int
    trials: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Clopper and Pearson (Biometrika 26, 1934): holds at least the stated confidence for any number of trials."""
        if not self.trials:
            return 0.0, 1.0
        found = binomtest(self.hits, self.trials).proportion_ci(confidence, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        if not self.trials:
            return "–"
        low, high = self.interval()
        return f"{self.hits}/{self.trials} ({100 * low:.0f}–{100 * high:.0f} %)"


def least_trials(rate: float, confidence: float = 0.95) -> int:
    """How many trials without a hit it takes for the interval to end at ``rate`` or below."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-rate))
