"""How nodes stand: as Slurm has them now, and which of those that it has drained are in a quarantine of ours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.record.actions import Action
from kappa.core.vocabulary.node_states import condition

# What Slurm itself gives as a reason, and takes back when the node answers again.
_OF_SLURM = ("Not responding", "Node unexpectedly rebooted")


@dataclass(frozen=True)
class NodeNow:
    """A node as Slurm has it; ``reason`` is empty where nobody gave one.

    ``usable``: it is in service; ``reserved``: a reservation holds it.
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
        """Somebody has taken it out, and alone decides about it."""
        return self.drained or self.reason not in ("", *_OF_SLURM)

    def __str__(self) -> str:
        return f"{self.name} is {self.state}" + (f", for the reason {self.reason!r}" if self.reason else "")


def held_nodes(cluster: Mapping[str, NodeNow], actions: Sequence[Action]) -> dict[str, Action]:
    """The nodes in quarantine, each with the action that put it there: Slurm has drained it, for that action's reason.

    What another drained, or Kappa from other results, is not among them, nor what somebody has given back meanwhile.
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
    """Whether a quarantine has ended by ``now``, in seconds since 1970."""
    return held.until is not None and now >= held.until


def interrupted_tests(actions: Iterable[Action]) -> list[Action]:
    """The tests that said that they began and never what came of them; their conductor was killed, or runs still."""
    last = {action.node: action for action in actions if action.what == "return"}
    return [action for action in last.values() if action.outcome == "begun"]
