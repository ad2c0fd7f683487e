"""Parse the adapters and links of messages: ``kappa-measure ring-traffic``, ``link_use.so``, MPI libraries' reports.

``ring-traffic`` writes the counts of each adapter of each node during MPI's messages, ``link_use.so`` the traffic of
the busiest links of a simulated machine: one JSON object each. MPI libraries report their transports in lines among a
job's other output:

- Open MPI with ``bml_base_verbose``: ``[HOST:PID] mca: bml: Using tcp btl for send to … on node N``
- UCX with ``UCX_LOG_LEVEL=info``: ``[TIME] [HOST:PID:TID] FILE:LINE UCX INFO ep_cfg[1]: tag(rc_mlx5/mlx5_0:1);``,
  newer versions: ``… UCX INFO NAME inter-node cfg#1 tag(…)``
- Intel MPI with ``I_MPI_DEBUG=5``: ``[0] MPI startup(): libfabric provider: mlx``
"""

import re
from typing import Annotated, Literal, NamedTuple

from msgspec import UNSET, Meta, UnsetType, field

from reframe_checks.parsers.json_reader import (
    Bytes,
    Count,
    Index,
    MbPerS,
    NodeMeasurement,
    Number,
    OwnDocument,
    Positive,
    Seconds,
    Size,
    Text,
    require,
)
from reframe_checks.parsers.text import MAX_LINE_CHARS, Unit

#: Maximum number of links in the output of ``link_use.so``.
SHOWN = 10
_HOST = r"([\w.-]{1,255})"
_BML = re.compile(rf"\[{_HOST}:\d+\] mca: bml: Using (\w{{1,40}}) btl for send to \S{{1,60}} on node \S{{1,255}}")
_UCX = re.compile(
    rf"\[\d+\.\d+\] \[{_HOST}:\d+\s*:\d+\]\s+\S{{1,80}}\s+UCX +INFO +(?:\S{{1,80}} )?"
    r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) ?(.+)"
)
# Printable, without brackets: text garbled by a second writer names no lane.
_LANES = re.compile(r"(?:tag|am)\(([ -'*-~]{1,2000})\)")
_INTEL = re.compile(r"\[\d{1,9}\] MPI startup\(\): libfabric provider: ([\w;]{1,80})")
#: Transports within a node: shared memory, and copies to and from GPUs.
_WITHIN = re.compile(r"self|vader|sm|smcuda|sysv|posix|cma|knem|xpmem|mm|cuda_\w+|gdr_copy|rocm_\w+|ze_\w+")


class AdapterCounts(OwnDocument, frozen=True):
    """Counts of an adapter; ``name``: of an interface, or of an RDMA port such as ``mlx5_0:1``."""

    name: Text
    sent_bytes: Bytes = field(name="sent")
    received_bytes: Bytes = field(name="received")
    ip_over_infiniband: bool = False


class GpuPlace(OwnDocument, frozen=True):
    """A GPU; ``ordinal``: number among the node's GPUs; ``pci``: PCIe address, such as ``0000:3b:00.0``."""

    ordinal: Index
    pci: Text


class RingNode(OwnDocument, frozen=True, kw_only=True):
    """Time and rate of messages from the previous and the next node. ``gpu``: the GPU whose memory held them."""

    rank: Index
    node: Text
    adapters: tuple[AdapterCounts, ...]
    from_before_s: Seconds
    from_before_mb_s: MbPerS = field(name="from_before_MBps")
    from_next_s: Seconds
    from_next_mb_s: MbPerS = field(name="from_next_MBps")
    gpu: GpuPlace | UnsetType = UNSET

    def __post_init__(self) -> None:
        names = [one.name for one in self.adapters]
        require(len({*names}) == len(names), "adapters: each adapter once")


class RingTrafficResult(NodeMeasurement, frozen=True):
    """Every node sent half of ``payload_bytes`` to the next node and half to the previous node, in the order of
    ``nodes``. Rates are in 10^6 bytes per second."""

    subcommand: Literal["ring-traffic"]
    payload_bytes: Size = field(name="bytes")
    bytes_each_way: Size
    nodes: tuple[RingNode, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.nodes) >= 2, "nodes: two or more")
        require([one.rank for one in self.nodes] == [*range(self.ranks)], "nodes: in the order of their ranks")
        require(self.payload_bytes == 2 * self.bytes_each_way, "bytes: twice the bytes each way")
        for one in self.nodes:
            rates = ((one.from_before_s, one.from_before_mb_s), (one.from_next_s, one.from_next_mb_s))
            for seconds, rate in rates:
                # The program prints six digits of each.
                exact = seconds > 0 and f"{rate:.6g}" == f"{self.bytes_each_way / seconds / 1e6:.6g}"
                require(exact, "from_before_MBps, from_next_MBps: the bytes each way over the time")

    @property
    def rates_mb_s(self) -> dict[str, tuple[float, float]]:
        """Return node -> (rate from the previous node, rate from the next node)."""
        return {one.node: (one.from_before_mb_s, one.from_next_mb_s) for one in self.nodes}

    @property
    def gpus(self) -> dict[str, GpuPlace]:
        return {one.node: one.gpu for one in self.nodes if one.gpu is not UNSET}

    @property
    def ordinals(self) -> tuple[int | None, ...]:
        """Return each node's GPU ordinal; None if messages were in host memory."""
        return tuple(None if one.gpu is UNSET else one.gpu.ordinal for one in self.nodes)

    @property
    def links_mb_s(self) -> list[tuple[str, str, float]]:
        """Return (node, next node, rate of the slower direction between them)."""
        return [
            (one.node, after.node, min(after.from_before_mb_s, one.from_next_mb_s))
            for one, after in zip(self.nodes, [*self.nodes[1:], self.nodes[0]], strict=True)
        ]

    @property
    def sent_bytes(self) -> dict[str, dict[str, int]]:
        """Return sent bytes by node and adapter."""
        return {one.node: {each.name: each.sent_bytes for each in one.adapters} for one in self.nodes}

    @property
    def received_bytes(self) -> dict[str, dict[str, int]]:
        """Return received bytes by node and adapter."""
        return {one.node: {each.name: each.received_bytes for each in one.adapters} for one in self.nodes}

    @property
    def speeds_mb_s(self) -> dict[str, float]:
        """Return each node's speed: the lower of its send and receive rates, each with the faster of two neighbours.

        A slow neighbour slows one link of a node; a slow adapter slows all of them.
        """
        speeds = {}
        for one, before, after in zip(
            self.nodes, [self.nodes[-1], *self.nodes], [*self.nodes[1:], self.nodes[0]], strict=False
        ):
            sent = max(after.from_before_mb_s, before.from_next_mb_s)
            speeds[one.node] = min(sent, max(one.from_before_mb_s, one.from_next_mb_s))
        return speeds

    @property
    def ip_over_infiniband(self) -> frozenset[str]:
        """Return interfaces that count only IP traffic over adapters that support RDMA."""
        return frozenset(each.name for one in self.nodes for each in one.adapters if each.ip_over_infiniband)


def ring_traffic(text: str, *, expect_nodes: int, expect_gpus: tuple[int, int] | None = None) -> RingTrafficResult:
    """
    :param expect_gpus: GPU ordinal of even and of odd nodes; None: messages in host memory.
    :raises ParseError: the text is not one JSON object of this format, figures contradict each other, or the nodes or
        GPUs are not the expected ones.
    """
    taken = expect_gpus or (None, None)
    ordinals = [taken[number % 2] for number in range(expect_nodes)]
    return RingTrafficResult.read(text, ranks=expect_nodes, ordinals=ordinals)


class LinkLoad(OwnDocument, frozen=True):
    """One direction of a link. ``use``: used share of its bandwidth over the whole simulated time."""

    link: Text
    bandwidth_bytes_s: Annotated[float, Meta(ge=1, le=Unit.BYTES_S.ceiling)]
    messages: Positive
    bytes: Bytes
    use: Number


class LinkUseResult(OwnDocument, frozen=True):
    """``busiest``: at most ``SHOWN`` of the ``links_used`` links that carried traffic, by descending use."""

    format: Literal["kappa-link-use"]
    version: Literal[1]
    simulated_s: Seconds
    links_used: Count
    busiest: tuple[LinkLoad, ...]

    def __post_init__(self) -> None:
        shown = min(self.links_used, SHOWN)
        require(len(self.busiest) == len({one.link for one in self.busiest}) == shown, f"busiest: {shown} links")
        ordered = sorted(self.busiest, key=lambda one: (-one.use, one.link))
        require(ordered == [*self.busiest], "busiest: falling use, and links of the same use by name")
        for one in self.busiest:
            # Exact equality: the program computes the same from the same figures.
            use = one.bytes / (one.bandwidth_bytes_s * self.simulated_s) if self.simulated_s else 0
            require(one.use == use, f"use: {use:g}, bytes over bandwidth and simulated time")


class Lane(NamedTuple):
    """A transport; ``adapter`` is empty if the library does not report it."""

    protocol: str
    adapter: str = ""

    def __str__(self) -> str:
        return f"{self.protocol} on {self.adapter}" if self.adapter else self.protocol


def lanes(text: str) -> dict[str, frozenset[Lane]]:
    """Return the lanes between nodes by reporting host, ``""`` for hosts without a name; empty without reports."""
    found: dict[str, set[Lane]] = {}
    for line in text.splitlines():
        if len(line) > MAX_LINE_CHARS:
            continue
        if bml := _BML.fullmatch(line):
            found.setdefault(bml[1], set()).add(Lane(bml[2]))
        elif ucx := _UCX.fullmatch(line.rstrip("; ")):
            told = (lane for listed in _LANES.findall(ucx[2]) for lane in listed.split())
            found.setdefault(ucx[1], set()).update(Lane(*lane.split("/", 1)) for lane in told)
        elif intel := _INTEL.fullmatch(line):
            found.setdefault("", set()).add(Lane(intel[1]))
    between = {host: {lane for lane in told if not _WITHIN.fullmatch(lane.protocol)} for host, told in found.items()}
    return {host: frozenset(told) for host, told in between.items() if told}
