"""Output of ``node_probe.py``: for each node a line of JSON and its SHA-256, by which a damaged line is known."""

import hashlib
from dataclasses import dataclass, replace

from kappa.core.vocabulary.node_facts import Value, fact_of
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class NodeFacts:
    """``clock_offset_us`` is this node's clock less that of task 0, known to within half of ``clock_rtt_us``."""

    host: str
    facts: dict[str, Value]
    clock_offset_us: float
    clock_rtt_us: float


def parse(text: str, *, expect_nodes: int | None = None) -> tuple[NodeFacts, ...]:
    """Nodes in order of their names.

    :param expect_nodes: number of nodes that there must be.
    :raises ParseError: a line without its SHA-256 or that is not one whole object with the right keys and types, a fact
        of no known name, a node twice, or a missing node (it could not reach task 0 if standard error says so).
    """
    output = _without_sums(Output.read("node_probe output", text))
    nodes: dict[str, NodeFacts] = {}
    for number in range(1, len(output.lines) + 1):
        record = Record.parse(output, number, number)
        facts = _facts(record)
        if facts.host in nodes:
            raise record.error(f"each node once, found {facts.host} again", "host")
        nodes[facts.host] = facts
    if expect_nodes is not None and len(nodes) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(nodes)} ({', '.join(sorted(nodes))})")
    return tuple(nodes[host] for host in sorted(nodes))


def _without_sums(output: Output) -> Output:
    lines = []
    for number, line in enumerate(output.lines, start=1):
        if not line.startswith("{"):
            raise output.error(number, "one JSON object a line")
        data, _, digest = line.rpartition(" ")
        if hashlib.sha256(data.encode()).hexdigest() != digest:
            raise output.error(number, "a line that ends in its SHA-256, and this one is cut, mixed or changed")
        lines.append(data)
    return replace(output, lines=tuple(lines))


def _facts(node: Record) -> NodeFacts:
    facts = NodeFacts(
        host=node.text("host"),
        facts=_told(node.record("facts")),
        clock_offset_us=node.number("clock_offset_us", Quantity.CLOCK_US),
        clock_rtt_us=node.number("clock_rtt_us", Quantity.OPERATION_US, 0),
    )
    unknown = set(node) - set(NodeFacts.__dataclass_fields__)
    if unknown:
        raise node.error(f"no other keys than those known, found {', '.join(sorted(unknown))}")
    return facts


def _told(facts: Record) -> dict[str, Value]:
    found = {name: facts.fact(name) for name in facts}
    unknown = [name for name in found if fact_of(name) is None]
    if unknown:
        raise facts.error(f"facts of known names, found {', '.join(unknown[:5])}")
    return found
