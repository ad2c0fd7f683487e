"""Network adapters and links of messages: ``kappa-measure ring-traffic``, ``link_use.so``, the MPI library's report.

``ring-traffic`` writes what each adapter of each node counted while MPI sent, ``link_use.so`` what the busiest links of
a simulated machine carried: one JSON object each. MPI libraries report their transports in lines between all else that
a job writes:

- Open MPI with ``bml_base_verbose``: ``[HOST:PID] mca: bml: Using tcp btl for send to … on node N``
- UCX with ``UCX_LOG_LEVEL=info``: ``[TIME] [HOST:PID:TID] FILE:LINE UCX INFO ep_cfg[1]: tag(rc_mlx5/mlx5_0:1);``, of
  newer versions ``… UCX INFO NAME inter-node cfg#1 tag(…)``
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

#: Links that ``link_use.so`` writes at most.
SHOWN = 10
_HOST = r"([\w.-]{1,255})"
_BML = re.compile(rf"\[{_HOST}:\d+\] mca: bml: Using (\w{{1,40}}) btl for send to \S{{1,60}} on node \S{{1,255}}")
_UCX = re.compile(
    rf"\[\d+\.\d+\] \[{_HOST}:\d+\s*:\d+\]\s+\S{{1,80}}\s+UCX +INFO +(?:\S{{1,80}} )?"
    r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) ?(.+)"
)
# Printable, without brackets: what a second writer garbled names no lane.
_LANES = re.compile(r"(?:tag|am)\(([ -'*-~]{1,2000})\)")
_INTEL = re.compile(r"\[\d{1,9}\] MPI startup\(\): libfabric provider: ([\w;]{1,80})")
#: Within a node: shared memory, and copies to and from GPUs.
_WITHIN = re.compile(r"self|vader|sm|smcuda|sysv|posix|cma|knem|xpmem|mm|cuda_\w+|gdr_copy|rocm_\w+|ze_\w+")


class AdapterCounts(OwnDocument, frozen=True):
    """``name`` of an interface, or of an RDMA port as ``mlx5_0:1``."""

    name: Text
    sent_bytes: Bytes = field(name="sent")
    received_bytes: Bytes = field(name="received")
    ip_over_infiniband: bool = False


class GpuPlace(OwnDocument, frozen=True):
    """``ordinal`` among the GPUs of its node, and where it is on PCIe, as ``0000:3b:00.0``."""

    ordinal: Index
    pci: Text


class RingNode(OwnDocument, frozen=True, kw_only=True):
    """Time and rate of the messages from the node before and from the next. ``gpu``: in whose memory they lay."""

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
    """Every node sent ``payload_bytes``, half of them to the next node and half to the one before, in the order of
    ``nodes``; rates are in 10^6 bytes a second."""

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
                # Six digits of each are printed.
                exact = seconds > 0 and f"{rate:.6g}" == f"{self.bytes_each_way / seconds / 1e6:.6g}"
                require(exact, "from_before_MBps, from_next_MBps: the bytes each way over the time")

    @property
    def rates_mb_s(self) -> dict[str, tuple[float, float]]:
        """Rate from the node before, and from the next."""
        return {one.node: (one.from_before_mb_s, one.from_next_mb_s) for one in self.nodes}

    @property
    def gpus(self) -> dict[str, GpuPlace]:
        return {one.node: one.gpu for one in self.nodes if one.gpu is not UNSET}

    @property
    def ordinals(self) -> tuple[int | None, ...]:
        """Number of the GPU of each node, None where messages lay in the host's memory."""
        return tuple(None if one.gpu is UNSET else one.gpu.ordinal for one in self.nodes)

    @property
    def links_mb_s(self) -> list[tuple[str, str, float]]:
        """Each node with the next, and the rate between them in the slower direction."""
        return [
            (one.node, after.node, min(after.from_before_mb_s, one.from_next_mb_s))
            for one, after in zip(self.nodes, [*self.nodes[1:], self.nodes[0]], strict=True)
        ]

    @property
    def sent_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {one.node: {each.name: each.sent_bytes for each in one.adapters} for one in self.nodes}

    @property
    def received_bytes(self) -> dict[str, dict[str, int]]:
        """By node and adapter."""
        return {one.node: {each.name: each.received_bytes for each in one.adapters} for one in self.nodes}

    @property
    def speeds_mb_s(self) -> dict[str, float]:
        """Of each node: how fast it sends to, and receives from, the better of its two neighbours, whichever is slower.

        A slow neighbour slows one link of a node, a slow adapter all.
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
        """Interfaces that count only TCP and UDP over what could do RDMA."""
        return frozenset(each.name for one in self.nodes for each in one.adapters if each.ip_over_infiniband)


def ring_traffic(text: str, *, expect_nodes: int, expect_gpus: tuple[int, int] | None = None) -> RingTrafficResult:
    """
    :param expect_gpus: which GPU nodes of even, and of odd, numbers were to take; None: messages in the host's memory.
    :raises ParseError: not one JSON object of this format, figures that contradict each other, or other nodes or GPUs
        than expected.
    """
    taken = expect_gpus or (None, None)
    ordinals = [taken[number % 2] for number in range(expect_nodes)]
    return RingTrafficResult.read(text, ranks=expect_nodes, ordinals=ordinals)


class LinkLoad(OwnDocument, frozen=True):
    """One direction of a link. ``use``: the share of its bandwidth over all of the simulated time."""

    link: Text
    bandwidth_bytes_s: Annotated[float, Meta(ge=1, le=Unit.BYTES_S.ceiling)]
    messages: Positive
    bytes: Bytes
    use: Number


class LinkUseResult(OwnDocument, frozen=True):
    """``busiest``: at most ten of the ``links_used`` links that carried anything, by falling use."""

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
            # To the last bit: the program computes the same from the same figures.
            use = one.bytes / (one.bandwidth_bytes_s * self.simulated_s) if self.simulated_s else 0
            require(one.use == use, f"use: {use:g}, bytes over bandwidth and simulated time")


class Lane(NamedTuple):
    """``adapter`` is empty where the library does not say."""

    protocol: str
    adapter: str = ""

    def __str__(self) -> str:
        return f"{self.protocol} on {self.adapter}" if self.adapter else self.protocol


def lanes(text: str) -> dict[str, frozenset[Lane]]:
    """The lanes between nodes by the host that says so, ``""`` where it does not name itself; none if nobody does."""
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
