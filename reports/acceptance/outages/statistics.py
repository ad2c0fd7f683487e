"""Statistics of interrupts: the test that both parties' risks set, intervals, and a trend.

Interrupts are a Poisson process of rate 1 / MTBF. The formulas are in docs/acceptance.md. The two-party test comes from
MIL-HDBK-781 and IEC 61124, with a fixed length; the intervals belong to a test that ends by time (chi-square).
Durations have any one unit: hours, or node-hours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

CONFIDENCE = 0.95
# One-sided, where there was no interrupt at all.
CONFIDENCE_OF_NONE = 0.9
# A normal approximation; with fewer interrupts it says nothing.
LEAST_FOR_TREND = 4
_MOST_INTERRUPTS = 100_000
DAY_H = 24.0


class RisksError(ValueError):
    """No test of a usable length keeps both risks."""


@dataclass(frozen=True)
class DemonstrationTest:
    """A test of ``length``, in which a machine may have ``allowed`` interrupts; the risks are those it reaches.

    ``buyer_risk``: that a machine of MTBF ``least`` is accepted; ``vendor_risk``: that one of ``promised`` is rejected.
    """

    promised: float
    least: float
    length: float
    allowed: int
    buyer_risk: float
    vendor_risk: float

    def accepts(self, mtbf: float) -> float:
        """The probability that a machine of this MTBF is accepted: the operating characteristic."""
        return acceptance(self.allowed, self.length, mtbf)


def acceptance(allowed: int, length: float, mtbf: float) -> float:
    """The probability of at most ``allowed`` interrupts in ``length``."""
    return float(special.pdtr(allowed, length / mtbf))


def length_of(allowed: int, least: float, buyer_risk: float) -> float:
    """The length in which a machine of MTBF ``least`` has at most ``allowed`` interrupts with just ``buyer_risk``."""
    return least * float(special.gammainccinv(allowed + 1, buyer_risk))


def demonstration_test(promised: float, least: float, buyer_risk: float, vendor_risk: float) -> DemonstrationTest:
    """The shortest test that keeps both risks.

    The package ``reliability`` steps back one interrupt, which exceeds the vendor's risk; this does not.

    :raises RisksError: it would allow more than 100,000 interrupts.
    """

    def risk_of_vendor(allowed: int) -> float:
        return float(special.pdtrc(allowed, length_of(allowed, least, buyer_risk) / promised))

    # The vendor's risk falls with the interrupts that are allowed: find the first that keeps it by bisection.
    low, high = -1, 1
    while risk_of_vendor(high) > vendor_risk:
        low, high = high, 2 * high
        if high > _MOST_INTERRUPTS:
            raise RisksError(f"no test of at most {_MOST_INTERRUPTS:,} interrupts tells {promised:g} from {least:g}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if risk_of_vendor(middle) <= vendor_risk else (middle, high)
    length = length_of(high, least, buyer_risk)
    return DemonstrationTest(promised, least, length, high, acceptance(high, length, least), risk_of_vendor(high))


def interrupts_at(allowed: int, vendor_risk: float) -> float:
    """The mean number of interrupts at which more than ``allowed`` have just the probability ``vendor_risk``."""
    return float(special.gammaincinv(allowed + 1, vendor_risk))


@dataclass(frozen=True)
class FixedLength:
    """A test of a given length that keeps the buyer's risk.

    ``allowed``: the most interrupts, or -1 if even none would exceed the buyer's risk. Then ``shows`` is the largest
    MTBF that a test without an interrupt demonstrates. ``vendor_risk``: the vendor's risk for ``promised``. A promise
    of ``promise_kept`` would keep the vendor's own risk.
    """

    length: float
    allowed: int
    buyer_risk: float
    vendor_risk: float
    promise_kept: float
    shows: float

    @property
    def possible(self) -> bool:
        return self.allowed >= 0


def fixed_length(length: float, promised: float, least: float, buyer_risk: float, vendor_risk: float) -> FixedLength:
    """A test of ``length`` that keeps the buyer's risk, and what it costs the vendor."""
    allowed = -1
    while acceptance(allowed + 1, length, least) <= buyer_risk:
        allowed += 1
    shows = length / float(special.gammainccinv(max(allowed, 0) + 1, buyer_risk))
    if allowed < 0:
        return FixedLength(length, -1, 0.0, 1.0, math.inf, shows)
    return FixedLength(
        length,
        allowed,
        acceptance(allowed, length, least),
        1 - acceptance(allowed, length, promised),
        length / interrupts_at(allowed, vendor_risk),
        shows,
    )


@dataclass(frozen=True)
class Mean:
    """A mean time between interrupts; ``value`` is ``None`` without an interrupt, ``high`` is infinite then."""

    value: float | None
    low: float
    high: float
    confidence: float


def mean_time(exposure: float, count: int) -> Mean:
    """The mean time of ``count`` interrupts in ``exposure`` with its chi-square interval, for a test that ends by time.

    Without an interrupt: the one-sided bound of 90 %, ``exposure`` / 2.303.
    """
    if not count:
        low = exposure / -math.log(1 - CONFIDENCE_OF_NONE)
        return Mean(None, low, math.inf, CONFIDENCE_OF_NONE)
    tail = (1 - CONFIDENCE) / 2
    low = exposure / float(special.gammainccinv(count + 1, tail))
    high = exposure / float(special.gammaincinv(count, tail))
    return Mean(exposure / count, low, high, CONFIDENCE)


def availability_interval(up: float, down: float, outages: int) -> tuple[float, float] | None:
    """The interval of up / (up + down), as shares, by the F distribution with 2n and 2n degrees of freedom.

    ``None`` without an outage, or without a time up and down. It takes up- and downtimes for exponential.
    """
    if not outages or down <= 0 or up <= 0:
        return None
    factor = float(special.fdtri(2 * outages, 2 * outages, (1 + CONFIDENCE) / 2))
    return 1 / (1 + down / up * factor), 1 / (1 + down / up / factor)


@dataclass(frozen=True)
class RateTrend:
    """Laplace's ``score``: above 0 interrupts come ever faster; ``chance`` of one as large without a trend."""

    score: float
    chance: float

    @property
    def significant(self) -> bool:
        return self.chance < 1 - CONFIDENCE


def laplace_trend(moments: Sequence[float], exposure: float) -> RateTrend | None:
    """Trend of interrupts at ``moments`` from 0 to ``exposure``; ``None`` with fewer than ``LEAST_FOR_TREND``.

    Cox and Lewis, The Statistical Analysis of Series of Events, 1966.
    """
    count = len(moments)
    if count < LEAST_FOR_TREND or exposure <= 0:
        return None
    score = (sum(moments) / count - exposure / 2) / (exposure * math.sqrt(1 / (12 * count)))
    return RateTrend(score, math.erfc(abs(score) / math.sqrt(2)))
