"""Output of ``node_probe.py``: one JSON object a line, one line for each node."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

# Of the kernel, in /sys/class/net/*/operstate.
_OPERSTATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Mount:
    """``type`` and what follows are ``None`` where nothing is mounted at ``path``.

    The sizes alone are ``None`` when the file system did not answer. ``writable`` says that the mount is not
    read-only; it says nothing of permissions.
    """

    path: str
    type: str | None
    source: str | None
    size_bytes: int | None
    free_bytes: int | None
    writable: bool | None


@dataclass(frozen=True)
class Interface:
    name: str
    state: str
    speed_mbit: int | None
    mtu: int


@dataclass(frozen=True)
class IbPort:
    """``state`` and ``rate`` as the kernel writes them, for instance ``ACTIVE`` and ``100 Gb/sec (4X EDR)``."""

    name: str
    port: int
    state: str
    rate: str


@dataclass(frozen=True)
class File:
    """``sha256`` is ``None`` when the file could not be read."""

    path: str
    sha256: str | None


@dataclass(frozen=True)
class SlurmFacts:
    """What ``scontrol show node`` says of the node: CPUTot and RealMemory."""

    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class NodeFacts:
    """``clock_offset_us`` is this node's clock less that of task 0, known to within half of ``clock_rtt_us``."""

    host: str
    cpu_model: str | None
    cpus_online: int
    sockets: int | None
    numa_nodes: int | None
    cpu_affinity_count: int
    memory_total_kib: int
    memory_available_kib: int
    swap_kib: int
    kernel: str
    os_release: str | None
    cpu_governor: str | None
    transparent_hugepages: str | None
    uptime_s: float
    load_1min: float
    mounts: tuple[Mount, ...]
    interfaces: tuple[Interface, ...]
    ib_devices: tuple[IbPort, ...]
    files: tuple[File, ...]
    slurm: SlurmFacts | None
    clock_offset_us: float
    clock_rtt_us: float


def parse(text: str, *, expect_nodes: int | None = None) -> tuple[NodeFacts, ...]:
    """Nodes in order of their names.

    :param expect_nodes: number of nodes that there must be.
    :raises ParseError: a line that is not one whole object with the right keys and types, a node twice, or a
        missing node (it could not reach task 0 if standard error says so).
    """
    output = Output.read("node_probe output", text)
    nodes: dict[str, NodeFacts] = {}
    for number, line in enumerate(output.lines, start=1):
        if not line.startswith("{"):
            raise output.error(number, "one JSON object a line")
        record = Record.parse(output, number, number)
        facts = _facts(record)
        if facts.host in nodes:
            raise record.error(f"each node once, found {facts.host} again", "host")
        nodes[facts.host] = facts
    if expect_nodes is not None and len(nodes) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(nodes)} ({', '.join(sorted(nodes))})")
    return tuple(nodes[host] for host in sorted(nodes))


def _facts(node: Record) -> NodeFacts:
    facts = NodeFacts(
        host=node.text("host"),
        cpu_model=node.optional("cpu_model", node.text),
        cpus_online=node.integer("cpus_online", 1, Quantity.RANKS),
        sockets=node.optional("sockets", lambda key: node.integer(key, 1, Quantity.RANKS)),
        numa_nodes=node.optional("numa_nodes", lambda key: node.integer(key, 1, Quantity.RANKS)),
        cpu_affinity_count=node.integer("cpu_affinity_count", 1, Quantity.RANKS),
        memory_total_kib=node.integer("memory_total_kib", 1, Quantity.MEMORY_KIB),
        memory_available_kib=node.integer("memory_available_kib", 0, Quantity.MEMORY_KIB),
        swap_kib=node.integer("swap_kib", 0, Quantity.MEMORY_KIB),
        kernel=node.text("kernel"),
        os_release=node.optional("os_release", node.text),
        cpu_governor=node.optional("cpu_governor", node.text),
        transparent_hugepages=node.optional("transparent_hugepages", node.text),
        uptime_s=node.number("uptime_s", Quantity.UPTIME_S, 0),
        load_1min=node.number("load_1min", Quantity.LOAD, 0),
        mounts=tuple(_mount(mount) for mount in node.records("mounts")),
        interfaces=tuple(_interface(entry) for entry in node.records("interfaces")),
        ib_devices=tuple(_ib_port(entry) for entry in node.records("ib_devices")),
        files=tuple(_file(entry) for entry in node.records("files")),
        slurm=node.optional("slurm", lambda key: _slurm(node.record(key))),
        clock_offset_us=node.number("clock_offset_us", Quantity.CLOCK_US),
        clock_rtt_us=node.number("clock_rtt_us", Quantity.OPERATION_US, 0),
    )
    unknown = set(node) - set(NodeFacts.__dataclass_fields__)
    if unknown:
        raise node.error(f"no other keys than those known, found {', '.join(sorted(unknown))}")
    if facts.memory_available_kib > facts.memory_total_kib:
        raise node.error("at most memory_total_kib", "memory_available_kib")
    return facts


def _mount(mount: Record) -> Mount:
    facts = Mount(
        path=mount.text("path"),
        type=mount.optional("type", mount.text),
        source=mount.optional("source", mount.text),
        size_bytes=mount.optional("size_bytes", lambda key: mount.integer(key, 0, Quantity.FILE_SYSTEM_BYTES)),
        free_bytes=mount.optional("free_bytes", lambda key: mount.integer(key, 0, Quantity.FILE_SYSTEM_BYTES)),
        writable=mount.optional("writable", mount.flag),
    )
    if (facts.size_bytes is None) != (facts.free_bytes is None) or (facts.free_bytes or 0) > (facts.size_bytes or 0):
        raise mount.error("at most size_bytes", "free_bytes")
    return facts


def _interface(entry: Record) -> Interface:
    state = entry.text("state")
    if state not in _OPERSTATES:
        raise entry.error(f"one of {', '.join(_OPERSTATES)}, found {state[:40]!r}", "state")
    return Interface(
        name=entry.text("name"),
        state=state,
        speed_mbit=entry.optional("speed_mbit", lambda key: entry.integer(key, 1, Quantity.MBIT_S)),
        mtu=entry.integer("mtu", 1, Quantity.MTU_BYTES),
    )


def _ib_port(entry: Record) -> IbPort:
    return IbPort(
        name=entry.text("name"),
        port=entry.integer("port", 1, Quantity.PORTS),
        state=entry.text("state"),
        rate=entry.text("rate"),
    )


def _file(entry: Record) -> File:
    digest = entry.optional("sha256", entry.text)
    if digest is not None and not _SHA256.fullmatch(digest):
        raise entry.error("64 hexadecimal digits", "sha256")
    return File(entry.text("path"), digest)


def _slurm(slurm: Record) -> SlurmFacts:
    return SlurmFacts(slurm.integer("cpus", 1, Quantity.RANKS), slurm.integer("memory_mib", 1, Quantity.MEMORY_MIB))
