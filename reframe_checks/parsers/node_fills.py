"""Result of ``node_sweep --fills``: speeds of a core while others of its node rest, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.node_sweep import CoreSpeeds, speeds_of
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class NodeFills:
    """``spread`` and ``packed``: number of active cores -> speeds of each of them, evenly over the node's NUMA domains
    and caches, or one domain after the other; ``wrong``: cores that computed a wrong result."""

    node: str
    cores: tuple[int, ...]
    domains: int
    available_mib: int
    spread: dict[int, CoreSpeeds]
    packed: dict[int, CoreSpeeds]
    wrong: tuple[int, ...]


def parse(text: str) -> dict[str, NodeFills]:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a node
        missing or there twice, or other cores active than all, half, a quarter and one.
    """
    output = Output.read("node fills", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-node-fills" or record.integer("version") != 1:
        raise record.error("kappa-node-fills, version 1", "format")
    found = list(map(_node, record.records("nodes")))
    nodes = {each.node: each for each in found}
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if not len(nodes) == len(found) == ranks:
        raise record.error(f"{ranks} nodes, each once", "nodes")
    return nodes


def _node(record: Record) -> NodeFills:
    cores, domains = (record.integers(key, Quantity.RANKS) for key in ("cores", "domains"))
    if not cores or len(set(cores)) != len(cores):
        raise record.error("one core or more, each once", "cores")
    if len(domains) != len(cores) or sorted(zip(domains, cores, strict=True)) != [*zip(domains, cores, strict=True)]:
        raise record.error("a NUMA domain for each core, in whose order they are", "domains")
    wrong = tuple(record.integers("wrong", Quantity.RANKS))
    if not set(wrong) <= set(cores):
        raise record.error("some of the cores", "wrong")
    fills: dict[bool, dict[int, CoreSpeeds]] = {True: {}, False: {}}
    entries = record.records("fills")
    expected = _expected(cores)
    if [(entry.flag("spread"), entry.integers("active", Quantity.RANKS)) for entry in entries] != expected:
        raise record.error("one core, a quarter, half and all, spread, and a quarter and half packed", "fills")
    for entry, (spread, active) in zip(entries, expected, strict=True):
        fills[spread][len(active)] = speeds_of(entry, len(active))
    return NodeFills(
        node=record.text("node"), cores=tuple(cores), domains=len(set(domains)),
        available_mib=record.integer("available_MiB", 1, Quantity.MEMORY_MIB),
        spread=fills[True], packed=fills[False], wrong=wrong,
    )  # fmt: skip


def _expected(cores: list[int]) -> list[tuple[bool, list[int]]]:
    every = len(cores)
    parts = sorted({every // 2, every // 4} - {0})
    spread = sorted({1, *parts, every})
    return [
        *((True, [cores[number * every // active] for number in range(active)]) for active in spread),
        *((False, cores[:active]) for active in parts if active != every),
    ]
