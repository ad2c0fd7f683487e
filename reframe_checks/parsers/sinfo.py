"""Output of ``sinfo --Node --noheader --format=FORMAT``: one line for each node.

With ``--all`` and ``FORMAT_OF_ALL`` one for each node of each partition.
"""

import re
from dataclasses import dataclass

from kappa.core.vocabulary.node_states import SIGNS, NodeCondition, condition
from reframe_checks.parsers.text import Output

FORMAT = "%N|%T|%E"
FORMAT_OF_ALL = f"%R|{FORMAT}"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_SIGNS = "".join(SIGNS)


@dataclass(frozen=True)
class NodeState:
    """A line of sinfo; ``flags`` are Slurm's suffixes, for instance ``*`` for a node that does not respond."""

    name: str
    state: str
    flags: str
    reason: str

    @property
    def condition(self) -> NodeCondition:
        """What the state means; one that no version of Slurm documents is marked there."""
        return condition(self.state + self.flags)

    @property
    def usable(self) -> bool:
        """Whether the node is in service: neither a fault nor an operator keeps it from work."""
        return self.condition.in_service


def parse(text: str) -> tuple[NodeState, ...]:
    """Nodes in the order printed.

    :raises ParseError: a line that is not NODE|STATE|REASON, a node twice, or no node at all.
    """
    output = Output.read("sinfo", text)
    nodes: dict[str, NodeState] = {}
    for number, line in enumerate(output.lines, start=1):
        node = _node(output, number, line)
        if node.name in nodes:
            raise output.error(number, f"one line for {node.name}")
        nodes[node.name] = node
    return tuple(nodes.values())


def parse_all(text: str) -> dict[str, dict[str, NodeState]]:
    """The nodes of each partition, by its name and theirs.

    :raises ParseError: a line that is not PARTITION|NODE|STATE|REASON, a node twice in a partition or in different
        states in two, or no node at all.
    """
    output = Output.read("sinfo", text)
    partitions: dict[str, dict[str, NodeState]] = {}
    seen: dict[str, NodeState] = {}
    for number, line in enumerate(output.lines, start=1):
        partition, _, rest = line.partition("|")
        if not _NAME.fullmatch(partition):
            raise output.error(number, "PARTITION|NODE|STATE|REASON")
        node = _node(output, number, rest)
        if seen.setdefault(node.name, node) != node:
            raise output.error(number, f"{node.name} in the same state in all of its partitions")
        if partitions.setdefault(partition, {}).setdefault(node.name, node) is not node:
            raise output.error(number, f"one line for {node.name} in {partition}")
    return partitions


def _node(output: Output, number: int, line: str) -> NodeState:
    fields = line.split("|", 2)
    name = fields[0].strip()
    if len(fields) != 3 or not _NAME.fullmatch(name) or not fields[1].strip():
        raise output.error(number, "NODE|STATE|REASON")
    state = fields[1].strip().rstrip(_SIGNS)
    return NodeState(name, state, fields[1].strip()[len(state) :], fields[2].strip())
