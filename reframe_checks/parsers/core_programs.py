"""Results of the programs that measure the cores of nodes, one JSON object each.

The programs are ``kappa-measure`` with ``affinity``, ``bits`` and ``node``, and ``emt alike``, which also reports bits.
"""

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, field

from reframe_checks.parsers.json_reader import (
    Count,
    GflopPerS,
    Index,
    MbPerS,
    Mebibytes,
    NodeMeasurement,
    OnNodes,
    OwnDocument,
    OwnMeasurement,
    Positive,
    Text,
    require,
    require_each_once,
)

#: Pages that ``affinity`` asks about, of each thread.
PAGES = 64
Numbers = tuple[Index, ...]
#: Domain of the cores, domain of the memory.
DomainPair = tuple[int, int]


class PagesOfDomain(OwnDocument, frozen=True):
    """Pages of a NUMA domain; a ``domain`` below 0 is the kernel's error number."""

    domain: Annotated[int, Meta(ge=-4095, le=10**8)]
    pages: Positive


class ThreadAffinity(OwnDocument, frozen=True):
    """The place of a thread.

    ``cpus``: CPUs on which it may run at the end. ``ran_on``: CPUs on which it was seen, in the NUMA domains
    ``domains``. ``triad_mbps``: 10^6 bytes per second.
    """

    cpus: Numbers
    ran_on: Numbers
    domains: Numbers
    page_list: tuple[PagesOfDomain, ...] = field(name="pages")
    triad_mbps: MbPerS = field(name="triad_MBps")

    def __post_init__(self) -> None:
        for name in ("cpus", "ran_on", "domains"):
            require_each_once(getattr(self, name), name)
        counted = sum(self.pages.values()) if len(self.pages) == len(self.page_list) else -1
        require(counted == PAGES or not self.page_list, f"pages: {PAGES} pages, each NUMA domain once")

    @property
    def pages(self) -> dict[int, int]:
        """The pages of its memory: NUMA domain -> number."""
        return {one.domain: one.pages for one in self.page_list}


class RankAffinity(OwnDocument, frozen=True):
    rank: Index
    node: Text
    cpus: Numbers
    threads: tuple[ThreadAffinity, ...]

    def __post_init__(self) -> None:
        require_each_once(self.cpus, "cpus")
        require(bool(self.threads), "threads: one or more")


class AffinityResult(OwnMeasurement, frozen=True):
    subcommand: Literal["affinity"]
    rank_list: tuple[RankAffinity, ...] = field(name="ranks")

    def __post_init__(self) -> None:
        require([one.rank for one in self.rank_list] == [*range(self.ranks)], "ranks: each rank once and in order")


class CoreBits(NamedTuple):
    """The bits of a work on a core.

    ``rounds``: pairs of a digest (16 hexadecimal digits) and the number of rounds with it; a sound core has one pair.
    ``basis``: the instruction set or library that the bits depend on. ``core``: the kernel's number.
    """

    node: str
    core: int
    work: str
    basis: str
    rounds: tuple[tuple[str, int], ...]


class DigestRounds(OwnDocument, frozen=True):
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    rounds: Positive


class WorkBits(OwnDocument, frozen=True):
    """``cores``: the digests of each core of the node."""

    work: Text
    basis: Text
    cores: tuple[tuple[DigestRounds, ...], ...]

    def __post_init__(self) -> None:
        for digests in self.cores:
            require_each_once([one.digest for one in digests], "digest")


class NodeBits(OwnDocument, frozen=True):
    node: Text
    cores: Numbers
    works: tuple[WorkBits, ...]

    def __post_init__(self) -> None:
        require_each_once(self.cores, "cores")
        require_each_once([one.work for one in self.works], "works")
        require(all(len(one.cores) == len(self.cores) for one in self.works), "works: one list for each core")


class BitSweepResult(NodeMeasurement, frozen=True):
    """The result of ``kappa-measure bits``; ``variant`` is the number of the initial data."""

    subcommand: Literal["bits"]
    variant: Count
    nodes: tuple[NodeBits, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_same_works(self.nodes)

    @property
    def bits(self) -> list[CoreBits]:
        """Return the bits of all works and cores."""
        return _bits(self.nodes)


class EmtAlikeResult(OnNodes, frozen=True):
    """The result of ``emt alike``, for one work; ``ranks`` counts the nodes."""

    format: Literal["kappa-bit-sweep"]
    version: Literal[1]
    variant: Count
    nodes: tuple[NodeBits, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_same_works(self.nodes)

    @property
    def bits(self) -> list[CoreBits]:
        return _bits(self.nodes)


def _require_same_works(nodes: tuple[NodeBits, ...]) -> None:
    works = {tuple(one.work for one in each.works) for each in nodes}
    require(len(works) == 1, "works: the same works on all nodes")


def _bits(nodes: tuple[NodeBits, ...]) -> list[CoreBits]:
    return [
        CoreBits(each.node, core, work.work, work.basis, tuple(sorted((one.digest, one.rounds) for one in digests)))
        for each in nodes
        for work in each.works
        for core, digests in zip(each.cores, work.cores, strict=True)
    ]


class CoreSpeeds(OwnDocument, frozen=True):
    """Speeds, one value for each core: triad in MB/s (10^6 bytes per second), multiply-adds in Gflop/s.

    ``steady``: the mean speed of five time windows divided by the best, for the less steady kernel.
    """

    triad_mbps: tuple[MbPerS, ...] = field(name="triad_MBps")
    gflops: tuple[GflopPerS, ...]
    steady: tuple[Annotated[float, Meta(gt=0, le=1.001)], ...]

    def require_cores(self, cores: int) -> None:
        found = {len(self.triad_mbps), len(self.gflops), len(self.steady)}
        require(found == {cores}, f"triad_MBps, gflops, steady: a figure for each of {cores} cores")


class SweptNode(OwnDocument, frozen=True):
    """A node: ``cores`` are the kernel's numbers, ``wrong`` the cores with a wrong result."""

    node: Text
    cores: Numbers
    wrong: Numbers

    def __post_init__(self) -> None:
        require_each_once(self.cores, "cores")
        require({*self.wrong} <= {*self.cores}, "wrong: some of the cores")


class NodeSpeeds(SweptNode, frozen=True):
    alone: CoreSpeeds
    together: CoreSpeeds

    def __post_init__(self) -> None:
        super().__post_init__()
        for speeds in (self.alone, self.together):
            speeds.require_cores(len(self.cores))


class NodeSweepResult(NodeMeasurement, frozen=True):
    subcommand: Literal["node cores"]
    mib_per_core: Mebibytes
    nodes: tuple[NodeSpeeds, ...]


class Fill(CoreSpeeds, frozen=True):
    """Speeds of the ``active`` cores while the others are idle; ``spread``: evenly over NUMA domains and caches."""

    spread: bool
    active: Numbers


class NodeFillSpeeds(SweptNode, frozen=True):
    domains: Numbers
    available_mib: Mebibytes = field(name="available_MiB")
    fills: tuple[Fill, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        places = list(zip(self.domains, self.cores, strict=False))
        in_order = len(self.domains) == len(self.cores) and sorted(places) == places
        require(in_order, "domains: a NUMA domain for each core, in whose order they are")
        found = [(fill.spread, fill.active) for fill in self.fills]
        require(found == _fills(self.cores), "fills: one core, a quarter, half and all, spread; a quarter, half packed")
        for fill in self.fills:
            fill.require_cores(len(fill.active))

    @property
    def spread(self) -> dict[int, Fill]:
        """Speeds of cores that are spread over NUMA domains and caches: number of active cores -> speeds."""
        return {len(fill.active): fill for fill in self.fills if fill.spread}

    @property
    def packed(self) -> dict[int, Fill]:
        """Speeds of cores that fill one domain after the other: number of active cores -> speeds."""
        return {len(fill.active): fill for fill in self.fills if not fill.spread}


class NodeFillsResult(NodeMeasurement, frozen=True):
    subcommand: Literal["node fills"]
    mib_per_core: Mebibytes
    nodes: tuple[NodeFillSpeeds, ...]


class MemoryPath(OwnDocument, frozen=True):
    """The path from the cores of a NUMA domain to the memory of a domain.

    ``distance``: the kernel's, 10 for a domain's own memory. ``triad_mb_s``: all cores of the domain together.
    ``latency_ns``: a load that depends on the load before.
    """

    cores: Index
    memory: Index
    distance: Annotated[int, Meta(ge=10, le=255)]
    triad_mb_s: MbPerS = field(name="triad_MBps")
    #: A load takes no longer, wherever its memory is: a thousand times the slowest.
    latency_ns: Annotated[float, Meta(gt=0, le=1e6)]
    correct: bool

    def __post_init__(self) -> None:
        local = self.cores == self.memory
        require((self.distance == 10) == local, "distance: 10 of each domain to itself and no other")


class NodeMemoryPaths(OwnDocument, frozen=True):
    node: Text
    domains: Numbers
    pairs: tuple[MemoryPath, ...]

    def __post_init__(self) -> None:
        require(sorted({*self.domains}) == [*self.domains] != [], "domains: one or more, in order")
        expected = [(cores, memory) for cores in self.domains for memory in self.domains]
        require([*self.paths] == expected and len(self.pairs) == len(expected), "pairs: every pair of domains in order")

    @property
    def paths(self) -> dict[DomainPair, MemoryPath]:
        return {(one.cores, one.memory): one for one in self.pairs}


class NodeNumaResult(NodeMeasurement, frozen=True):
    subcommand: Literal["node numa"]
    mib_per_core: Mebibytes
    nodes: tuple[NodeMemoryPaths, ...]


def _fills(cores: tuple[int, ...]) -> list[tuple[bool, tuple[int, ...]]]:
    every = len(cores)
    parts = sorted({every // 2, every // 4} - {0})
    return [
        *(
            (True, tuple(cores[number * every // active] for number in range(active)))
            for active in sorted({1, *parts, every})
        ),
        *((False, cores[:active]) for active in parts if active != every),
    ]


def affinity(text: str, *, expect_ranks: int) -> tuple[RankAffinity, ...]:
    """Parse the places of all ranks, in order of their numbers.

    :raises ParseError: not one JSON object of this subcommand and version; a rank is missing or occurs twice.
    """
    return AffinityResult.read(text, ranks=expect_ranks).rank_list


def node_sweep(text: str) -> dict[str, NodeSpeeds]:
    """Parse the speeds of nodes: node -> speeds.

    :raises ParseError: not one JSON object of this subcommand and version; a node is missing or occurs twice; a list
        does not have one figure for each core. The other functions raise it in the same cases.
    """
    return {one.node: one for one in NodeSweepResult.read(text).nodes}


def node_fills(text: str) -> dict[str, NodeFillSpeeds]:
    return {one.node: one for one in NodeFillsResult.read(text).nodes}


def node_numa(text: str) -> dict[str, dict[DomainPair, MemoryPath]]:
    return {one.node: one.paths for one in NodeNumaResult.read(text).nodes}
