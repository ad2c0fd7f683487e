"""The definitions of outages that all clauses of a contract share.

The terms follow docs/acceptance.md. Hours and seconds are part of each name.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kappa.core.ground.node_lists import MAX_NODES, unfolded

_Hours = Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]
_Risk = Annotated[float, Meta(gt=0, lt=0.5, description="a risk above 0 and below 0.5")]
_Of = Literal["system", "nodes"]
_Counts = Literal["vendor", "any"]
_Word = Annotated[
    str, Meta(max_length=80, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]


class OutageTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Definitions of outages.

    ``nodes``: all nodes that the contract covers, as Slurm folds them. The system is down while fewer than
    ``least_nodes`` are usable for ``longer_than_s``. Outages with one cause that begin within ``merge_s`` of the first
    are one interrupt. A scheduled outage has to be agreed ``notice_h`` before it begins. The first ``burn_in_h`` count
    for nothing. A longer silence of the log than ``gap_h`` is *not observed*. ``exclusions`` is a closed list.
    """

    nodes: Annotated[str, Meta(min_length=1, max_length=100_000)]
    least_nodes: Annotated[int, Meta(ge=1, le=MAX_NODES)]
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
        return unfolded(self.nodes, MAX_NODES)
