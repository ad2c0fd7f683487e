"""Statistics of interrupts: the test that both parties' risks set, intervals, and a trend.

Interrupts are a Poisson process of rate 1 / MTBF. The formulas are in docs/acceptance.md. The two-party test comes from
MIL-HDBK-781 and IEC 61124, with a fixed length; the intervals belong to a test that ends by time (chi-square).
Durations have any one unit: hours, or node-hours.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

CONFIDENCE = 0.95
# One-sided, where there was no interrupt at all.
CONFIDENCE_OF_NONE = 0.9
# With fewer interrupts the normal approximation says nothing.
LEAST_FOR_TREND = 4
_MOST_INTERRUPTS = 100_000


@dataclass(frozen=True)
class DemonstrationTest:
    """Hold a test of ``length``, in which a machine may have ``allowed`` interrupts, with the risks that it reaches.

    ``buyer_risk``: that a machine of MTBF ``least`` is accepted; ``vendor_risk``: that one of ``promised`` is rejected.
    """

    promised: float
    least: float
    length: float
    allowed: int

    @property
    def document(self) -> dict[str, float]:
        risks = {"buyer_risk": self.buyer_risk, "vendor_risk": self.vendor_risk}
        return {"length": self.length, "allowed": self.allowed, **risks}

    @property
    def buyer_risk(self) -> float:
        return acceptance(self.allowed, self.length, self.least)

    @property
    def vendor_risk(self) -> float:
        return float(special.pdtrc(self.allowed, self.length / self.promised))


def acceptance(allowed: int, length: float, mtbf: float) -> float:
    """Return the probability of at most ``allowed`` interrupts in ``length``: the operating characteristic."""
    return float(special.pdtr(allowed, length / mtbf))


def length_of(allowed: int, least: float, buyer_risk: float) -> float:
    """Return the length in which a machine of MTBF ``least`` has at most ``allowed`` interrupts with ``buyer_risk``."""
    return least * float(special.gammainccinv(allowed + 1, buyer_risk))


def demonstration_test(promised: float, least: float, buyer_risk: float, vendor_risk: float) -> DemonstrationTest:
    """Return the shortest test that keeps both risks.

    The package ``reliability`` steps back one interrupt, which exceeds the vendor's risk; this does not.

    :raises ValueError: it would allow more than 100,000 interrupts.
    """

    def test(allowed: int) -> DemonstrationTest:
        return DemonstrationTest(promised, least, length_of(allowed, least, buyer_risk), allowed)

    # The vendor's risk falls with the interrupts that are allowed.
    counts = range(_MOST_INTERRUPTS + 1)
    allowed = bisect.bisect_left(counts, True, key=lambda count: test(count).vendor_risk <= vendor_risk)
    if allowed > _MOST_INTERRUPTS:
        raise ValueError(f"no test of at most {_MOST_INTERRUPTS:,} interrupts tells {promised:g} from {least:g}")
    return test(allowed)


def fixed_length(length: float, promised: float, least: float, buyer_risk: float) -> DemonstrationTest:
    """Return the test of ``length`` that keeps the buyer's risk, or that allows no interrupt."""
    allowed = 0
    while acceptance(allowed + 1, length, least) <= buyer_risk:
        allowed += 1
    return DemonstrationTest(promised, least, length, allowed)


def promise_kept(test: DemonstrationTest, vendor_risk: float) -> float:
    """Return the MTBF at which ``test`` rejects a machine with just ``vendor_risk``."""
    return test.length / float(special.gammaincinv(test.allowed + 1, vendor_risk))


@dataclass(frozen=True)
class Mean:
    """Hold a mean time between interrupts; ``value`` and ``high`` are ``None`` without an interrupt."""

    value: float | None
    low: float
    high: float | None


def mean_time(exposure: float, count: int) -> Mean:
    """Return the mean time of ``count`` interrupts in ``exposure`` with its interval, for a test that ends by time.

    Without an interrupt: the one-sided bound of 90 %, ``exposure`` / 2.303.
    """
    if not count:
        return Mean(None, exposure / -math.log(1 - CONFIDENCE_OF_NONE), None)
    tail = (1 - CONFIDENCE) / 2
    low = exposure / float(special.gammainccinv(count + 1, tail))
    high = exposure / float(special.gammaincinv(count, tail))
    return Mean(exposure / count, low, high)


def availability_interval(up: float, down: float, outages: int) -> tuple[float, float] | None:
    """Return the interval of up / (up + down), as shares, by the F distribution with 2n and 2n degrees of freedom.

    ``None`` without an outage, or without a time up and down. It takes up- and downtimes for exponential.
    """
    if not outages or down <= 0 or up <= 0:
        return None
    factor = float(special.fdtri(2 * outages, 2 * outages, (1 + CONFIDENCE) / 2))
    return 1 / (1 + down / up * factor), 1 / (1 + down / up / factor)


def laplace_trend(moments: Sequence[float], exposure: float) -> float | None:
    """Return the trend of interrupts at ``moments`` from 0 to ``exposure``: above 0 they come ever faster.

    It is normally distributed without a trend. ``None`` with too few interrupts. Cox and Lewis, The Statistical
    Analysis of Series of Events, 1966.
    """
    count = len(moments)
    if count < LEAST_FOR_TREND or exposure <= 0:
        return None
    return (sum(moments) / count - exposure / 2) / (exposure * math.sqrt(1 / (12 * count)))


def chance_of(trend: float) -> float:
    """Return the probability of a trend as large without a cause."""
    return math.erfc(abs(trend) / math.sqrt(2))
