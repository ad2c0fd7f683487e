"""The definitions of outages that all clauses of a contract share: ``contract.observation``."""

from typing import Annotated

from msgspec import Meta, Struct

from kappa.core.ground.node_lists import MAX_NODES, expand_nodes

Exclusion = Annotated[
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
    exclusions: Annotated[tuple[Exclusion, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if self.least_nodes > len(self.node_names):
            raise ValueError(f"expected least_nodes of at most the {len(self.node_names)} nodes")

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes.

        :raises ValueError: ``nodes`` is no list of nodes.
        """
        return tuple(expand_nodes(self.nodes))
