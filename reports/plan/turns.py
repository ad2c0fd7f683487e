"""What single nodes in their turn take on top of a night's mode: every check of one node, a few times on each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.plan.plan import Plan


@dataclass(frozen=True)
class Turns:
    """``nodes``: how many of each partition; ``plan`` holds each case as often as it runs."""

    nodes: Mapping[str, int]
    repeats: int
    plan: Plan


def partitions_of(planned: Plan) -> dict[str, int]:
    """Partitions on which a case of one node runs -> their number of nodes."""
    return {one.case.series.partition: one.case.partition_nodes for one in planned.cases if one.case.of_one_node}


def turns_of(planned: Plan, nodes: Mapping[str, int], repeats: int) -> Turns:
    """The turns of a night whose mode is ``planned``: a node takes for a case what any node of its partition does."""
    times = {partition: repeats * count for partition, count in nodes.items()}
    cases = [
        one
        for one in planned.cases
        if one.case.of_one_node
        for _ in range(times.get(one.case.series.partition, 0))
    ]
    return Turns(nodes, repeats, Plan(tuple(cases)))


def to_document(turns: Turns) -> dict[str, Any]:
    """For machines: seconds, node-hours, bytes."""
    return {
        "nodes": dict(turns.nodes),
        "repeats": turns.repeats,
        "cases": len(turns.plan.cases),
        "seconds": turns.plan.seconds,
        "node_hours": turns.plan.node_hours,
        "written_bytes": turns.plan.written_bytes,
        "most_bytes": turns.plan.most_bytes,
    }
