"""Slurm's topology: ``scontrol show topology`` or ``topology.conf`` (plug-in topology/tree)."""

import re

from ClusterShell.NodeSet import NodeSet, NodeSetException

from reframe_checks.parsers.text import Output

_FIELD = re.compile(r"(\w+)=(\S+)")


def leaf_switches(text: str) -> dict[str, str]:
    """The leaf switch of each node; empty when Slurm knows of no topology.

    :raises ParseError: a line that is no switch, a switch without children, a list that is none, or a node on two
        leaf switches.
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
        if "switchname" not in fields or not {"nodes", "switches"} & set(fields):
            raise output.error(number, "SwitchName=NAME with Nodes=LIST or Switches=LIST")
        # scontrol gives the nodes below it with a switch of switches, too.
        if "switches" in fields:
            continue
        try:
            nodes = list(NodeSet(fields["nodes"]))
        except NodeSetException:
            raise output.error(number, "a list of nodes, for instance tux[0-3,12]") from None
        for node in nodes:
            if found.setdefault(node, fields["switchname"]) != fields["switchname"]:
                raise output.error(number, f"each node on one leaf switch; {node} is also on {found[node]}")
    return found
