"""The survey of a cluster, as typed data: kept in the site's folder, and compared with the next survey."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, json, to_builtins

from kappa.app.survey import hardware, slurm
from kappa.app.survey.fabric import fabric
from kappa.app.survey.kinds import Part
from kappa.app.survey.probe import Probe
from kappa.app.survey.slurm import CONFIG
from kappa.app.survey.storage import FileSystem, file_systems, targets
from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded


class Gpus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The GPUs of a node, by nvidia-smi. ``models``: each name once."""

    count: int
    models: list[str]
    memory_gib: float
    arch: str
    mig: bool
    slices: int


class NodeKind(Struct, frozen=True, kw_only=True):
    """The answers of nodes of one kind. ``processor``: the value of the key ``cpu_key`` in site.yaml.

    Without values, no node of the kind was probed. Older versions kept more values, which are ignored.
    """

    by: list[str] = []
    model: str = ""
    cpu_key: str = ""
    processor: dict[str, Any] = {}
    cores: int = 0
    numa_domains: int = 0
    memory_gib: float = 0
    peak_gflops_per_core: float | None = None
    hypervisor: str = ""
    os: str = ""
    gpus: Gpus | None = None
    amd_gpus: int = 0
    adapters: list[str] = []
    link_gbit_per_s: float = 0
    link: str = ""
    file_systems: list[FileSystem] = []
    programs: dict[str, str] = {}
    versions: dict[str, str] = {}
    memlock: str = ""
    modules: list[str] = []
    """Available modules of MPI libraries, compilers and benchmarks."""
    peak_why: str = ""
    """The source of a core's peak, or why it is unknown."""
    hwloc: dict[str, int] = {}
    """hwloc's number of objects on the node, by type; empty without hwloc."""
    memory_gb_per_s: float | None = None
    """All channels at the highest speed that the maker states."""
    limits: dict[str, str] = {}
    """Limits of a job besides ``memlock``, by the probe's names. A hard limit (``_hard``) only if it differs."""
    unclear_adapters: dict[str, list[str]] = {}
    """If it is unclear which RDMA ports carry MPI, all that may, by link and rate; ``adapters`` is empty then."""


class FoundPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Equal nodes of one Slurm partition. ``options``: job options that select them alone, or ``None``."""

    slurm_partition: str
    nodes: str
    count: int
    out_of_service: str
    whole: bool
    options: list[str] | None
    most_nodes: int | None
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gres: list[str]
    features: list[str]
    switches: int
    told: NodeKind | None
    why_not_told: str = ""
    longest_s: int | None = None
    """The longest time that Slurm gives a job, in seconds; ``None`` without a limit."""
    least_nodes: int = 1
    cores_for_jobs: int | None = None
    """Physical cores of a node; ``None`` in surveys of older versions."""
    sockets_of_jobs: int | None = None
    """Number of equal sockets with these cores."""
    limits: dict[str, str] = {}
    """Further settings of the partition that differ from Slurm's default: permitted users, QOS, sharing."""
    wants: list[str] = []
    """Options that a job must also name, each with the allowed values."""
    others: list[str] = []
    """Other partitions with some of the nodes that the caller may use, each with its limits."""
    strange: list[str] = []
    """Nodes in a state that Slurm's documentation does not list, each with the state."""

    @property
    def node(self) -> NodeKind:
        """Return the answers of its nodes, without values if none was probed."""
        return self.told or NodeKind()

    @property
    def probe(self) -> str:
        """Return the source of its nodes' answers."""
        return f"probe of {', '.join(self.node.by)}"

    @property
    def cores(self) -> int:
        """Return the largest number of physical cores that a job gets on a node."""
        seen = self.told.cores if self.told else self.sockets * self.cores_per_socket
        return min(seen, self.cores_for_jobs or seen)

    @property
    def whole_gpus(self) -> int:
        """Return the number of NVIDIA GPUs of a node, without GPUs cut into slices (MIG)."""
        gpus = self.node.gpus
        return gpus.count if gpus and not gpus.mig else 0

    @property
    def gpus_by_slurm(self) -> int:
        return sum(int(gres.rpartition(":")[2]) for gres in self.gres if gres.partition(":")[0] == "gpu")

    @property
    def storage(self) -> dict[str, FileSystem]:
        """Return the file system of each storage target that has one."""
        return targets(self.node.file_systems)

    def takes(self, nodes: int) -> bool:
        """Return whether a job may have so many nodes."""
        return self.least_nodes <= nodes <= (nodes if self.most_nodes is None else self.most_nodes)


class Login(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """This machine. ``shares_machine``: nodes run on its kernel. ``can_build``: it can build the suite's programs."""

    shares_machine: bool
    can_build: bool
    lacks_to_build: list[str]
    modules_system: str
    modules: list[str]


class Survey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole survey. ``access`` and ``path`` are the user's options."""

    cluster: str
    slurm: str
    mpi_default: str
    mpi_types: list[str]
    task_plugin: str
    accounting: str
    leaf_switches: int
    unreachable: str
    login: Login
    access: list[str]
    path: list[str]
    parts: dict[str, FoundPart]
    sacct_fails: str = ""
    """Why sacct does not tell the states of jobs, if Slurm keeps accounts; empty if it does."""

    @property
    def probed(self) -> list[NodeKind]:
        """Return the kinds of nodes that answered."""
        return [part.told for part in self.parts.values() if part.told]

    @property
    def binds(self) -> bool:
        """Return whether Slurm binds tasks to cores."""
        return "affinity" in self.task_plugin or "cgroup" in self.task_plugin

    @property
    def why_squeue(self) -> str:
        """Return why the site needs ``scheduler: squeue``; empty if accounting works."""
        if slurm.keeps_accounting(self.accounting):
            return self.sacct_fails
        return f"{CONFIG}: AccountingStorageType={self.accounting}"


_BUILDERS = ("cmake", "c++", "mpicxx")
#: Headers that a build of the suite's programs needs.
HEADERS = ("nlohmann/json.hpp", "CLI/CLI.hpp", "Eigen/Dense")


def node_kind(probes: Sequence[Probe], login: Probe | None, record: slurm.SlurmNode) -> NodeKind:
    """Merge the probes of one kind of node. The first probe stands for all, reduced to what all have in common.

    :param record: Slurm's record of the node, with the cores that jobs do not get.
    """
    node = probes[0]
    for_jobs = hardware.for_jobs(node.cpus, record.reserved_cores, record.reserved_numbers)
    key, processor = hardware.cores_or_processor(for_jobs)
    peak = hardware.peak(node)
    return NodeKind(
        by=[probe.name for probe in probes],
        model=node.lscpu.get("Model name", ""),
        cpu_key=key,
        processor=processor,
        cores=hardware.cores_of(for_jobs),
        numa_domains=hardware.numa_domains(for_jobs),
        memory_gib=round(node.memory_kib / 2**20, 1),
        peak_gflops_per_core=peak.gflops or None,
        peak_why=peak.why,
        hypervisor=node.lscpu.get("Hypervisor vendor", ""),
        os=node.os,
        gpus=_gpus(node),
        amd_gpus=node.amd_gpus,
        file_systems=file_systems(probes, login),
        programs={name: place for name, place in node.programs.items() if all(name in one.programs for one in probes)},
        versions=dict(node.versions),
        memlock=node.limits.get("memlock", ""),
        modules=[name for name in node.modules if all(name in one.modules for one in probes)],
        hwloc=dict(node.hwloc),
        memory_gb_per_s=hardware.memory_gb_per_s(node),
        limits=_limits(node.limits),
        **fabric(node)._asdict(),
    )


def _limits(limits: Mapping[str, str]) -> dict[str, str]:
    """Return the limits but ``memlock``, and a hard limit only if it differs."""
    same = {f"{name}_hard" for name, limit in limits.items() if limits.get(f"{name}_hard") == limit}
    return {name: limit for name, limit in limits.items() if limit and name not in same | {"memlock"}}


def _gpus(node: Probe) -> Gpus | None:
    if not node.gpus:
        return None
    return Gpus(
        count=len(node.gpus),
        models=list(dict.fromkeys(gpu.name for gpu in node.gpus)),
        memory_gib=round(min((gpu.memory_mib for gpu in node.gpus if gpu.memory_mib), default=0) / 1024, 1),
        arch=node.gpus[0].arch,
        mig=any(gpu.mig for gpu in node.gpus),
        slices=len(node.migs),
    )


def found_part(part: Part, switches: Sequence[slurm.Switch], seen: NodeKind | str, caller: slurm.Caller) -> FoundPart:
    """Describe a partition. ``seen``: the answers of its nodes, or why there are none."""
    first, limits = part.nodes[0], part.partition
    of_node = {"MaxCPUsPerNode": limits.most_cpus, "MaxMemPerNode": limits.most_memory_mib}
    names = {node.name for node in part.nodes}
    return FoundPart(
        slurm_partition=limits.name,
        nodes=folded(names),
        count=len(part.nodes),
        out_of_service=folded(node.name for node in part.nodes if not node.condition.in_service),
        whole=part.whole,
        options=None if part.options is None else list(part.options),
        most_nodes=limits.most_nodes,
        longest_s=limits.longest_s,
        least_nodes=limits.least_nodes,
        cores_for_jobs=limits.cores_of(first),
        sockets_of_jobs=first.sockets_of_jobs,
        limits=limits.stated | {key: str(most) for key, most in of_node.items() if most},
        wants=limits.wants(caller),
        others=[f"{one.name}: {_given(one)}" for one in part.others],
        strange=[f"{node.name}: {node.condition.text or 'none'}" for node in part.nodes if node.condition.unknown],
        sockets=first.sockets,
        cores_per_socket=first.cores_per_socket,
        threads_per_core=first.threads_per_core,
        memory_mib=min(map(limits.memory_of, part.nodes)),
        gres=[str(gres) for gres in part.gres],
        features=sorted(frozenset.intersection(*(frozenset(node.features) for node in part.nodes))),
        switches=sum(bool(switch.nodes & names) for switch in switches if switch.level == 0),
        told=None if isinstance(seen, str) else seen,
        why_not_told=seen if isinstance(seen, str) else "",
    )


def _given(partition: slurm.SlurmPartition) -> str:
    """Return the limits of a partition in words."""
    most = partition.most_nodes
    nodes = "any number of nodes" if most is None else f"at most {counted(most, 'node')}"
    least = f", at least {partition.least_nodes}" if partition.least_nodes > 1 else ""
    time = "no time limit" if partition.longest_s is None else slurm.max_time(partition.longest_s)
    return ", ".join([f"{nodes}{least}", time, *(f"{key}={value}" for key, value in partition.stated.items())])


def login_of(probe: Probe | None, nodes: Sequence[Probe], environment: Mapping[str, str]) -> Login:
    """Describe this machine, which builds programs and submits jobs. ``environment``: the user's variables."""
    lacks = [name for name in _BUILDERS if not probe or name not in probe.programs]
    lacks += [f"<{header}>" for header in HEADERS if not probe or header not in probe.headers]
    lmod, tcl = "LMOD_CMD" in environment, "MODULESHOME" in environment
    return Login(
        shares_machine=bool(probe and nodes and all(node.boot_id == probe.boot_id for node in nodes)),
        can_build=not lacks,
        lacks_to_build=lacks,
        modules_system="lmod" if lmod else "envmod" if tcl else "nomod",
        modules=[name for name in environment.get("LOADEDMODULES", "").split(":") if name],
    )


def kept(survey: Survey) -> str:
    """Return the survey as JSON text, for the file in the site's folder."""
    return json.format(json.encode(survey), indent=1).decode() + "\n"


def changes(before: Survey, now: Survey) -> list[str]:
    """Return a line for each value that has changed."""
    old, new = (dict(_values(to_builtins(survey))) for survey in (before, now))
    return [
        f"{key}: {old.get(key, 'none')} -> {new.get(key, 'none')}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]


def _values(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value as text, with its keys; a list of names is one value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "by":  # the nodes that were free
                yield from _values(inner, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from _values(inner, f"{key}.{number}")
    elif value not in (None, "", []):
        yield key, " ".join(map(str, value)) if isinstance(value, list) else str(value)
