"""The one table of scales and placements that drives parameters, tags and required partition features.

A site switches a scale on by listing its feature in a partition's ``features``; removing the feature
removes the scale for every check, and no check needs to change.
"""

from dataclasses import dataclass

ONE_NODE, TWO_NODES = "scale_one_node", "scale_two_nodes"
WHOLE_PARTITION, EACH_NODE = "scale_whole_partition", "scale_each_node"
# Requested with the job options that the site gives in ``extras: {placements: {PLACEMENT: [OPTION, ...]}}``.
SWITCH_PLACEMENTS = ("same_switch", "other_switch")
# Each rank on a socket and on a GPU of it, which the site gives in ``extras: {gpus_of_sockets: [GPU, GPU]}``.
GPU_PLACEMENTS = ("gpus_other_socket",)
#: ReFrame's tag of the cases that take all nodes that they are given: on their partition they can do so.
MANY_NODES_TAG = "many_nodes"
#: A job of more waits long for all of them on a busy partition, and is all measured again for one of them.
MOST_IN_TURN = 64


@dataclass(frozen=True)
class Scale:
    """How many nodes and ranks a check uses.

    ``nodes``: number of nodes, or ``None`` for every node of the partition.
    ``ranks_per_node``: number of ranks on each node, or ``None`` for one rank per core.
    ``feature``: what a partition must offer for it.
    """

    nodes: int | None
    ranks_per_node: int | None
    feature: str

    def layout(self, partition_nodes: int, cores_per_node: int) -> tuple[int, int]:
        """Nodes and ranks per node on a partition of ``partition_nodes`` nodes with ``cores_per_node`` cores each."""
        nodes = partition_nodes if self.nodes is None else self.nodes
        ranks = cores_per_node if self.ranks_per_node is None else self.ranks_per_node
        if nodes > partition_nodes:
            raise ValueError(
                f"{nodes} nodes needed, but the partition has {partition_nodes}: "
                f"remove the feature {self.feature!r} from it in the site's settings"
            )
        return nodes, ranks


SCALES = {
    "one_core": Scale(1, 1, ONE_NODE),
    "one_node": Scale(1, None, ONE_NODE),
    "two_nodes": Scale(2, None, TWO_NODES),
    "whole_partition": Scale(None, None, WHOLE_PARTITION),
    "each_node": Scale(None, 1, EACH_NODE),
}

# Few ranks, within one node and one on each node; a partition lists the feature of each row that it can hold.
RANK_COUNTS = {f"{ranks}_ranks": Scale(1, ranks, f"ranks_{ranks}") for ranks in (2, 3, 4)} | {
    f"{nodes}_nodes": Scale(nodes, 1, f"nodes_{nodes}") for nodes in (2, 3, 4)
}

LAYOUTS = SCALES | RANK_COUNTS

# Where the two ranks of a point-to-point test sit.
PLACEMENTS = {
    "same_node": Scale(1, 2, ONE_NODE),
    "two_nodes": Scale(2, 1, TWO_NODES),
    "same_numa": Scale(1, 2, "placement_same_numa"),
    "other_numa": Scale(1, 2, "placement_other_numa"),
    "other_socket": Scale(1, 2, "placement_other_socket"),
    "gpus_other_socket": Scale(1, 2, "placement_gpus_other_socket"),
    "same_switch": Scale(2, 1, "placement_same_switch"),
    "other_switch": Scale(2, 1, "placement_other_switch"),
}


def derived_features(nodes: int, sockets: int, numa_domains: int) -> dict[str, str]:
    """The scales and placements that a partition of ``nodes`` nodes can run, by feature, each with why.

    ``sockets`` and ``numa_domains`` are those of a node, 0 where they are unknown. Few ranks (``RANK_COUNTS``) and
    switches are a site's choice: neither follows from what a partition has.
    """
    reasons = {
        ONE_NODE: (nodes >= 1, "it has nodes"),
        EACH_NODE: (nodes >= 1, "it has nodes"),
        TWO_NODES: (nodes >= 2, f"it has {nodes} nodes"),
        WHOLE_PARTITION: (nodes >= 3, f"it has {nodes} nodes"),
        PLACEMENTS["same_numa"].feature: (numa_domains >= 1, f"its nodes have {numa_domains} NUMA domains"),
        PLACEMENTS["other_numa"].feature: (
            numa_domains > sockets >= 1, f"its nodes have {numa_domains} NUMA domains in {sockets} sockets",
        ),
        PLACEMENTS["other_socket"].feature: (sockets >= 2, f"its nodes have {sockets} sockets"),
    }  # fmt: skip
    return {feature: why for feature, (can, why) in reasons.items() if can}


#: What follows for some partition.
DERIVED_FEATURES = frozenset(derived_features(3, 2, 3))


def shares(nodes: list[str]) -> list[list[str]]:
    """``nodes`` in as few jobs as that allows, equally large but for one node."""
    jobs = -(-len(nodes) // MOST_IN_TURN)
    return [nodes[number::jobs] for number in range(jobs)]
