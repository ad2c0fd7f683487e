"""Figures of merit of a series over ranks, from the times per step on the fewest ranks and on more.

Strong scaling keeps the problem (Amdahl), weak scaling lets it grow with the ranks (Gustafson). Ranks count in
multiples of the fewest, which are taken to be used perfectly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kappa.core.record.evidence import Scaling

STRONG, WEAK = "strong", "weak"


@dataclass(frozen=True)
class Base:
    """The fewest ranks of a series, and their time per step."""

    ranks: int
    step_s: float

    def point(self, law: str, series: str, ranks: int, steps_s: Sequence[float]) -> Scaling:
        """What the series has on ``ranks``, of the times per step of each round.

        The speed-up is T0/T of the same problem, and for a problem that grew p-fold p T0/T, which Gustafson calls
        scaled; Karp-Flatt's experimentally determined serial fraction is that of the law: (1/s - 1/p) / (1 - 1/p)
        (Karp and Flatt 1990, (3)), and (p - s) / (p - 1), solved from s = p - e (p - 1) (Gustafson 1988). kappa' is
        what a step takes longer than it would with perfect efficiency.
        """
        times = ranks / self.ranks
        ideal_s = self.step_s / times if law == STRONG else self.step_s
        step_s = median(steps_s)
        efficiency = ideal_s / step_s
        kappas_us = [1e6 * (one - ideal_s) for one in steps_s]
        serial = None if times == 1 else self._serial(law, times, times * efficiency)
        return Scaling(series, ranks, ranks * efficiency, efficiency, serial, median(kappas_us), tuple(kappas_us))

    @staticmethod
    def _serial(law: str, times: float, speedup: float) -> float:
        if law == STRONG:
            return (1 / speedup - 1 / times) / (1 - 1 / times)
        return (times - speedup) / (times - 1)
