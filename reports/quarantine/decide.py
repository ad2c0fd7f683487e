"""Apply the site's quarantine rule to nodes that findings name: drain a few, or state the reason against it."""

import datetime
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import counted
from kappa.core.record.actions import Action, Evidence, Outcome
from kappa.core.vocabulary.node_states import condition
from kappa.core.vocabulary.rules import QuarantineRule

LINE_LIMIT = 400
_WORDS = {
    ("drain", "begun"): "to be drained",
    ("drain", "done"): "drained",
    ("drain", "declined"): "stays in service",
    ("drain", "failed"): "could not be drained",
    ("keep", "begun"): "to be drained again",
    ("keep", "done"): "drained again",
    ("keep", "declined"): "not drained again",
    ("keep", "failed"): "could not be drained again",
    ("return", "begun"): "to be tested",
    ("return", "done"): "resumed after it passed its test",
    ("return", "declined"): "not resumed",
    ("return", "failed"): "could not be resumed",
    ("release", "begun"): "to be resumed",
    ("release", "done"): "resumed without a test",
    ("release", "declined"): "its quarantine has ended",
    ("release", "failed"): "could not be resumed",
}
# Slurm sets these reasons itself and removes them when the node answers again.
_OF_SLURM = ("Not responding", "Node unexpectedly rebooted")
DAY_S = 86_400.0
# Two nights start further apart than this. A night that starts again after a crash is nearer.
NIGHT_S = DAY_S / 2
REASON_LIMIT = 160
# Slurm's listings are read on terminals with ASCII only.
_PLAIN = str.maketrans({"≥": ">=", "≤": "<=", "−": "-", "×": "x", "…": "..."})


def told(action: Action) -> str:
    """Return an action in words, for instance ``node2: drained until 2026-11-29 02:10: NodeSweep …``."""
    until = f" until {moment(action.until)}" if action.until and action.outcome != "declined" else ""
    evidence = "; ".join(f"{one.case}: {one.text}" for one in action.evidence[:2] if action.quarantines)
    why = shlex.join(action.command) if action.outcome == "begun" else action.said or evidence
    return one_line(f"{action.node}: {_WORDS[action.what, action.outcome]}{until}: {why}".rstrip(": "), LINE_LIMIT)


def moment(seconds: float) -> str:
    """Return a time in seconds since 1970 as local time, because operators read local clocks."""
    return f"{datetime.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


@dataclass(frozen=True)
class NodeNow:
    """Describe a node's state in Slurm; ``reason`` may be empty.

    ``usable``: the node is in service; ``reserved``: a reservation holds it.
    """

    name: str
    partitions: frozenset[str]
    state: str
    usable: bool
    reserved: bool = False
    responds: bool = True
    reason: str = ""

    @property
    def drained(self) -> bool:
        return condition(self.state).drained

    @property
    def others_matter(self) -> bool:
        """Return whether somebody else drained the node or set its reason, and so decides about it."""
        return self.drained or self.reason not in ("", *_OF_SLURM)

    def __str__(self) -> str:
        return f"{self.name} is {self.state}" + (f", for the reason {self.reason!r}" if self.reason else "")


def held_nodes(cluster: Mapping[str, NodeNow], actions: Sequence[Action]) -> dict[str, Action]:
    """Return the nodes in quarantine with the action that drained each: Slurm has it drained for that action's reason.

    Other nodes are left out: drained by somebody else, drained by Kappa from other results, or resumed since.
    """
    return {
        action.node: action
        for action in actions
        if action.quarantines
        and (node := cluster.get(action.node))
        and node.drained
        and node.reason.startswith(action.mark)
    }


def is_due(held: Action, now: float) -> bool:
    """Return whether a quarantine has ended at ``now``, in seconds since 1970."""
    return held.until is not None and now >= held.until


def interrupted_tests(actions: Iterable[Action]) -> list[Action]:
    """Return the tests with a recorded start and no result: their conductor was killed, or is still running."""
    last = {action.node: action for action in actions if action.what == "return"}
    return [action for action in last.values() if action.outcome == "begun"]


Cluster = Mapping[str, NodeNow]


def decide(
    named: Mapping[str, tuple[Evidence, ...]],
    rule: QuarantineRule,
    cluster: Cluster,
    actions: Sequence[Action],
    *,
    measured: float,
    now: float,
    report: str = "",
) -> list[Action]:
    """Return for each node of ``named`` a drain to begin, or a declined drain with the reason; most evidence first.

    :param cluster: every node in Slurm, by name.
    :param actions: all actions ever, oldest first.
    :param measured: the time of the evidence, like ``now`` in seconds since 1970.
    """
    done: list[Action] = []
    for node in sorted(named, key=lambda name: (-len(named[name]), name)):
        tonight = [action for action in (*actions, *done) if action.what == "drain" and action.quarantines]
        why = (
            _not_to_be_touched(node, cluster, actions, measured)
            or _fault_of_many(node, named, cluster, actions)
            or _enough(rule, tonight, now)
            or _last_of_a_partition(node, cluster, [action.node for action in done if action.outcome == "begun"])
        )
        # Each action has its own time, so that its reason differs from others.
        time = now + len(done) / 1000
        until = None if why else end_of(rule, time)
        outcome: Outcome = "declined" if why else "begun"
        done.append(
            Action(what="drain", node=node, time=time, outcome=outcome, said=why, until=until, evidence=named[node],
                   report=report)
        )  # fmt: skip
    return done


def end_of(rule: QuarantineRule, begun: float) -> float:
    """Return the end of a quarantine in seconds since 1970."""
    return begun + rule.lasts_days * DAY_S


def reason_of(action: Action) -> str:
    """Return the reason for a drain in Slurm, in ASCII."""
    first = action.evidence[0] if action.evidence else None
    what = f"{first.check}: {first.text}" if first else action.said
    plain = one_line(clean(what), REASON_LIMIT).translate(_PLAIN)
    return f"{action.mark} {plain}".encode("ascii", "replace").decode()


def _not_to_be_touched(node: str, cluster: Cluster, actions: Sequence[Action], measured: float) -> str:
    if node not in cluster:
        return "Slurm does not list this node"
    if node in held_nodes(cluster, actions):
        return "the node is in quarantine already"
    if cluster[node].others_matter or not cluster[node].usable:
        return f"{cluster[node]}: out of service already"
    back = [one for one in actions if one.node == node and one.what in ("return", "release") and one.outcome == "done"]
    return "the node was resumed after the measurement" if back and back[-1].time >= measured else ""


def _fault_of_many(
    node: str, named: Mapping[str, tuple[Evidence, ...]], cluster: Cluster, actions: Sequence[Action]
) -> str:
    out = {*named, *held_nodes(cluster, actions)}
    for partition in sorted(cluster[node].partitions):
        nodes = {one.name for one in cluster.values() if partition in one.partitions}
        if 2 * len(nodes & out) >= len(nodes):
            return (
                f"{len(nodes & out)} of {counted(len(nodes), 'node')} of partition {partition} would be out of service;"
                " Kappa drains no node if half or more would be out, because that is no node's fault"
            )
    return ""


def _enough(rule: QuarantineRule, drains: Sequence[Action], now: float) -> str:
    tonight = [action.node for action in drains if now - action.time < NIGHT_S]
    if len(tonight) < rule.most_a_night:
        return ""
    return f"{', '.join(tonight)} was drained this night; the rule allows {counted(rule.most_a_night, 'node')} a night"


def _last_of_a_partition(node: str, cluster: Cluster, drained: Sequence[str]) -> str:
    for partition in sorted(cluster[node].partitions):
        others = [one.name for one in cluster.values() if partition in one.partitions and one.usable]
        if set(others) <= {node, *drained}:
            return f"the node is the last one of partition {partition} that takes jobs"
    return ""
