"""The structures that checks write and reports read."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.documents import fit

S = TypeVar("S", bound=Struct)

RANK_CRASHED = "crash of a rank:"
"""Quantity of a finding about the node on which the first rank crashed."""


class Figure(Struct, frozen=True, array_like=True):
    """An entry of ReFrame's ``perfvalues``. ReFrame may have extracted a value of any type.

    The bounds are fractions of the reference, or absolute if it is 0; ``None`` means no bound.
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


class Curve(Struct, frozen=True):
    """A quantity over another one, for instance latency over message size; ``gated`` maps x, as text, to the metric at
    that point."""

    x: str
    x_unit: str
    y: str
    y_unit: str
    points: tuple[tuple[float, float], ...]
    gated: dict[str, str] = {}


class HeatMap(Struct, frozen=True):
    """A quantity over two other ones; ``points`` are (x, y, z)."""

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
    """The file with the values of a large matrix, and a summary of the values.

    ``name`` is the file's name in the folder ``matrices`` beside the report; ``missing`` counts pairs without a figure.
    """

    name: str
    sha256: str
    lowest: float | None
    median: float | None
    highest: float | None
    missing: int


class Matrix(Struct, frozen=True):
    """A figure for each pair of ``nodes`` or groups of nodes, a row and a column each; ``None`` for no figure.

    Either ``values`` or the ``file`` with the values is set.
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
    """A check's evidence about a node, link, switch, a file system's target or server, or an adapter.

    ``rail`` is an adapter that is slow on all nodes; it blames no ``nodes``. ``slowdown`` is how many times slower than
    its equals the part is. ``score`` is the deviation in multiples of the noise, ``None`` if nothing was measured.
    """

    kind: Literal["node", "link", "switch", "target", "server", "rail"]
    name: str
    nodes: tuple[str, ...]
    quantity: str
    score: float | None
    slowdown: float | None
    evidence: str


class Scaling(Struct, frozen=True):
    """One point of a strong-scaling series; ``karp_flatt`` is ``None`` with one rank.

    ``kappa_us`` is the median of ``kappa_repeats_us`` if these were recorded. ``heaviest_task_us`` is the lower limit
    of a step's time with any number of ranks.
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
    """The use of a node, or of the machine that all nodes share, by other programs than the job during a measurement.

    ``cores`` contains ``steal_cores``, the cores that a hypervisor gave to other machines.
    """

    cores: float
    of_cores: float
    steal_cores: float
    disk_mb_per_s: float


class CensusCase(Struct, frozen=True):
    """A case that the site offers: the features that its parameters need, and its places (partition, environment)."""

    name: str
    features: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


class CensusPartition(Struct, frozen=True):
    """A partition as the site describes it; sockets and NUMA domains are 0 if the site states no topology."""

    nodes: int
    sockets: int
    numa_domains: int
    features: frozenset[str]


class CensusCheck(Struct, frozen=True):
    """A check of the suite; ``offered`` if a partition and environment of the site have all features that it needs."""

    name: str
    family: str
    offered: bool
    missing: tuple[str, ...]
    tags: tuple[str, ...] = ()
    cases: tuple[CensusCase, ...] | None = None
    """``None`` in reports that are older than this field."""


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


class ReferenceSource(Struct, frozen=True, gc=False):
    """The source of a reference: contract, vendor, theoretical, learned or simulated.

    For a learned reference, ``finds_in_a_run`` and ``finds_in_a_week`` are the slow-downs, as a share, that its bound
    finds with a probability of 95 % in one run and in a week of nights.
    """

    source: str
    date: str
    samples: int
    method: str
    finds_in_a_run: float | None = None
    finds_in_a_week: float | None = None


class Origin(Struct, frozen=True, omit_defaults=True, gc=False):
    """Facts that can explain a change of a figure. ``sha256`` is the executable's; ``files`` maps other programs and
    libraries to theirs."""

    nodelist: tuple[str, ...] = ()
    kernel: str = ""
    driver: str = ""
    mpi: str = ""
    sha256: str = ""
    files: dict[str, str] = {}
    suite_revision: str = ""


class SpackSpec(Struct, frozen=True, omit_defaults=True):
    """A package that Spack built; ``compiler`` and ``mpi`` as `gcc@12.2.0`, empty if there is none."""

    name: str
    version: str
    hash: str
    compiler: str = ""
    mpi: str = ""


class Provenance(Origin, frozen=True, omit_defaults=True, gc=False):
    """The origin of a result, as the job recorded it on its first node.

    ``spec`` is the executable's. ``other_jobs`` are the numbers of jobs that also had some of its nodes at its start.
    """

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
    """A link of a simulated machine: the bytes that it carried, and the share of time at its full bandwidth."""

    name: str
    carried_bytes: float
    bandwidth_gb_s: float
    share: float


class Simulation(Struct, frozen=True):
    """The simulated machine; ``platform_sha256`` is the SHA-256 of the simulator's input."""

    fabric: str
    variant: str
    kind: Literal["calibrated", "spec-only"]
    platform_sha256: str
    busiest: tuple[LinkUse, ...] = ()


class Measurement(Struct, frozen=True):
    """All results of one measurement by a check. A case has two if it was re-measured in the same allocation.

    ``suspects`` are nodes that the check's own measurement names. ``findings`` are ranked evidence about nodes, links,
    switches and storage. ``hint`` is the line that an operator needs first if the check fails.
    ``load_by_others`` is by node, or for ``this machine`` if nodes share one. ``robbed`` says why that load was too
    high to blame a node. ``hung_on`` are the nodes that prevented the measurement. ``ended_by_slurm`` is the state in
    which Slurm ended the job, NO_STEP if Slurm did not start a step, or FORGOTTEN if Slurm no longer lists the job;
    none of them blames a node.
    ``validity`` says whether the result of a benchmark with rules is valid. ``notes`` are further remarks for the
    reader, for instance lines of a library in the output. ``perfvalues`` is ``None`` if nothing was measured.
    """

    perfvalues: dict[str, Figure] | None = None
    per_node: dict[str, PerNode] = {}
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
    """Return ``value`` as plain data, which a check keeps for the report.

    :raises InputError: a field has the wrong type; names its path.
    """
    plain = msgspec.to_builtins(value, enc_hook=_plain)
    fit(plain, type(value), type(value).__name__)
    return plain


def _plain(number: Any) -> Any:
    """Return a NumPy number as a Python number."""
    return number.item()
