"""Output of ``sinfo --Node --noheader --format=FORMAT``: one line for each node."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

FORMAT = "%N|%T|%E"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")

# Base states in which a node takes jobs or runs one (sinfo's manual, NODE STATE CODES).
_USABLE = {"idle", "mixed", "allocated", "completing", "planned", "reserved"}
_KNOWN = _USABLE | {
    "down", "drained", "draining", "fail", "failing", "unknown", "maint", "reboot", "rebooting", "powering_down",
    "powered_down", "powering_up", "power_down", "power_up", "future", "inval", "perfctrs", "blocked", "cloud",
}  # fmt: skip


@dataclass(frozen=True)
class NodeState:
    """``flags`` are Slurm's suffixes, for instance ``*`` for a node that does not respond."""

    name: str
    state: str
    flags: str
    reason: str

    @property
    def usable(self) -> bool:
        return self.state in _USABLE and "*" not in self.flags


def parse(text: str) -> tuple[NodeState, ...]:
    """Nodes in the order printed.

    :raises ParseError: a line that is not NODE|STATE|REASON, an unknown state, a node twice, or no node at all.
    """
    output = Output.read("sinfo", text)
    nodes: dict[str, NodeState] = {}
    for number, line in enumerate(output.lines, start=1):
        fields = line.split("|", 2)
        name = fields[0].strip()
        if len(fields) != 3 or not _NAME.fullmatch(name):
            raise output.error(number, "NODE|STATE|REASON")
        state = fields[1].strip().rstrip("*~#!%$@^-+")
        if state not in _KNOWN:
            raise output.error(number, f"a node state of Slurm, found {state!r}")
        if name in nodes:
            raise output.error(number, f"one line for {name}")
        nodes[name] = NodeState(name, state, fields[1].strip()[len(state) :], fields[2].strip())
    return tuple(nodes.values())
