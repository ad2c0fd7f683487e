"""Result of ``node_sweep``: speeds of every core of every node, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class CoreSpeeds:
    """One value for each core of the node: triad in MB/s (10^6 bytes a second), multiply-adds in Gflop/s."""

    triad_mbps: tuple[float, ...]
    gflops: tuple[float, ...]


@dataclass(frozen=True)
class NodeSpeeds:
    """``cores`` are the kernel's numbers; ``wrong`` those that computed a wrong result."""

    node: str
    cores: tuple[int, ...]
    alone: CoreSpeeds
    together: CoreSpeeds
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class NodeSweep:
    mpi: str
    mib_per_core: int
    nodes: dict[str, NodeSpeeds]


def parse(text: str) -> NodeSweep:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a node
        missing or there twice, or not one figure for each core.
    """
    output = Output.read("node sweep", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-node-sweep" or record.integer("version") != 1:
        raise record.error("kappa-node-sweep, version 1", "format")
    speeds = list(map(_node, record.records("nodes")))
    nodes = {each.node: each for each in speeds}
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if not len(nodes) == len(speeds) == ranks:
        raise record.error(f"{ranks} nodes, each once", "nodes")
    return NodeSweep(record.text("mpi"), record.integer("mib_per_core", 1, Quantity.MEMORY_MIB), nodes)


def _node(record: Record) -> NodeSpeeds:
    cores = tuple(record.integers("cores", Quantity.RANKS))
    if not cores or len(set(cores)) != len(cores):
        raise record.error("one core or more, each once", "cores")
    wrong = tuple(record.integers("wrong", Quantity.RANKS))
    if not set(wrong) <= set(cores):
        raise record.error("some of the cores", "wrong")
    alone, together = (speeds_of(record.record(key), len(cores)) for key in ("alone", "together"))
    return NodeSpeeds(record.text("node"), cores, alone, together, wrong)


def speeds_of(record: Record, cores: int) -> CoreSpeeds:
    return CoreSpeeds(
        tuple(record.numbers("triad_MBps", cores, Quantity.MB_S)),
        tuple(record.numbers("gflops", cores, Quantity.GFLOP_S)),
    )
