"""A cluster of eight nodes, a rule, and evidence against a node."""

from typing import Any

from kappa.core.record.actions import Action, Evidence
from kappa.core.vocabulary.rules import QuarantineRule
from reports.quarantine.decide import NodeNow

NOW = 1_795_362_000.0
HOUR_S, DAY_S = 3600.0, 86_400.0
RULE = QuarantineRule(
    drain=["scontrol", "update", "NodeName={node}", "State=DRAIN", "Reason={reason}"],
    resume=["scontrol", "update", "NodeName={node}", "State=RESUME"],
    evidence=["node-bound", "confirmed", "facts"],
)


def proof(kind: str = "confirmed", check: str = "NodeLinks", text: str = "23 MB/s, allowed ≥ 100") -> Evidence:
    return Evidence(kind, check, f"{check} %scale=each_node on cpu+system", "cpu", text)


def named(*nodes: str) -> dict[str, tuple[Evidence, ...]]:
    return {node: (proof(),) for node in nodes}


def cluster(size: int = 8, partition: str = "cpu", **changed: NodeNow) -> dict[str, NodeNow]:
    """node1 … of one partition, all idle but those that are ``changed``."""
    names = (f"node{number}" for number in range(1, size + 1))
    return {name: NodeNow(name, frozenset({partition}), "idle", usable=True) for name in names} | changed


def drained(name: str, reason: str, *partitions: str) -> NodeNow:
    return NodeNow(name, frozenset(partitions or ("cpu",)), "drained", usable=False, reason=reason)


def action(node: str, **changes: Any) -> Action:
    values: dict[str, Any] = {
        "what": "drain", "node": node, "time": NOW - DAY_S, "outcome": "done", "until": NOW + DAY_S,
        "evidence": (proof(),),
    }  # fmt: skip
    return Action(**{**values, **changes})
