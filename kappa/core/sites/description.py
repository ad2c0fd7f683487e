"""The schema of a site's ``site.yaml``, and what changed in it from format to format.

The extras of partitions and environments, keys like the others, are those of ``kappa.core.vocabulary.extras``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.vocabulary.extras import Count, EnvironmentExtras, PartitionExtras, Positive
from kappa.core.vocabulary.rules import Keep, QuarantineRule

KEY = "format"
OLDEST = 1
"""Of a file that does not say."""

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Launcher = Literal[
    "srun", "srunalloc", "mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec", "mpiexec.hydra", "ibrun", "smpirun"
]
Runtime = Literal["Apptainer", "Docker", "Sarus", "Shifter", "Singularity"]
ModulesSystem = Literal["nomod", "lmod", "tmod", "tmod31", "tmod32", "tmod4", "envmod", "spack"]
Mask = Annotated[str, Meta(pattern=r"^0x[0-9a-f]+$")]
Variables = dict[str, str | int]


@dataclass(frozen=True)
class FormatChange:
    """What files before ``format`` may hold.

    The last part of ``path`` is a key, or an item of a list; ``*`` is any key. ``instead``: what it is read as; empty
    where nothing else means the same, and ``words`` say what to write.
    """

    format: int
    path: tuple[str, ...]
    instead: str = ""
    words: str = ""


CHANGES = (
    FormatChange(2, ("environments", "*", "features", "emt-other-mpi"), instead="emt-build"),
    FormatChange(
        2,
        ("environments", "*", "modes"),
        words="a partition has `modes`: give one of its own, with `slurm_partition`, to this environment",
    ),
)
CURRENT = max(change.format for change in CHANGES)


def read_as_current(file: YamlFile, changes: Sequence[FormatChange] = CHANGES) -> None:
    """Put the document of an older format into the form of this one; notes what has to be changed by hand."""
    document = file.value
    if not isinstance(document, Mapping):
        return
    current = max(change.format for change in changes)
    stated = document.get(KEY, OLDEST)
    if not isinstance(stated, int) or isinstance(stated, bool) or not OLDEST <= stated <= current:
        newer = isinstance(stated, int) and stated > current
        hint = "a newer Kappa wrote it: upgrade this one" if newer else f"found {stated!r}"
        file.refuse((KEY,), f"expected a format from {OLDEST} to {current}; {hint}")
        return
    for change in changes:
        if change.format <= stated:
            continue
        for holder, path in list(_places(document, change.path, ())):
            if not change.instead:
                file.refuse(path, f"no key since format {change.format}: {change.words}")
            elif isinstance(holder, list):
                holder[int(path[-1])] = change.instead
            else:
                holder[change.instead] = holder.pop(path[-1])
                file.moved[(*path[:-1], change.instead)] = path


def _places(value: Any, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Any, Path]]:
    """What holds the last part of the pattern, and the path of that part."""
    first, *rest = pattern
    if isinstance(value, list) and not rest:
        yield from ((value, (*path, number)) for number, item in enumerate(value) if item == first)
    elif isinstance(value, dict):
        for key in list(value) if first == "*" else [first] if first in value else []:
            if rest:
                yield from _places(value[key], tuple(rest), (*path, key))
            else:
                yield value, (*path, key)


class Cores(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Of a node: physical ones of equal sockets and NUMA domains, numbered one after the other."""

    per_node: Count
    sockets: Count = 1
    numa_domains: Count | None = None
    """In the whole node; without it no rank can be placed in one."""


class Topology(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """CPU masks, as ``reframe --detect-host-topology=FILE`` writes them."""

    cores: list[Mask]
    sockets: list[Mask] = []
    numa_nodes: list[Mask] = []
    caches: list[dict[str, object]] = []


class Processor(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """ReFrame's ``processor``, for nodes whose cores have several threads or are numbered otherwise."""

    num_cpus: Count
    num_cpus_per_core: Count
    num_sockets: Count
    num_cpus_per_socket: Count
    topology: Topology | None = None
    arch: str | None = None
    model: str | None = None
    platform: str | None = None
    vendor: str | None = None


class SchedulerOptions(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """ReFrame's for Slurm."""

    job_submit_timeout: Positive | None = None
    slurm_pending_job_reason_poll_freq: Count | None = None
    slurm_job_cancel_reasons: list[str] = []


class Partition(PartitionExtras, forbid_unknown_fields=True, frozen=True, kw_only=True):
    descr: str = ""
    features: list[str]
    environments: Annotated[list[str], Meta(min_length=1)]
    """Of this file, or those of the suite that Spack builds."""
    scheduler: Literal["slurm", "squeue", "local"] = "slurm"
    """``squeue`` for a Slurm whose accounting is off or denied; ``local`` for jobs that run where ReFrame does, as
    simulations."""
    launcher: Launcher = "srun"
    access: list[str] = []
    """Options of every job besides ``--partition``."""
    max_jobs: Count = 8
    modes: list[str] = []
    """The only ones in which `kappa validate` has the partition; all of them without it."""
    predicted_by: str | None = None
    """The fabric of the simulated site that stands for it: reports show what is predicted beside what is measured."""
    cores: Cores | None = None
    processor: Processor | None = None
    gpu_options: list[str] = []
    """By which a job asks for GPUs, with ``{num_gpus_per_node}`` where their number stands."""
    gpu_arch: str | None = None
    """For instance ``sm_70``."""
    container: Runtime | None = None
    prepare_cmds: list[str] = []
    sched_options: SchedulerOptions = SchedulerOptions()

    @property
    def cores_of_node(self) -> int | None:
        """Physical ones; ``None`` where the site does not say."""
        if self.processor:
            return self.processor.num_cpus // self.processor.num_cpus_per_core
        return self.cores.per_node if self.cores else None


class Environment(EnvironmentExtras, forbid_unknown_fields=True, frozen=True, kw_only=True):
    features: list[str]
    path: list[str] = []
    """Folders that go first on PATH; relative to the repository."""
    env_vars: Variables = {}
    modules: list[str] = []
    prepare_cmds: list[str] = []


class SpackSettings(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is said of every environment that Spack builds."""

    installed_only: bool = False
    """Only what is installed is offered; else the first run installs what is missing."""
    features: list[str] = []
    """Programs that they find among the nodes' own packages."""
    env_vars: Variables = {}


class Fabrics(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Each YAML file of ``folder`` is a partition, NAME, and with what it says of them NAME-degraded and NAME-shared.

    The others are keys of these partitions, by variant.
    """

    folder: str
    sound: dict[str, Any] = {}
    degraded: dict[str, Any] = {}
    shared: dict[str, Any] = {}


class SiteFile(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``site.yaml``; the site's name is that of its folder."""

    descr: str
    format: Count = OLDEST
    """Of this file, as `kappa.core.sites.description` counts them."""
    facts: str | None = None
    path: list[str] = []
    """Folders that go first on PATH of ReFrame, for instance that of Slurm's commands."""
    cluster: Name | None = None
    """Of Slurm, where several are reached from here (``-M``)."""
    modules_system: ModulesSystem = "nomod"
    poll_rate_min: Positive | None = None
    poll_rate_max: Positive | None = None
    """How often ReFrame looks for its jobs, per second."""
    env_vars: Variables = {}
    """Of every environment."""
    spack: SpackSettings = SpackSettings()
    quarantine: QuarantineRule | None = None
    """What is done with a node that a confirmed finding names; nothing without it."""
    keep: Keep | None = None
    """For how long raw output is kept; for ever without it."""
    fabrics: Fabrics | None = None
    """Machines that are simulated, each a partition."""
    partition_defaults: dict[str, Any] = {}
    """Keys of a partition, for each that does not have them itself."""
    partitions: Annotated[dict[Name, Partition], Meta(min_length=1)]
    environments: dict[Name, Environment]
