"""Output of ``scontrol --oneliner show node``: one line for each node, with what Slurm believes of it."""

import re
from collections.abc import Collection

from reframe_checks.parsers.text import INTEGER, Output, Quantity

_NAME = re.compile(r"NodeName=([A-Za-z0-9._-]{1,255}) ")
_KEYS = {"slurm.cpus": ("CPUTot", Quantity.RANKS), "slurm.memory_mib": ("RealMemory", Quantity.MEMORY_MIB)}
#: Where Slurm does not account for energy it says n/s, n/a or 0, or nothing.
_WATTS = re.compile(rf" CurrentWatts=({INTEGER})(?: |$)")


def parse(text: str, *, expect_nodes: Collection[str]) -> dict[str, dict[str, int | None]]:
    """Facts of each node by name: CPUs, memory in MiB, and power in W, which is ``None`` where Slurm knows of none.

    :param expect_nodes: names of the nodes that there must be.
    :raises ParseError: a line that is not of a node, or without its CPUs or memory, or with a power that no node has;
        a node twice; or other nodes.
    """
    output = Output.read("scontrol show node", text)
    nodes: dict[str, dict[str, int | None]] = {}
    for number, line in enumerate(output.lines, start=1):
        named = _NAME.match(line)
        if not named:
            raise output.error(number, "NodeName=NAME first")
        if named[1] in nodes:
            raise output.error(number, f"one line for {named[1]}")
        nodes[named[1]] = {name: _value(output, number, line, *key) for name, key in _KEYS.items()}
        nodes[named[1]]["slurm.power_w"] = _watts(output, number, line)
    if missing := {*expect_nodes} ^ {*nodes}:
        raise output.missing(f"the nodes of the job and no others, this differs in {', '.join(sorted(missing)[:5])}")
    return nodes


def _value(output: Output, number: int, line: str, key: str, quantity: Quantity) -> int:
    found = re.search(rf" {key}=({INTEGER}) ", line)
    if not found:
        raise output.error(number, f"{key}=NUMBER")
    return output.positive_integer(number, key, found[1], quantity)


def _watts(output: Output, number: int, line: str) -> int | None:
    found = _WATTS.search(line)
    if not found or not int(found[1]):
        return None
    return output.positive_integer(number, "CurrentWatts", found[1], Quantity.WATTS)
