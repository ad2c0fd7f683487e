"""The table of scales and placements, from which parameters, tags and required partition features are made.

A site switches a scale on by listing its feature in a partition's ``features``. Without the feature no check uses the
scale.
"""

from dataclasses import dataclass

ONE_NODE, TWO_NODES = "scale_one_node", "scale_two_nodes"
WHOLE_PARTITION, EACH_NODE = "scale_whole_partition", "scale_each_node"
# The job uses the options in the partition's ``placements: {PLACEMENT: [OPTION, ...]}``.
SWITCH_PLACEMENTS = ("same_switch", "other_switch")
# Each rank is on a socket and uses a GPU of this socket, as stated in the partition's ``gpus_of_sockets: [GPU, GPU]``.
GPU_PLACEMENTS = ("gpus_other_socket",)
#: ReFrame's tag of cases that can use any number of nodes of their partition in one job.
MANY_NODES_TAG = "many_nodes"
#: The most nodes of such a job: a larger one waits long on a busy partition, and one bad node re-measures all of it.
MOST_IN_TURN = 64


@dataclass(frozen=True)
class Scale:
    """The number of nodes and ranks of a case.

    ``nodes``: number of nodes, or ``None`` for every node of the partition.
    ``ranks_per_node``: number of ranks on each node, or ``None`` for one rank per core.
    ``feature``: the feature that the partition needs.
    """

    nodes: int | None
    ranks_per_node: int | None
    feature: str

    def layout(self, partition_nodes: int, cores_per_node: int) -> tuple[int, int]:
        """Return nodes and ranks per node on a partition of ``partition_nodes`` nodes with ``cores_per_node`` cores.

        :raises ValueError: the partition has too few nodes.
        """
        nodes = partition_nodes if self.nodes is None else self.nodes
        ranks = cores_per_node if self.ranks_per_node is None else self.ranks_per_node
        if nodes > partition_nodes:
            raise ValueError(
                f"{nodes} nodes needed, but the partition has {partition_nodes}: "
                f"remove the feature {self.feature!r} from the partition in site.yaml"
            )
        return nodes, ranks


SCALES = {
    "one_core": Scale(1, 1, ONE_NODE),
    "one_node": Scale(1, None, ONE_NODE),
    "two_nodes": Scale(2, None, TWO_NODES),
    "whole_partition": Scale(None, None, WHOLE_PARTITION),
    "each_node": Scale(None, 1, EACH_NODE),
}

# Few ranks, within one node or one on each node; a partition lists the features of the rows that it can run.
RANK_COUNTS = {f"{ranks}_ranks": Scale(1, ranks, f"ranks_{ranks}") for ranks in (2, 3, 4)} | {
    f"{nodes}_nodes": Scale(nodes, 1, f"nodes_{nodes}") for nodes in (2, 3, 4)
}

LAYOUTS = SCALES | RANK_COUNTS

# Placement of the two ranks of a point-to-point test.
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
    """Return the scales and placements that a partition of ``nodes`` nodes can run: feature -> reason.

    ``sockets`` and ``numa_domains`` are the numbers per node, 0 if unknown. ``RANK_COUNTS`` and placements on switches
    are a site's choice: they do not follow from the partition's hardware.
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


#: All features that this function can return.
DERIVED_FEATURES = frozenset(derived_features(3, 2, 3))


def shares(nodes: list[str]) -> list[list[str]]:
    """Return ``nodes`` in the fewest jobs of at most ``MOST_IN_TURN`` nodes, whose sizes differ by at most one."""
    jobs = -(-len(nodes) // MOST_IN_TURN)
    return [nodes[number::jobs] for number in range(jobs)]
