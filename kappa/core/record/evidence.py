"""What a check leaves behind, as it is written and as it is read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.documents import fit

S = TypeVar("S", bound=Struct)

RANK_CRASHED = "crash of a rank:"
"""Quantity of a finding against the node on which the first rank crashed."""


class Figure(Struct, frozen=True, array_like=True):
    """An entry of ReFrame's ``perfvalues``: anything may have been extracted as the value.

    The bounds are fractions of the reference, or absolute when it is 0; ``None`` is unbounded.
    """

    value: float | bool | str | list[Any] | dict[str, Any] | None
    reference: float | None
    lower: float | None
    upper: float | None
    unit: str | None
    result: str | None = None

    @property
    def failed(self) -> bool:
        return self.result == "fail"


def figures_of(perfvalues: Mapping[str, Figure | Sequence[Any]] | None) -> dict[str, Figure]:
    """Each metric and its figure, from ReFrame's ``perfvalues``, read from a report or of a check that has just run.

    A key there is ``SYSTEM:PARTITION:METRIC``.
    """
    return {
        key.rpartition(":")[2]: entry if isinstance(entry, Figure) else Figure(*entry)
        for key, entry in (perfvalues or {}).items()
    }


class Curve(Struct, frozen=True):
    """A quantity over another, for instance latency over message size; ``gated`` maps x, as text, to
    the metric at that point."""

    x: str
    x_unit: str
    y: str
    y_unit: str
    points: tuple[tuple[float, float], ...]
    gated: dict[str, str] = {}


class HeatMap(Struct, frozen=True):
    """A quantity over two others; ``points`` are (x, y, z)."""

    x: str
    x_unit: str
    y: str
    y_unit: str
    z: str
    z_unit: str
    points: tuple[tuple[float, float, float], ...]


class PerNode(Struct, frozen=True):
    """One figure for each node."""

    unit: str
    values: dict[str, float]


class MatrixFile(Struct, frozen=True):
    """Where the values of a large matrix lie, and what is known of them without it.

    ``name`` is the file's in the folder ``matrices`` beside the report, ``missing`` counts the pairs without a figure.
    """

    name: str
    sha256: str
    lowest: float | None
    median: float | None
    highest: float | None
    missing: int


class Matrix(Struct, frozen=True):
    """A figure for each pair of ``nodes``, or of groups of them: a row and a column for each; ``None`` where there is
    none.

    ``values``, or the ``file`` with these: one of them is there.
    """

    unit: str
    nodes: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...] | None = None
    file: MatrixFile | None = None
    of: Literal["nodes", "groups of nodes"] = "nodes"

    def __post_init__(self) -> None:
        size = len(self.nodes)
        if len(set(self.nodes)) < size:
            raise ValueError("expected each of the nodes once")
        if self.values is None and self.file is None:
            raise ValueError("'values' is a required property where there is no 'file'")
        if self.values is not None and (len(self.values) != size or any(len(row) != size for row in self.values)):
            raise ValueError(f"expected {size} lists of {size} as values, a row and a column for each node")


class Finding(Struct, frozen=True):
    """What a check has against a node, link, switch, a file system's target or server, or an adapter that is slow on
    all nodes (``rail``, which blames no ``nodes``). ``score`` is how many times the noise it stands out, ``None`` where
    nothing could be measured; ``slowdown`` is how many times slower than its like it is."""

    kind: Literal["node", "link", "switch", "target", "server", "rail"]
    name: str
    nodes: tuple[str, ...]
    quantity: str
    score: float | None
    slowdown: float | None
    evidence: str


class Scaling(Struct, frozen=True):
    """One point of a strong-scaling series; ``karp_flatt`` is ``None`` with one rank.

    ``kappa_us`` is the median of ``kappa_repeats_us`` where these were recorded. ``heaviest_task_us``: no step can be
    shorter, however many ranks.
    """

    series: str
    ranks: Annotated[int, Meta(ge=1)]
    speedup: float
    efficiency: float
    karp_flatt: float | None
    kappa_us: float
    kappa_repeats_us: tuple[float, ...] = ()
    phi_us: float | None = None
    heaviest_task_us: float | None = None


class LoadByOthers(Struct, frozen=True):
    """What others than the job used of a node, or of the machine that all nodes share, while it was measured; what a
    hypervisor gave to others, ``steal_cores``, is among ``cores``."""

    cores: float
    of_cores: float
    steal_cores: float
    disk_mb_per_s: float


class CensusCase(Struct, frozen=True):
    """A case that the site offers, the features that its parameters need, and each (partition, environment)."""

    name: str
    features: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


class CensusPartition(Struct, frozen=True):
    """What a partition has, as the site says; sockets and NUMA domains are 0 where it gives no topology."""

    nodes: int
    sockets: int
    numa_domains: int
    features: frozenset[str]


class CensusCheck(Struct, frozen=True):
    """A check of the suite; ``offered`` when some partition and environment of the site has all it needs."""

    name: str
    family: str
    offered: bool
    missing: tuple[str, ...]
    tags: tuple[str, ...] = ()
    cases: tuple[CensusCase, ...] | None = None
    """``None`` in reports from before the census listed them."""


class NotLoaded(Struct, frozen=True):
    """A file of the suite with a check that did not load."""

    file: str
    problem: str


class Census(Struct, frozen=True):
    """``install`` maps a feature to the command that installs it."""

    checks: tuple[CensusCheck, ...]
    not_loaded: tuple[NotLoaded, ...]
    suite_revision: str = ""
    install: dict[str, str] = {}
    partitions: dict[str, CensusPartition] = {}


class ReferenceSource(Struct, frozen=True):
    """Where a reference comes from: contract, vendor, theoretical, learned or simulated. A learned one says which
    slow-down, as a share, its bound finds with 95 % in a run and over a week of nights."""

    source: str
    date: str
    samples: int
    method: str
    finds_in_a_run: float | None = None
    finds_in_a_week: float | None = None


class Origin(Struct, frozen=True, omit_defaults=True):
    """What explains a change of a figure; ``sha256`` is that of the executable, ``files`` are those of other programs
    and libraries."""

    nodelist: tuple[str, ...] = ()
    kernel: str = ""
    driver: str = ""
    mpi: str = ""
    sha256: str = ""
    files: dict[str, str] = {}
    suite_revision: str = ""


class SpackSpec(Struct, frozen=True, omit_defaults=True):
    """What Spack built; ``compiler`` and ``mpi`` as `gcc@12.2.0`, empty where there is none."""

    name: str
    version: str
    hash: str
    compiler: str = ""
    mpi: str = ""


class Provenance(Origin, frozen=True, omit_defaults=True):
    """What ran where, as the job found it on its first node; ``spec`` is that of the executable, ``other_jobs`` are the
    numbers of those that had nodes of its, too, when it began."""

    hostname: str = ""
    cpu_model: str = ""
    memory_kib: str = ""
    executable: str = ""
    spec: SpackSpec | None = None
    slurm_job_id: str = ""
    other_jobs: str = ""

    def __bool__(self) -> bool:
        return self != Provenance()


class LinkUse(Struct, frozen=True):
    """A link of a simulated machine: what it carried, and for which share of the time at its full bandwidth."""

    name: str
    carried_bytes: float
    bandwidth_gb_s: float
    share: float


class Simulation(Struct, frozen=True):
    """What was simulated; ``kind`` is calibrated or spec-only, ``platform_sha256`` that of the simulator's input."""

    fabric: str
    variant: str
    kind: Literal["calibrated", "spec-only"]
    platform_sha256: str
    busiest: tuple[LinkUse, ...] = ()


class Figures(Struct, frozen=True):
    """The metrics of a measurement; ``None`` where nothing was measured."""

    perfvalues: dict[str, Figure] | None = None


class FiguresOfNodes(Figures, frozen=True):
    """And the figures of each node."""

    per_node: dict[str, PerNode] = {}


class Measurement(FiguresOfNodes, frozen=True):
    """All that a check measured; twice when it was measured again in the same allocation.

    ``suspects`` are nodes that the check's own measurement points at, ``findings`` ranked evidence against nodes,
    links, switches and storage, ``hint`` the one line that an operator needs first when the check fails.
    ``load_by_others`` is by node, or of ``this machine`` where nodes share one; ``robbed`` says why that was too
    much to blame a node. ``hung_on`` are the nodes that kept it from being measured; ``ended_by_slurm`` is the state in
    which Slurm ended the job, NO_STEP where it did not start a step, or FORGOTTEN where it lists the job no more; all
    say nothing of a node.
    ``validity`` says of a benchmark with rules whether its result is valid by these. ``notes`` say what else a reader
    of the figures should know, such as lines of a library in the output.
    """

    curves: dict[str, Curve] = {}
    heat_maps: dict[str, HeatMap] = {}
    matrices: dict[str, Matrix] = {}
    findings: tuple[Finding, ...] = ()
    suspects: tuple[str, ...] = ()
    hint: str = ""
    load_by_others: dict[str, LoadByOthers] = {}
    robbed: str = ""
    hung_on: tuple[str, ...] = ()
    ended_by_slurm: str = ""
    validity: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.perfvalues is None and any(getattr(self, name) for name in self.__struct_fields__):
            raise ValueError("'perfvalues' is a required property of what was measured")


def written(value: Struct) -> Any:
    """``value`` as plain data, which a check keeps for the report.

    :raises InputError: a field has the wrong type; names its path.
    """
    plain = msgspec.to_builtins(value, enc_hook=_plain)
    fit(plain, type(value), type(value).__name__)
    return plain


def _plain(number: Any) -> Any:
    """What a check computed with NumPy."""
    return number.item()
