"""Slurm's topology: ``scontrol show topology`` or ``topology.conf`` (plug-ins topology/tree and topology/block).

A block, whose nodes are closer to each other than to the rest, counts as a leaf switch.
"""

import re
from collections.abc import Iterable

from ClusterShell.NodeSet import NodeSet, NodeSetException

from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import Output

_FIELD = re.compile(r"(\w+)=(\S+)")


def leaf_switches(text: str) -> dict[str, str]:
    """The leaf switch of each node; empty when Slurm knows of no topology.

    :raises ParseError: a line that is no switch or block, one without children, a list that is none, or a node on
        two leaf switches.
    """
    if not text.strip():
        return {}
    output = Output.read("topology", text)
    found: dict[str, str] = {}
    for number, line in enumerate(output.lines, start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        fields = {key.lower(): value for key, value in _FIELD.findall(content)}
        # scontrol gives the nodes below it with a switch of switches and with a block of blocks, too.
        if {"switchname", "switches"} <= set(fields) or {"aggregatedblock", "blocksizes"} & set(fields):
            continue
        leaf = fields.get("switchname") or fields.get("blockname")
        if not leaf or "nodes" not in fields:
            raise output.error(number, "SwitchName=NAME with Nodes=LIST or Switches=LIST, or BlockName=NAME Nodes=LIST")
        try:
            nodes = list(NodeSet(fields["nodes"]))
        except NodeSetException:
            raise output.error(number, "a list of nodes, for instance tux[0-3,12]") from None
        for node in nodes:
            if found.setdefault(node, leaf) != leaf:
                raise output.error(number, f"each node on one leaf switch; {node} is also on {found[node]}")
    return found


def leaves_of(text: str, nodes: Iterable[str]) -> dict[str, str]:
    """The leaf switch of each of ``nodes``.

    :raises ParseError: as ``leaf_switches``, or one of ``nodes`` is on none.
    """
    known = leaf_switches(text)
    try:
        return {node: known[node] for node in nodes}
    except KeyError as err:
        behind = text.count("\n") + 1
        raise ParseError("topology", f"a leaf switch with {err.args[0]}", text=text, line=behind) from None
