"""The survey of a cluster, as typed data: kept in the site's folder, and compared with the next survey."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

from msgspec import Struct, json, structs

from kappa.app.survey import hardware, slurm
from kappa.app.survey.fabric import fabric
from kappa.app.survey.kinds import Part
from kappa.app.survey.mpi import FurtherMpi, further_mpi
from kappa.app.survey.probe import Probe
from kappa.app.survey.slurm import CONFIG, MPI_TYPES, NODES, PARTITIONS, TOPOLOGY
from kappa.app.survey.storage import FileSystem, UnmountedDisk, file_systems, targets, unmounted_disks
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


class NodeKind(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answers of nodes of one kind. ``processor``: the value of the key ``cpu_key`` in site.yaml.

    Without values, no node of the kind was probed.
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
    unmounted_disks: list[UnmountedDisk] = []
    further_mpi: list[FurtherMpi] = []
    """MPI libraries that are neither on PATH nor in a module."""
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


class FoundFact(NamedTuple):
    what: str
    value: str
    source: str


# The survey's facts -> their sources.
_SOURCES = {
    "cluster": CONFIG, "slurm": CONFIG, "mpi_default": CONFIG, "task_plugin": CONFIG, "accounting": CONFIG,
    "mpi_types": MPI_TYPES, "leaf_switches": TOPOLOGY, "unreachable": PARTITIONS, "access": "--access",
    "sacct_fails": "sacct", "path": "--path",
}  # fmt: skip
# Lists in a node's answer, and the field that names each entry.
_NAMED_BY = {"file_systems": "point", "unmounted_disks": "name", "further_mpi": "place"}
_OF_PARTITION = (
    "slurm_partition", "whole", "most_nodes", "longest_s", "least_nodes", "limits", "wants", "others",
)  # fmt: skip
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
        unmounted_disks=unmounted_disks(node),
        further_mpi=further_mpi(node),
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


def facts(survey: Survey) -> Iterator[FoundFact]:
    """Yield all facts of the survey, each with its source."""
    for name, source in _SOURCES.items():
        yield FoundFact(name, _shown(getattr(survey, name)), source)
    for name in Login.__struct_fields__:
        yield FoundFact(f"login.{name}", _shown(getattr(survey.login, name)), "this machine")
    for title, part in survey.parts.items():
        for name in FoundPart.__struct_fields__:
            if name != "told":
                source = PARTITIONS if name in _OF_PARTITION else TOPOLOGY if name == "switches" else NODES
                yield FoundFact(f"{title}.{name}", _shown(getattr(part, name)), source)
        for name, value in _values(part.told) if part.told else ():
            yield FoundFact(f"{title}.{name}", _shown(value), f"probe of {folded(part.node.by)}")


def _values(node: NodeKind) -> Iterator[tuple[str, Any]]:
    """Yield each value of a node; of file systems, programs and the like each entry by its name."""
    for name, value in structs.asdict(node).items():
        if name in _NAMED_BY:
            yield from ((f"{name}.{quote(getattr(entry, _NAMED_BY[name]))}", entry) for entry in value)
        elif name in ("programs", "versions", "limits"):
            yield from ((f"{name}.{key}", entry) for key, entry in value.items())
        elif name != "by":
            yield name, value


def _shown(value: object) -> str:
    if isinstance(value, Struct):
        value = structs.asdict(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(inner)}" for key, inner in value.items() if inner not in ("", 0, [], None))
    if isinstance(value, list):
        return " ".join(map(_shown, value)) or "none"
    if value is None or value == "":
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def kept(survey: Survey) -> str:
    """Return the survey as JSON text, for the file in the site's folder."""
    return json.format(json.encode(survey), indent=1).decode() + "\n"


def changes(before: Survey, now: Survey) -> list[str]:
    """Return a line for each fact that has changed."""
    old, new = ({fact.what: fact for fact in facts(survey)} for survey in (before, now))
    lines = []
    for what in dict.fromkeys([*old, *new]):
        if what not in new:
            lines.append(f"- {what}: {old[what].value}")
        elif what not in old:
            lines.append(f"+ {what}: {new[what].value} ({new[what].source})")
        elif old[what].value != new[what].value:
            lines.append(f"~ {what}: {old[what].value} -> {new[what].value} ({new[what].source})")
    return lines
