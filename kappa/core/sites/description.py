"""The schema of a site's ``site.yaml``: partitions, storage targets, environments and what launches jobs.

The extras of partitions and environments, keys like the others, are those of ``kappa.core.vocabulary.extras``.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.sites.formats import OLDEST
from kappa.core.vocabulary.extras import Count, EnvironmentExtras, PartitionExtras, Positive
from kappa.core.vocabulary.keep import Keep
from kappa.core.vocabulary.quarantine import Quarantine

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Launcher = Literal[
    "srun", "srunalloc", "mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec", "mpiexec.hydra", "ibrun", "smpirun"
]
Runtime = Literal["Apptainer", "Docker", "Sarus", "Shifter", "Singularity"]
ModulesSystem = Literal["nomod", "lmod", "tmod", "tmod31", "tmod32", "tmod4", "envmod", "spack"]
Mask = Annotated[str, Meta(pattern=r"^0x[0-9a-f]+$")]


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


Variables = dict[str, str | int]


class Environment(EnvironmentExtras, forbid_unknown_fields=True, frozen=True, kw_only=True):
    features: list[str]
    path: list[str] = []
    """Folders that go first on PATH; relative to the repository."""
    env_vars: Variables = {}
    modules: list[str] = []
    prepare_cmds: list[str] = []


class Spack(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
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
    """Of this file, as `kappa.core.sites.formats` counts them."""
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
    spack: Spack = Spack()
    quarantine: Quarantine | None = None
    """What is done with a node that a confirmed finding names; nothing without it."""
    keep: Keep | None = None
    """For how long raw output is kept; for ever without it."""
    fabrics: Fabrics | None = None
    """Machines that are simulated, each a partition."""
    partition_defaults: dict[str, Any] = {}
    """Keys of a partition, for each that does not have them itself."""
    partitions: Annotated[dict[Name, Partition], Meta(min_length=1)]
    environments: dict[Name, Environment]
