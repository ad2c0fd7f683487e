"""What a report holds, as plain data. Strings are clean (see ``untrusted``); what is absent is ``None`` or empty."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

# How a case was measured again: in its own job, or in a session that measured cases of another again.
SAME_ALLOCATION, SAME_NODES, OTHER_NODES = "same-allocation", "same-nodes", "other-nodes"


@dataclass(frozen=True)
class Metric:
    """One performance variable as ReFrame recorded it.

    The fractions are relative to ``reference``, or absolute bounds when it is 0; ``None`` is unbounded.
    ``value`` is ``None`` when what was recorded is no number; ``raw`` says what it was.
    """

    name: str
    value: float | None
    raw: str
    unit: str
    reference: float
    lower_fraction: float | None
    upper_fraction: float | None
    result: str


@dataclass(frozen=True)
class ReferenceSource:
    """Where a reference comes from: contract, vendor, theoretical, learned or simulated."""

    source: str
    date: str
    samples: int
    method: str


@dataclass(frozen=True)
class Curve:
    """A quantity over another, for instance latency over message size; ``gated`` maps x, as text, to
    the metric at that point."""

    name: str
    x: str
    x_unit: str
    y: str
    y_unit: str
    points: tuple[tuple[float, float], ...]
    gated: dict[str, str]


@dataclass(frozen=True)
class HeatMap:
    """A quantity over two others; ``points`` are (x, y, z)."""

    name: str
    x: str
    x_unit: str
    y: str
    y_unit: str
    z: str
    z_unit: str
    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Scaling:
    """One point of a strong-scaling series; ``karp_flatt`` is ``None`` with one rank."""

    series: str
    ranks: int
    speedup: float
    efficiency: float
    karp_flatt: float | None
    kappa_us: float


@dataclass(frozen=True)
class PerNode:
    """One figure for each node."""

    metric: str
    unit: str
    values: dict[str, float]


@dataclass(frozen=True)
class Matrix:
    """A figure for each pair of nodes: a row and a column for each of ``nodes``; ``None`` where there is none."""

    name: str
    unit: str
    nodes: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Finding:
    """What a check has against a node, link or switch. ``score`` is how many times the noise it stands out, ``None``
    where nothing could be measured; ``slowdown`` is how many times slower than its like it is."""

    kind: str
    name: str
    nodes: tuple[str, ...]
    quantity: str
    score: float | None
    slowdown: float | None
    evidence: str


@dataclass(frozen=True)
class LoadByOthers:
    """What others than the job used of a node, or of the machine that all nodes share, while it was measured; what a
    hypervisor gave to others, ``steal_cores``, is among ``cores``."""

    place: str
    cores: float
    of_cores: float
    steal_cores: float
    disk_mb_per_s: float


@dataclass(frozen=True)
class CensusCase:
    """A case that the site offers, the features that its parameters need, and each (partition, environment)."""

    name: str
    features: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CensusCheck:
    """A check of the suite; ``offered`` when some partition and environment of the site has all it needs."""

    name: str
    family: str
    tags: frozenset[str]
    offered: bool
    missing: tuple[str, ...]
    cases: tuple[CensusCase, ...] | None
    """``None`` in reports from before the census listed them."""


@dataclass(frozen=True)
class CensusPartition:
    """What a partition has, as the site says; sockets and NUMA domains are 0 where it gives no topology."""

    nodes: int
    sockets: int
    numa_domains: int
    features: frozenset[str]


@dataclass(frozen=True)
class Census:
    suite_revision: str
    checks: tuple[CensusCheck, ...]
    not_loaded: tuple[tuple[str, str], ...]
    """(file, problem) of each check that did not load."""
    install: dict[str, str]
    """feature -> the command that installs it."""
    partitions: dict[str, CensusPartition]


@dataclass(frozen=True)
class Case:
    """One test case of one run. ``check_class`` is ``None`` for a check that is not Kappa's."""

    name: str
    system: str
    partition: str
    environ: str
    result: str
    fail_phase: str = ""
    fail_reason: str = ""
    error_type: str = ""
    run: int = 0
    nodes: tuple[str, ...] = ()
    job_id: str | None = None
    output: str | None = None
    """Path of the job's standard output."""
    run_time_s: float | None = None
    metrics: tuple[Metric, ...] = ()
    check_class: str | None = None
    family: str = ""
    variant: str = ""
    """Scale, placement and the like: cases of a class that share it do the same on other nodes."""
    declared_metrics: tuple[str, ...] = ()
    informational: frozenset[str] = frozenset()
    reference_sources: dict[str, ReferenceSource] = field(default_factory=dict)
    reference_problem: str = ""
    reference_file: str = ""
    curves: tuple[Curve, ...] = ()
    per_node: tuple[PerNode, ...] = ()
    heat_maps: tuple[HeatMap, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    findings: tuple[Finding, ...] = ()
    scaling: Scaling | None = None
    hashcode: str = ""
    """What ReFrame selects the case by, without what its options added; empty when they cannot be left out."""
    local: bool = False
    """It ran where ReFrame ran: its node is none of the partition's."""
    partition_size: int = 0
    """Nodes of the partition; 0 when not known."""
    purpose: str = ""
    """``SAME_ALLOCATION``, ``SAME_NODES`` or ``OTHER_NODES`` when it was measured again, else empty."""
    first: "Case | None" = None
    """As its job measured first, when that was out of bounds and was measured again in the same allocation."""
    asked_nodes: tuple[str, ...] = ()
    """When it was measured again: the nodes that it had to take or to avoid; empty when not known."""
    added: tuple[str, ...] = ()
    """The parameters that ReFrame's ``--distribute``, ``--repeat`` and ``-P`` added; its name leaves them out."""
    pinned: str = ""
    """The node that ReFrame's ``--distribute`` put it on, else empty."""
    suspects: tuple[str, ...] = ()
    hint: str = ""
    load_by_others: tuple[LoadByOthers, ...] = ()
    robbed: str = ""
    """Why what was measured is not the nodes' own speed: others used too much of the machine that they share."""
    provenance: dict[str, Any] = field(default_factory=dict)
    census: Census | None = None

    @property
    def title(self) -> str:
        """Name, partition and environment, as ReFrame writes them, and the node if it was put on one."""
        return f"{self.name} on {self.partition}+{self.environ}" + (f", {self.pinned}" if self.pinned else "")

    @cached_property
    def involved(self) -> frozenset[str]:
        """The nodes of the job and those that it measured: Slurm's list of a job that is ending leaves nodes out."""
        return frozenset(self.nodes).union(
            *(figures.values for figures in self.per_node), *(matrix.nodes for matrix in self.matrices)
        )

    @property
    def selected(self) -> tuple[str, ...]:
        """What ReFrame selects this case by: the case that was measured again shares it."""
        return self.name, self.system, self.partition, self.environ

    @property
    def identity(self) -> tuple[str, ...]:
        """What a retry of this case in the same session shares with it."""
        return *self.selected, *self.added


@dataclass(frozen=True)
class Session:
    """A ReFrame session. ``runs`` holds more than one list of cases when cases were retried or the session rerun."""

    path: str
    uuid: str
    hostname: str
    user: str
    reframe_version: str
    time_start: str
    elapsed_s: float | None
    command_line: str
    mode: str | None
    purpose: str
    """That of its cases."""
    confirms: str
    """The uuid of the session of which it measured cases again, else empty."""
    restored_cases: int
    runs: tuple[tuple[Case, ...], ...]
    again: tuple["Session", ...] = ()
    """The sessions that measured cases of this one again."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({case.system for cases in self.runs for case in cases}))
