"""Result of ``node_sweep --numa``: each NUMA domain's cores on each domain's memory, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class OnMemory:
    """``distance``: the kernel's, 10 to a domain's own memory; ``triad_mb_s``: of all cores of the domain together, in
    10^6 bytes a second; ``latency_ns``: of a load that depends on the one before."""

    distance: int
    triad_mb_s: float
    latency_ns: float
    correct: bool


#: A load takes no longer, wherever its memory is: a thousand times the slowest.
LONGEST_LOAD_NS = 1e6
#: Domain of the cores, domain of the memory.
Pair = tuple[int, int]


def parse(text: str) -> dict[str, dict[Pair, OnMemory]]:
    """
    :return: node -> pair of domains -> what was measured.
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a node
        missing or there twice, or not every pair of domains in order.
    """
    output = Output.read("node numa", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-node-numa" or record.integer("version") != 1:
        raise record.error("kappa-node-numa, version 1", "format")
    entries = record.records("nodes")
    nodes = {entry.text("node"): _pairs(entry) for entry in entries}
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if not len(nodes) == len(entries) == ranks:
        raise record.error(f"{ranks} nodes, each once", "nodes")
    return nodes


def _pairs(record: Record) -> dict[Pair, OnMemory]:
    domains = record.integers("domains", Quantity.RANKS)
    if not domains or sorted(set(domains)) != domains:
        raise record.error("one domain or more, in order", "domains")
    entries = record.records("pairs")
    expected = [(cores, memory) for cores in domains for memory in domains]
    if [(entry.integer("cores"), entry.integer("memory")) for entry in entries] != expected:
        raise record.error("each domain's cores on each domain's memory, in order", "pairs")
    pairs = {pair: _on_memory(entry) for pair, entry in zip(expected, entries, strict=True)}
    for (cores, memory), found in pairs.items():
        if (found.distance == 10) != (cores == memory):
            raise record.error("the distance 10 of each domain to itself and no other", "pairs")
    return pairs


def _on_memory(entry: Record) -> OnMemory:
    triad_mb_s = entry.number("triad_MBps", Quantity.MB_S)
    latency_ns = entry.number("latency_ns", Quantity.OPERATION_NS)
    if triad_mb_s <= 0 or not 0 < latency_ns <= LONGEST_LOAD_NS:
        raise entry.error(f"a triad above 0, and a latency above 0 and at most {LONGEST_LOAD_NS:g} ns")
    return OnMemory(entry.integer("distance", 10, Quantity.COUNT), triad_mb_s, latency_ns, entry.flag("correct"))
