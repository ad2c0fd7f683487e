"""The schema of a fabric's YAML file. Every number states its origin."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, structs

Origin = Literal["measured", "specification", "fitted", "assumed"]
Text = Annotated[str, Meta(min_length=1)]
# Above any machine's values: a larger number has a wrong unit.
_Real = Annotated[float, Meta(ge=0, le=1e6)]
_Whole = Annotated[int, Meta(ge=1, le=1 << 30)]
_Wholes = Annotated[list[_Whole], Meta(min_length=1, max_length=6)]


class _Described(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    origin: Origin
    source: Text
    """The document and the place in it, or the reason for an assumption."""


class Number(_Described, frozen=True, forbid_unknown_fields=True, kw_only=True):
    value: _Real


class Count(_Described, frozen=True, forbid_unknown_fields=True, kw_only=True):
    value: _Whole


class Counts(_Described, frozen=True, forbid_unknown_fields=True, kw_only=True):
    value: _Wholes


class _Part(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Topology(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="shape", tag=""):
    """The base of all topologies; the key ``shape`` selects one."""


class FatTree(_Topology, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="fat-tree"):
    """A parallel-ports generalised fat tree, with a figure for each level of links, from the nodes up.

    A switch has ``down`` children. A child has ``up`` parents and ``parallel`` cables to each of them. A tapered tree
    has fewer cables up than down.
    """

    title: ClassVar = "fat tree"
    nodes: Count
    down: Counts
    up: Counts
    parallel: Counts | None = None


class Torus(_Topology, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="torus"):
    """A ring of switches in each dimension; a ring of two is one cable."""

    title: ClassVar = "torus"
    sizes: Counts
    nodes_per_switch: Count


class Mesh(_Topology, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="mesh"):
    """A row of switches in each dimension."""

    title: ClassVar = "mesh"
    sizes: Counts
    nodes_per_switch: Count


class AllToAll(_Topology, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="all-to-all"):
    """Chassis of a shared-memory machine. A node is a socket; the sockets of a chassis form a ring.

    Each ASIC has ``links_between_asics`` cables to each ASIC of every other chassis.
    """

    title: ClassVar = "all-to-all chassis"
    chassis: Count
    sockets_per_chassis: Count
    asics_per_chassis: Count
    links_between_asics: Count
    socket_link_gb_s: Number
    socket_link_latency_us: Number


Topology = FatTree | Torus | Mesh | AllToAll
SHAPES = ("fat-tree", "torus", "mesh", "all-to-all")


class FabricLink(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One direction of a cable of the fabric, and the switches (or ASICs) that it joins."""

    bandwidth_gb_s: Number
    """Data rate without line coding."""
    payload_share: Number
    """Share of the data rate that headers and protocol leave for messages, 0 to 1."""
    cable_latency_us: Number
    switch_latency_us: Number


class NodeMemory(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The memory that carries all messages inside a node together."""

    bandwidth_gb_s: Number
    latency_us: Number


class FabricNode(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    ranks: Count
    memory: NodeMemory
    dma_gb_s: Number | None = None
    """Rate of the adapter from memory, and to memory, for all ranks together; messages inside a node use it, too."""


class SoftwareBySize(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Results of a calibration at message sizes in ascending order, with linear interpolation between two sizes.

    ``isend_us`` is the time of each send in a burst; ``send_us`` is the time of a send that the rank waits for.
    """

    source: Text
    bytes: Annotated[list[_Whole], Meta(min_length=2)]
    send_us: list[_Real]
    isend_us: list[_Real]
    receive_us: list[_Real]


class HeldOut(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fabric's error on values that its fit did not use: the larger of measured/predicted and the reverse."""

    check: Text
    figures: _Whole
    median_factor: _Real
    largest_factor: _Real


class Calibration(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    held_out: Annotated[list[HeldOut], Meta(min_length=1)]


class FabricSoftware(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Costs of the MPI software.

    ``send_us`` and ``receive_us`` occupy the rank, for each message of at most ``eager_limit_bytes``.
    ``node_latency_us`` delays a message that leaves its node or goes through its adapter. It occupies no rank.
    """

    mpi: Text
    collectives: Literal["mpich", "ompi", "mvapich2", "impi"]
    """SimGrid's collective selector: the algorithms that this library chooses."""
    send_us: Number
    receive_us: Number
    node_latency_us: Number
    eager_limit_bytes: Count
    by_size: SoftwareBySize | None = None
    """Replaces ``send_us`` and ``receive_us``."""


class InNetwork(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Reductions on switches."""

    level_latency_us: Number


class Degraded(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The lost switches and links; routes go around them."""

    descr: Text
    switches: list[str] = []
    links: list[str] = []


class Shared(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A second job that uses ``share`` of each link all the time, and whose packets delay other packets.

    The rest of the bandwidth remains. A message waits at each of these links for share / (2 (1 - share)) packets: the
    mean wait of a queue with random arrivals and packets of one size (M/D/1).
    """

    descr: Text
    links: Literal["between-switches", "all"]
    share: Number
    packet_bytes: Count


class Variants(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    degraded: Degraded | None = None
    shared: Shared | None = None


class SimulatedFabric(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fabric. ``kind`` is calibrated if, and only if, the origin of a number is fitted."""

    name: str
    descr: Text
    kind: Literal["calibrated", "spec-only"]
    topology: Topology
    link: FabricLink
    node: FabricNode
    software: FabricSoftware
    in_network: InNetwork | None = None
    variants: Variants = Variants()
    calibration: Calibration | None = None

    @property
    def error(self) -> float | None:
        """The largest factor on held-out values; ``None`` without held-out values."""
        return max(each.largest_factor for each in self.calibration.held_out) if self.calibration else None

    def with_node_latency(self, microseconds: float) -> "SimulatedFabric":
        """Return the fabric with another node latency, for a sweep."""
        # The origin stays the same, so that the fabric's kind stays valid.
        latency = Number(value=microseconds, origin=self.software.node_latency_us.origin, source="swept")
        return structs.replace(self, software=structs.replace(self.software, node_latency_us=latency))

    def called(self, name: str) -> "SimulatedFabric":
        return structs.replace(self, name=name)

    @property
    def nodes(self) -> int:
        match self.topology:
            case FatTree(nodes=nodes):
                return nodes.value
            case Torus(sizes=sizes, nodes_per_switch=each) | Mesh(sizes=sizes, nodes_per_switch=each):
                count = each.value
                for size in sizes.value:
                    count *= size
                return count
            case AllToAll(chassis=chassis, sockets_per_chassis=sockets):
                return chassis.value * sockets.value

    @property
    def ranks_per_node(self) -> int:
        return self.node.ranks.value
