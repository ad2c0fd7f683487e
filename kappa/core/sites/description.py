"""The schema of a site's ``site.yaml``, and its changes from format to format.

The extras of partitions and environments are also keys; ``kappa.core.vocabulary.extras`` defines them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.vocabulary.extras import Count, EnvironmentExtras, PartitionExtras, Positive
from kappa.core.vocabulary.keys import said
from kappa.core.vocabulary.rules import Keep, QuarantineRule

KEY = "format"
OLDEST = 1
"""The format of a file without the key."""

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
    """A key or item that files before ``format`` may have.

    The last part of ``path`` is a key, or an item of a list; ``*`` is any key. ``instead`` is its new name. If it is
    empty, there is no equivalent, and ``words`` tell the user what to write.
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
        words="`modes` is a key of partitions now: add a partition with `modes` and `slurm_partition` for this "
        "environment",
    ),
)
CURRENT = max(change.format for change in CHANGES)


def read_as_current(file: YamlFile, changes: Sequence[FormatChange] = CHANGES) -> None:
    """Convert the document of an older format to the current one. Add a problem for each change needed by hand."""
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
                file.refuse(path, f"no longer a key since format {change.format}: {change.words}")
            elif isinstance(holder, list):
                holder[int(path[-1])] = change.instead
            else:
                holder[change.instead] = holder.pop(path[-1])
                file.moved[(*path[:-1], change.instead)] = path


def _places(value: Any, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Any, Path]]:
    """Yield each container with the last part of the pattern, and the path of this part."""
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
    """Physical cores of a node with equal sockets and NUMA domains, numbered one after the other."""

    per_node: Annotated[Count, said("physical cores of a node")]
    sockets: Annotated[Count, said("sockets of a node")] = 1
    numa_domains: Annotated[Count | None, said("NUMA domains of a node; without it no check places ranks in them")] = (
        None
    )


class Topology(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """CPU masks, as ``reframe --detect-host-topology=FILE`` writes them."""

    cores: list[Mask]
    sockets: list[Mask] = []
    numa_nodes: list[Mask] = []
    caches: list[dict[str, object]] = []


class Processor(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """ReFrame's ``processor``, for nodes whose cores have several threads or another numbering."""

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
    """ReFrame's options for Slurm."""

    job_submit_timeout: Annotated[
        Positive | None, said("time limit of a job's submission", unit="s", default="`60`")
    ] = None
    slurm_pending_job_reason_poll_freq: Annotated[
        Count | None, said("ReFrame's option of this name: how often it asks why a job is pending", default="`10`")
    ] = None
    slurm_job_cancel_reasons: Annotated[
        list[str],
        said(
            "beginnings of more reasons for which Kappa cancels a pending job, in addition to [reasons that never "
            "end](slurm.md)"
        ),
    ] = []


class Partition(PartitionExtras, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A group of equal nodes of the site; the extras are also keys of it."""

    descr: Annotated[str, said("one line about the partition")] = ""
    features: Annotated[list[str], said("what the partition has: see [partition features](#partition-features)")]
    environments: Annotated[
        Annotated[list[str], Meta(min_length=1)],
        said("environments of this file, and those of the suite that [Spack builds](spack.md)"),
    ]
    scheduler: Annotated[
        Literal["slurm", "squeue", "local"],
        said("`squeue` if Slurm's [accounting is off or denied](slurm.md); `local` runs jobs where ReFrame runs"),
    ] = "slurm"
    launcher: Annotated[
        Launcher, said("the program that starts MPI ranks; `smpirun` for simulated partitions only")
    ] = "srun"
    access: Annotated[
        list[str], said("options of every job, for instance `[--account=hpc]`; Kappa adds `--partition`")
    ] = []
    max_jobs: Annotated[Count, said("jobs in the queue at the same time")] = 8
    modes: Annotated[
        list[str], said("the only modes in which `kappa validate` uses the partition", default="all modes")
    ] = []
    predicted_by: Annotated[
        str | None,
        said("the [fabric](simulated.md) that models the partition: reports show predicted and measured values"),
    ] = None
    cores: Annotated[
        Cores | None, said("cores of a node, for nodes with equal sockets and cores numbered one after the other")
    ] = None
    processor: Annotated[
        Processor | None,
        said("instead of `cores`: the output of `reframe --detect-host-topology=FILE` on a compute node"),
    ] = None
    gpu_options: Annotated[
        list[str], said('options that request GPUs, for instance `["--gpus-per-node={num_gpus_per_node}"]`')
    ] = []
    gpu_arch: Annotated[str | None, said("the GPU architecture, for instance `sm_70`")] = None
    container: Annotated[Runtime | None, said("the container runtime: see [containers](#containers)")] = None
    prepare_cmds: Annotated[
        list[str],
        said("commands at the start of every job; they run again with each re-measurement and must allow that"),
    ] = []
    sched_options: Annotated[SchedulerOptions, said("ReFrame's options for Slurm")] = SchedulerOptions()

    @property
    def cores_of_node(self) -> int | None:
        """The number of physical cores; ``None`` if the site does not state it."""
        if self.processor:
            return self.processor.num_cpus // self.processor.num_cpus_per_core
        return self.cores.per_node if self.cores else None


class Environment(EnvironmentExtras, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Programs that checks run; the extras are also keys of it."""

    features: Annotated[
        list[str], said("what the environment provides: see [environment features](#environment-features)")
    ]
    path: Annotated[list[str], said("folders that go first on PATH; relative to the repository")] = []
    env_vars: Annotated[Variables, said("environment variables")] = {}
    modules: Annotated[list[str], said("modules to load")] = []
    prepare_cmds: Annotated[list[str], said("commands before the program runs")] = []


class SpackSettings(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Settings of every environment that Spack builds."""

    installed_only: Annotated[
        bool, said("use only installed environments; otherwise the first run installs missing ones")
    ] = False
    features: Annotated[list[str], said("further features of these environments, from the nodes' own packages")] = []
    env_vars: Annotated[Variables, said("environment variables of these environments")] = {}


class Fabrics(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Simulated machines: each YAML file of ``folder`` is a partition NAME with variants NAME-degraded, NAME-shared."""

    folder: Annotated[str, said("folder with one YAML file for each fabric; each becomes a partition")]
    sound: Annotated[dict[str, Any], said("keys of the partitions of sound fabrics")] = {}
    degraded: Annotated[dict[str, Any], said("keys of the partitions of degraded fabrics")] = {}
    shared: Annotated[dict[str, Any], said("keys of the partitions of shared fabrics")] = {}


class SiteFile(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``site.yaml``; the site has the name of its folder."""

    descr: Annotated[str, said("one line about the site")]
    format: Annotated[Count, said(f"the file's format; the current one is {CURRENT}")] = OLDEST
    facts: Annotated[
        str | None,
        said(
            "a provider of facts in `kappa/core/sites/facts.py`; `{fact: NAME}` is then replaced by the fact of this "
            "machine"
        ),
    ] = None
    path: Annotated[list[str], said("folders that go first on ReFrame's PATH, for instance with Slurm's commands")] = []
    cluster: Annotated[
        Name | None, said("Slurm's name of the cluster, if this login node reaches several (`-M`, [Slurm](slurm.md))")
    ] = None
    modules_system: Annotated[
        ModulesSystem,
        said("ReFrame's name of the module system; `envmod` is Environment Modules 4.1 or later, `tmod32` is 3.2"),
    ] = "nomod"
    poll_rate_min: Annotated[
        Positive | None, said("lowest rate at which ReFrame polls its jobs", unit="1/s", default="`0.1`")
    ] = None
    poll_rate_max: Annotated[
        Positive | None, said("highest rate at which ReFrame polls its jobs", unit="1/s", default="`10`")
    ] = None
    env_vars: Annotated[Variables, said("environment variables of every environment")] = {}
    spack: Annotated[SpackSettings, said("settings of every environment that [Spack builds](spack.md)")] = (
        SpackSettings()
    )
    quarantine: Annotated[
        QuarantineRule | None,
        said("when a night drains a node: see [quarantine](#quarantine)", default="no node is drained"),
    ] = None
    keep: Annotated[
        Keep | None,
        said("how long raw output stays: see [raw output](#raw-output)", default="nothing is deleted"),
    ] = None
    fabrics: Annotated[Fabrics | None, said("[simulated machines](simulated.md), each a partition")] = None
    partition_defaults: Annotated[dict[str, Any], said("keys for each partition that does not state them itself")] = {}
    partitions: Annotated[
        Annotated[dict[Name, Partition], Meta(min_length=1)], said("`{NAME: …}`: see [partitions](#partitions)")
    ]
    environments: Annotated[dict[Name, Environment], said("`{NAME: …}`: see [environments](#environments)")]
