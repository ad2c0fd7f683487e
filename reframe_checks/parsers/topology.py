"""Slurm's topology: ``scontrol show topology`` or ``topology.conf`` (plug-ins topology/tree and topology/block).

A block, whose nodes are closer to each other than to the rest, counts as a leaf switch.
"""

import re
from collections.abc import Iterable, Sequence

from reframe_checks.parsers import node_list
from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import Output

# Names of all lines together: scontrol repeats a node for each level of switches above it.
MAX_NAMES = 5 * node_list.MAX_NAMES
# Slurm 24.05 and later lists switches and blocks whose nodes are still to come, with an empty list.
_FIELD = re.compile(r"([A-Za-z]{1,40})=(\S*)")
_NAMES = ("switchname", "blockname", "aggregatedblock")
_LISTS = {"nodes": "nodes", "switches": "children", "aggregatedblock": "children"}


def leaf_switches(text: str) -> dict[str, str]:
    """The leaf switch of each node; empty when Slurm knows of no topology.

    :raises ParseError: a line that is no switch or block, one without children, a list that is none or too long, a
        switch twice, a node on two leaf switches, or a switch above others of which one is missing or whose nodes
        are not theirs.
    """
    if not text.strip():
        return {}
    output = Output.read("topology", text)
    found: dict[str, str] = {}
    nodes_of: dict[str, Sequence[str]] = {}
    above: list[tuple[int, str, Sequence[str]]] = []
    names = 0
    for number, line in enumerate(output.lines, start=1):
        fields = _fields(output, number, line.partition("#")[0])
        if not fields or set(fields) == {"blocksizes"}:
            continue
        lists = {
            kind: _expanded(output, number, fields[key], MAX_NAMES - names)
            for key, kind in _LISTS.items()
            if fields.get(key)
        }
        if "nodes" in fields and not lists:
            lists = {"nodes": []}
        named = [fields[key] for key in _NAMES if key in fields]
        if len(named) != 1 or not lists:
            raise output.error(number, "SwitchName=NAME with Nodes=LIST or Switches=LIST, or BlockName=NAME Nodes=LIST")
        if named[0] in nodes_of:
            raise output.error(number, f"{named[0]} once")
        names += sum(map(len, lists.values()))
        # scontrol gives the nodes below it with a switch of switches and with a block of blocks, too.
        nodes_of[named[0]] = lists.get("nodes", ())
        if "children" in lists:
            above.append((number, named[0], lists["children"]))
            continue
        for node in lists["nodes"]:
            if found.setdefault(node, named[0]) != named[0]:
                raise output.error(number, f"each node on one leaf switch; {node} is also on {found[node]}")
    for number, name, children in above:
        _check_children(output, number, nodes_of[name], {child: nodes_of.get(child) for child in children})
    return found


def _fields(output: Output, number: int, content: str) -> dict[str, str]:
    """What a line says, by its keys in lower case: Slurm reads them in either."""
    fields: dict[str, str] = {}
    for token in content.split():
        match = _FIELD.fullmatch(token)
        if not match or match[1].lower() in fields:
            raise output.error(number, "KEY=VALUE of Slurm's topology, each key once: SwitchName=NAME Nodes=LIST")
        fields[match[1].lower()] = match[2]
    return fields


def _expanded(output: Output, number: int, text: str, at_most: int) -> list[str]:
    try:
        return node_list.expand(text, min(at_most, node_list.MAX_NAMES))
    except ValueError as err:
        raise output.error(number, str(err)) from None


def _check_children(output: Output, number: int, nodes: Sequence[str], below: dict[str, Sequence[str] | None]) -> None:
    """A lost or damaged line shows itself here. ``nodes`` is empty in topology.conf, which leaves them out."""
    together: set[str] = set()
    for child, their_nodes in below.items():
        if their_nodes is None:
            raise output.error(number, f"a line that describes {child}, too")
        together.update(their_nodes)
    if nodes and together != set(nodes):
        name = min(together ^ set(nodes))
        raise output.error(number, f"the nodes of {', '.join(below)}, no others; {name} is on one side only")


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
