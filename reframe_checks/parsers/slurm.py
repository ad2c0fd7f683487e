"""Parse Slurm's lists of nodes, states of nodes (``sinfo``), facts of nodes (``scontrol show node``) and topology.

- ``sinfo --Node --noheader --format=SINFO_FORMAT`` of ``node_states``: one line for each node.
- ``scontrol --oneliner show node``: one line for each node, with Slurm's facts of it.
- ``scontrol show topology`` or ``topology.conf`` (plug-ins topology/tree and topology/block). A block counts as a leaf
  switch, since its nodes are closer to each other than to others.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from kappa.core.ground.node_lists import MAX_NODES, NODE_LIST, expand_nodes
from kappa.core.vocabulary.node_states import NodeLine, node_line
from reframe_checks.parsers.text import INTEGER, Output, ParseError, Unit

_NODE_NAME = re.compile(r"NodeName=([A-Za-z0-9._-]{1,255}) ")
_KEYS = {"slurm.cpus": ("CPUTot", Unit.RANKS), "slurm.memory_mib": ("RealMemory", Unit.MEMORY_MIB)}
#: Without energy accounting, Slurm prints n/s, n/a, 0 or nothing.
_WATTS = re.compile(rf" CurrentWatts=({INTEGER})(?: |$)")
# Limit for the names of all lines together: scontrol repeats a node for each level of switches above it.
MAX_LISTED = 5 * MAX_NODES
# Slurm 24.05 and later print an empty list for switches and blocks that do not have nodes yet.
_FIELD = re.compile(r"([A-Za-z]{1,40})=(\S*)")
_SWITCH_NAMES = ("switchname", "blockname", "aggregatedblock")
_LISTS = {"nodes": "nodes", "switches": "children", "aggregatedblock": "children"}


def node_states(text: str) -> tuple[NodeLine, ...]:
    """Parse the states of nodes; return the nodes in the printed order.

    :raises ParseError: a line is not NODE|STATE|REASON, a node occurs twice, or there is no node.
    """
    output = Output.read("sinfo", text)
    nodes: dict[str, NodeLine] = {}
    for number, line in enumerate(output.lines, start=1):
        node = node_line(line)
        if node is None:
            raise output.error(number, "NODE|STATE|REASON")
        if node.name in nodes:
            raise output.error(number, f"one line for {node.name}")
        nodes[node.name] = node
    return tuple(nodes.values())


def node_facts(text: str, *, expect_nodes: Collection[str]) -> dict[str, dict[str, int | None]]:
    """Parse the facts of each node by name: CPUs, memory in MiB, power in W (``None`` if Slurm does not report it).

    :param expect_nodes: required names of the nodes.
    :raises ParseError: a line is no node's line, lacks CPUs or memory, or has an impossible power; a node occurs
        twice; or the nodes are not the required nodes.
    """
    output = Output.read("scontrol show node", text)
    nodes: dict[str, dict[str, int | None]] = {}
    for number, line in enumerate(output.lines, start=1):
        named = _NODE_NAME.match(line)
        if not named:
            raise output.error(number, "NodeName=NAME first")
        if named[1] in nodes:
            raise output.error(number, f"one line for {named[1]}")
        nodes[named[1]] = {name: _value(output, number, line, *key) for name, key in _KEYS.items()}
        nodes[named[1]]["slurm.power_w"] = _watts(output, number, line)
    if missing := {*expect_nodes} ^ {*nodes}:
        raise output.missing(f"the nodes of the job and no others, this differs in {', '.join(sorted(missing)[:5])}")
    return nodes


def _value(output: Output, number: int, line: str, key: str, unit: Unit) -> int:
    found = re.search(rf" {key}=({INTEGER}) ", line)
    if not found:
        raise output.error(number, f"{key}=NUMBER")
    return output.positive_integer(number, key, found[1], unit)


def _watts(output: Output, number: int, line: str) -> int | None:
    found = _WATTS.search(line)
    if not found or not int(found[1]):
        return None
    return output.positive_integer(number, "CurrentWatts", found[1], Unit.WATTS)


def leaf_switches(text: str) -> dict[str, str]:
    """Parse the topology: node -> leaf switch; empty if Slurm has no topology.

    :raises ParseError: a line is no switch or block or has no children; a list is invalid or too long; a switch occurs
        twice; a node is on two leaf switches; a switch below another one is missing, or the nodes of the switches
        below differ from the nodes of the switch.
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
        lists = {kind: _expanded(output, number, fields[key]) for key, kind in _LISTS.items() if fields.get(key)}
        if "nodes" in fields and not lists:
            lists = {"nodes": []}
        named = [fields[key] for key in _SWITCH_NAMES if key in fields]
        if len(named) != 1 or not lists:
            raise output.error(number, "SwitchName=NAME with Nodes=LIST or Switches=LIST, or BlockName=NAME Nodes=LIST")
        if named[0] in nodes_of:
            raise output.error(number, f"{named[0]} once")
        names += sum(map(len, lists.values()))
        if names > MAX_LISTED:
            raise output.error(number, f"at most {MAX_LISTED:,} names in all lists")
        # scontrol also prints nodes for a switch of switches and a block of blocks: all nodes below it.
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
    """Return the fields of a line by key, in lower case: Slurm ignores the case of keys."""
    fields: dict[str, str] = {}
    for token in content.split():
        match = _FIELD.fullmatch(token)
        if not match or match[1].lower() in fields:
            raise output.error(number, "KEY=VALUE of Slurm's topology, each key once: SwitchName=NAME Nodes=LIST")
        fields[match[1].lower()] = match[2]
    return fields


def _expanded(output: Output, number: int, text: str) -> list[str]:
    try:
        return expand_nodes(text)
    except ValueError:
        raise output.error(number, NODE_LIST) from None


def _check_children(output: Output, number: int, nodes: Sequence[str], below: dict[str, Sequence[str] | None]) -> None:
    """Detect a lost or damaged line. ``nodes`` is empty in topology.conf, which has none for upper switches."""
    together: set[str] = set()
    for child, their_nodes in below.items():
        if their_nodes is None:
            raise output.error(number, f"a line that describes {child}, too")
        together.update(their_nodes)
    if nodes and together != set(nodes):
        name = min(together ^ set(nodes))
        raise output.error(number, f"the nodes of {', '.join(below)}, no others; {name} is on one side only")


def leaves_of(text: str, nodes: Iterable[str]) -> dict[str, str]:
    """Return the leaf switch of each of ``nodes``.

    :raises ParseError: as ``leaf_switches``, or one of ``nodes`` is on no leaf switch.
    """
    known = leaf_switches(text)
    try:
        return {node: known[node] for node in nodes}
    except KeyError as err:
        behind = text.count("\n") + 1
        raise ParseError("topology", f"a leaf switch with {err.args[0]}", text=text, line=behind) from None
