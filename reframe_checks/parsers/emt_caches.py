"""Results of ``emt caches``: what a step of the EMT application takes over the memory that it touches, on each node."""

from dataclasses import dataclass

from reframe_checks.parsers.emt import LAST_DIGIT
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class OfSize:
    """One network on one core; times are microseconds per step, ``bytes_touched`` what a step reads or writes.

    ``phi_us`` is the work in the order of a step, ``phi_cached_us`` the same with each batch of tasks in the fastest
    cache.
    """

    case_hash: str
    checksum: str
    tasks: int
    bytes_touched: int
    step_us: float
    sigma_us: float
    phi_us: float
    phi_cached_us: float

    @property
    def kappa_us(self) -> float:
        """kappa'(n, 1): what a step takes beyond its work, although nobody else takes part (IPST 2023, section II)."""
        return self.step_us - self.sigma_us - self.phi_us

    @property
    def us_per_task(self) -> float:
        return self.phi_us / self.tasks


@dataclass(frozen=True)
class NodeCaches:
    """``caches``: level -> bytes of the core's data caches, empty where the kernel does not say."""

    node: str
    caches: dict[int, int]
    sizes: tuple[OfSize, ...]


def parse(text: str, *, expect_sizes: int) -> dict[str, NodeCaches]:
    """
    :param expect_sizes: number of networks on each node.
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a node there
        twice, sizes that do not grow, nodes with other networks, or a replay that gave other bits.
    """
    output = Output.read("emt caches", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-emt-caches" or record.integer("version") != 1:
        raise record.error("kappa-emt-caches, version 1", "format")
    found = [_node(entry, expect_sizes) for entry in record.records("nodes")]
    nodes = {each.node: each for each in found}
    ranks = record.integer("ranks", 1, Quantity.RANKS)
    if not len(nodes) == len(found) == ranks:
        raise record.error(f"{ranks} nodes, each once", "nodes")
    if len({tuple((one.case_hash, one.tasks, one.bytes_touched) for one in each.sizes) for each in found}) != 1:
        raise record.error("the same networks on all nodes", "nodes")
    return nodes


def _node(record: Record, expect_sizes: int) -> NodeCaches:
    caches = {
        entry.integer("level", 1): entry.integer("bytes", 1, Quantity.BYTES) for entry in record.records("caches")
    }
    if sorted(caches) != list(range(1, len(caches) + 1)):
        raise record.error("levels 1, 2, … each once", "caches")
    if sorted(caches.values()) != [caches[level] for level in sorted(caches)]:
        raise record.error("a larger cache at each level", "caches")
    sizes = tuple(map(_size, record.records("sizes")))
    touched = [one.bytes_touched for one in sizes]
    if len(sizes) != expect_sizes or sorted(set(touched)) != touched:
        raise record.error(f"{expect_sizes} networks, each of which touches more memory", "sizes")
    return NodeCaches(record.text("node"), caches, sizes)


def _size(record: Record) -> OfSize:
    if not record.flag("replay_exact"):
        raise record.error("true: the replay that measures phi gave other bits", "replay_exact")
    us = Quantity.OPERATION_US
    step, sigma, phi, cached = (record.number(key, us, 0) for key in ("step_us", "sigma_us", "phi_us", "phi_cached_us"))
    if min(step, phi, cached) <= LAST_DIGIT:
        raise record.error("a step, its work and its work in the cache that take time", "step_us")
    return OfSize(
        case_hash=record.text("case_hash"), checksum=record.text("checksum"), tasks=record.integer("tasks", 1),
        bytes_touched=record.integer("bytes_touched", 1, Quantity.BYTES),
        step_us=step, sigma_us=sigma, phi_us=phi, phi_cached_us=cached,
    )  # fmt: skip
