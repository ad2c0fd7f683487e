"""Clauses of a contract about outages: reliability, availability, and the definitions that both share.

The terms follow docs/acceptance.md. Hours and seconds are part of each name.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kappa.core.ground.figures import figure
from kappa.core.ground.node_lists import unfolded

_Hours = Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]
_Risk = Annotated[float, Meta(gt=0, lt=0.5, description="a risk above 0 and below 0.5")]
_Of = Literal["system", "nodes"]
_Counts = Literal["vendor", "any"]
_Word = Annotated[
    str, Meta(max_length=80, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
MOST_NODES = 100_000


class OutageTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Definitions of outages.

    ``nodes``: all nodes that the contract covers, as Slurm folds them. The system is down while fewer than
    ``least_nodes`` are usable for ``longer_than_s``. Outages with one cause that begin within ``merge_s`` of the first
    are one interrupt. A scheduled outage has to be agreed ``notice_h`` before it begins. The first ``burn_in_h`` count
    for nothing. A longer silence of the log than ``gap_h`` is *not observed*. ``exclusions`` is a closed list.
    """

    nodes: Annotated[str, Meta(min_length=1, max_length=100_000)]
    least_nodes: Annotated[int, Meta(ge=1, le=MOST_NODES)]
    longer_than_s: Annotated[int, Meta(ge=0, le=86_400)] = 300
    merge_s: Annotated[int, Meta(ge=0, le=7 * 86_400)] = 3600
    notice_h: Annotated[float, Meta(ge=0, le=8760)] = 48.0
    burn_in_h: Annotated[float, Meta(ge=0, le=87_600)] = 0.0
    gap_h: Annotated[float, Meta(gt=0, le=8760)] = 26.0
    exclusions: Annotated[tuple[_Word, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if self.least_nodes > len(self.node_names):
            raise ValueError(f"expected least_nodes of at most the {len(self.node_names)} nodes")

    @property
    def node_names(self) -> tuple[str, ...]:
        """:raises ValueError: ``nodes`` is no list of nodes."""
        return unfolded(self.nodes, MOST_NODES)


class Reliability(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A test of the mean time between failures (MTBF) of the system, or of nodes in node-hours.

    ``promised_h``: a machine this good is rejected with at most ``vendor_risk``. ``least_h``: a machine this bad is
    accepted with at most ``buyer_risk``. ``counts``: interrupts attributed to the vendor, or of any attribution.
    """

    of: _Of
    promised_h: _Hours
    least_h: _Hours
    buyer_risk: _Risk
    vendor_risk: _Risk
    counts: _Counts = "vendor"

    def __post_init__(self) -> None:
        if self.promised_h < 1.05 * self.least_h:
            raise ValueError("expected promised_h of at least 1.05 x least_h: a test of nearer values takes too long")

    @property
    def title(self) -> str:
        return f"test of the MTBF of the {self.of}"

    @property
    def unit(self) -> str:
        return "h" if self.of == "system" else "node-h"

    @property
    def least(self) -> float:
        return self.least_h

    @property
    def requirement(self) -> str:
        return f"≥ {figure(self.least_h)} {self.unit}, promised {figure(self.promised_h)} {self.unit}"


class Availability(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The share of ``period_h``, less scheduled outages and exclusions, without unscheduled downtime.

    ``least`` in per cent; ``counts`` as in ``Reliability``.
    """

    of: _Of
    least: Annotated[float, Meta(gt=0, le=100, description="per cent, above 0 and at most 100")]
    period_h: _Hours
    counts: _Counts = "any"

    @property
    def title(self) -> str:
        return f"availability of the {self.of}"

    @property
    def unit(self) -> str:
        return "%"

    @property
    def requirement(self) -> str:
        return f"≥ {figure(self.least)} % of {figure(self.period_h)} h"
