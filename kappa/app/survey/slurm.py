"""Parse the output of Slurm's commands, with pure functions: nodes, partitions, switches, settings, QOS.

Formats are as in scontrol(1), Slurm 17.11 to 25.11. No key is needed that one of these versions lacks. The tighter
limit of a QOS and its partition counts. Sources: slurm.schedmd.com/qos.html, sacctmgr(1).
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.records import NOTHING, UNLIMITED, duration, limit, listed, node_names, records, required, whole
from kappa.core.ground.clean_text import clean
from kappa.core.vocabulary.node_states import NodeCondition, condition
from kappa.core.vocabulary.reservations import Reservation

NODES = "scontrol --oneliner show node"
PARTITIONS = "scontrol --oneliner show partition"
TOPOLOGY = "scontrol show topology"
CONFIG = "scontrol show config"
MPI_TYPES = "srun --mpi=list"

#: The default time limit of a check, in seconds: ``time_limit`` of the base class of all checks.
CHECKS_ASK_S = 600
#: The longest time limit of a check, in seconds: ``time_limit`` of the series of HPL and of BT-IO.
SERIES_ASK_S = 8 * 3600
#: Slurm's value for a node's memory in MiB if slurm.conf does not state it.
UNSTATED_MEMORY_MIB = 1
_MOST_SOCKETS = 8
# 17.11 and later have the first two; older versions have the last.
_FEATURES = ("ActiveFeatures", "AvailableFeatures", "Features")
_CLOSED = ("RootOnly=YES", "Hidden=YES", _NEEDS_RESERVATION := "ReqResv=YES")
# Lists of permitted users of a partition, and settings that affect jobs. ``_UNBOUND``: values without effect.
_LISTS = ("AllowGroups", "AllowAccounts", "AllowQos", "DenyAccounts", "DenyQos")
_SETTINGS = (
    "QoS", "AllocNodes", "OverSubscribe", "Shared", "Exclusive", "ExclusiveUser", "ExclusiveTopo", "MaxCPUsPerSocket",
    "MaxMemPerCPU", "PreemptMode",
)  # fmt: skip
# With :1, a core has one job at a time.
_UNBOUND = {"ALL", "NO", "OFF", *(nothing.upper() for nothing in NOTHING), UNLIMITED, "YES:1", "FORCE:1", "0"}
QOS = "sacctmgr --noheader --parsable2 show qos format=Name,MaxTRES,MinTRES,MaxWall"


class Gres(NamedTuple):
    """A generic resource such as ``gpu:a100:4(S:0-1)``: name, type (may be empty), number."""

    name: str
    type: str
    number: int

    def __str__(self) -> str:
        return ":".join(word for word in (self.name, self.type, str(self.number)) if word)


class SlurmNode(NamedTuple):
    """A node. ``memory_mib`` and the cores are Slurm's values, including those reserved from jobs.

    ``reserved_cores``: number of cores that jobs do not get (CoreSpecCount, CPUSpecList). ``reserved_numbers``: their
    numbers, counted socket by socket as Slurm's abstract CPU numbers; empty if Slurm does not state them.
    ``reserved_mib``: MemSpecLimit.
    """

    name: str
    arch: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gres: tuple[Gres, ...]
    features: tuple[str, ...]
    partitions: tuple[str, ...]
    condition: NodeCondition
    reason: str
    reserved_cores: int = 0
    reserved_numbers: frozenset[int] = frozenset()
    reserved_mib: int = 0
    cpus_per_core: int = 1

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    @property
    def sockets_of_jobs(self) -> int:
        """Return the number of sockets with equally many cores for jobs; 1 if they differ.

        Return 1 also if slurm.conf states CPUs alone: Slurm then counts each CPU as a socket.
        """
        kept = [sum(number // self.cores_per_socket == socket for number in self.reserved_numbers)
                for socket in range(self.sockets)]  # fmt: skip
        unstated = self.cores_per_socket == 1 and self.sockets > _MOST_SOCKETS
        unequal = len(set(kept)) > 1 or self.cores_for_jobs % self.sockets
        return 1 if unstated or unequal else self.sockets

    @property
    def cores_for_jobs(self) -> int:
        return self.cores - self.reserved_cores

    @property
    def memory_for_jobs_mib(self) -> int:
        return max(self.memory_mib - self.reserved_mib, min(self.memory_mib, UNSTATED_MEMORY_MIB))


class Caller(NamedTuple):
    """The user who submits jobs: groups, and the account, QOS and reservation that every job names (empty if none).

    ``accounts``: each account of the user, with itself and the accounts above it. ``all_qos``: the QOS that the user
    may name. Both are empty if accounting does not tell.
    """

    groups: frozenset[str] = frozenset()
    account: str = ""
    qos: str = ""
    reservation: str = ""
    accounts: Mapping[str, frozenset[str]] = {}
    all_qos: frozenset[str] = frozenset()

    def of_jobs(self, kind: str) -> dict[str, frozenset[str]]:
        """Return the accounts (``Accounts``) or QOS (``Qos``) that jobs may have, each with the names that admit it."""
        if kind == "Qos":
            return {name: frozenset({name}) for name in ({self.qos} if self.qos else self.all_qos)}
        if self.account:
            return {self.account: self.accounts.get(self.account, frozenset({self.account}))}
        return dict(self.accounts)


class SlurmPartition(NamedTuple):
    """A Slurm partition with its limits for jobs. ``longest_s`` and ``most_nodes`` are ``None`` without a limit.

    ``closed``: the setting that keeps all users' jobs out, for instance ``State=DOWN``; empty if it is open.
    ``allowed``: the entries of the lists with an effect (AllowGroups, AllowAccounts, AllowQos, DenyAccounts, DenyQos).
    ``settings``: further settings that differ from the default. Both use Slurm's names.
    """

    name: str
    nodes: tuple[str, ...]
    default: bool
    closed: str
    longest_s: int | None
    most_nodes: int | None
    least_nodes: int = 1
    most_cpus: int | None = None
    most_memory_mib: int | None = None
    allowed: dict[str, tuple[str, ...]] = {}
    settings: dict[str, str] = {}
    tier: int = 1

    @property
    def stated(self) -> dict[str, str]:
        """Return the permitted users and further settings as texts."""
        return {**{key: ",".join(names) for key, names in self.allowed.items()}, **self.settings}

    def gives_way(self, partitions: Iterable["SlurmPartition"]) -> bool:
        """Return whether jobs of another partition may preempt its jobs (PreemptMode, PriorityTier)."""
        names = {*self.nodes}
        return "PreemptMode" in self.settings and any(
            one.tier > self.tier and not names.isdisjoint(one.nodes) for one in partitions
        )

    def takes(self, nodes: int) -> bool:
        """Return whether a job may have so many nodes."""
        return self.least_nodes <= nodes <= (nodes if self.most_nodes is None else self.most_nodes)

    def cores_of(self, node: SlurmNode) -> int:
        """Return the largest number of the node's cores that a job gets in this partition."""
        of_sockets = int(self.settings.get("MaxCPUsPerSocket", 0)) * node.sockets
        cpus = min(self.most_cpus or sys.maxsize, of_sockets or sys.maxsize)
        return max(1, min(node.cores_for_jobs, cpus // node.cpus_per_core))

    def memory_of(self, node: SlurmNode) -> int:
        """Return the most memory of the node that a job gets in this partition, in MiB."""
        of_cpus = int(self.settings.get("MaxMemPerCPU", 0)) * self.cores_of(node) * node.cpus_per_core
        return min(node.memory_for_jobs_mib, self.most_memory_mib or sys.maxsize, of_cpus or sys.maxsize)

    def bars(self, caller: Caller) -> str:
        """Return the setting by which the partition surely refuses the caller's jobs; empty if there is none."""
        if self.closed and not (self.closed == _NEEDS_RESERVATION and caller.reservation):
            return self.closed
        groups = self.allowed.get("AllowGroups")
        if groups is not None and not caller.groups & {*groups}:
            return f"AllowGroups={','.join(groups)}"
        for kind in ("Accounts", "Qos"):
            if caller.of_jobs(kind) and not self._admitted(caller, kind):
                return "; ".join(f"{key}={names}" for key, names in self.stated.items() if key.endswith(kind))
        return ""

    def _admitted(self, caller: Caller, kind: str) -> list[str]:
        """Return the caller's accounts or QOS whose jobs the partition accepts. An account admits those below it."""
        allowed, denied = (self.allowed.get(f"{rule}{kind}") for rule in ("Allow", "Deny"))
        mine = caller.of_jobs(kind).items()
        # Slurm ignores the second list beside the first one.
        if allowed is None:
            return [name for name, admits in mine if admits.isdisjoint(denied or ())]
        return [name for name, admits in mine if not admits.isdisjoint(allowed)]

    def surely_admits(self, caller: Caller) -> bool:
        """Return whether the lists of accounts and QOS admit the caller's jobs, as far as accounting tells."""
        return all(f"Allow{kind}" not in self.allowed or self._admitted(caller, kind) for kind in ("Accounts", "Qos"))

    def wants(self, caller: Caller) -> list[str]:
        """Return the options that a job must also name, for instance ``--account=a|b``."""
        found = []
        for option, said, kind in (("--account", caller.account, "Accounts"), ("--qos", caller.qos, "Qos")):
            allowed, admitted = self.allowed.get(f"Allow{kind}"), self._admitted(caller, kind)
            # If the partition admits all of the user's accounts, it admits the default one.
            if allowed and not said and not (admitted and len(admitted) == len(caller.of_jobs(kind))):
                found.append(f"{option}={'|'.join(admitted or allowed)}")
        return found


class Switch(NamedTuple):
    name: str
    level: int
    nodes: frozenset[str]


class SlurmFacts(NamedTuple):
    """The answers of Slurm's commands."""

    config: dict[str, str]
    nodes: list[SlurmNode]
    partitions: list[SlurmPartition]
    mpi_types: tuple[str, ...]

    @classmethod
    def asked(cls, run: Callable[[str], str]) -> "SlurmFacts":
        """Ask Slurm. ``run`` runs a command and returns its output.

        :raises SurveyError: an answer cannot be read. Errors of ``run`` are raised, too.
        """
        config = parse_config(run(CONFIG))
        return cls(config, parse_nodes(run(NODES)), parse_partitions(run(PARTITIONS)), parse_mpi_types(run(MPI_TYPES)))


def parse_nodes(text: str) -> list[SlurmNode]:
    """Parse the output of ``NODES``.

    :raises SurveyError: the text has another format.
    """
    nodes = []
    for record in records(text, NODES, "NodeName"):
        state = condition(required(record, "State", NODES))
        if not state.exists:
            continue
        sockets, of_socket, threads, memory_mib = (
            whole(record, key, NODES) for key in ("Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory")
        )
        per_core = max(1, whole(record, "CPUTot", NODES, 0) // (sockets * of_socket or 1)) if threads > 1 else 1
        numbers = _cores_of_cpus(record.get("CPUSpecList", ""), per_core)
        reason = record.get("Reason", "")
        node = SlurmNode(
            record["NodeName"],
            record.get("Arch", ""),
            sockets,
            of_socket,
            threads,
            memory_mib,
            gres=parse_gres(record.get("Gres", "")),
            features=listed(next((record[key] for key in _FEATURES if record.get(key)), "")),
            partitions=listed(record.get("Partitions")),
            condition=state,
            reason="" if reason in NOTHING else reason,
            reserved_cores=_reserved_cores(record, per_core, numbers),
            reserved_numbers=numbers,
            reserved_mib=whole(record, "MemSpecLimit", NODES, 0),
            cpus_per_core=per_core,
        )
        nodes.append(node)
    return nodes


def _cores_of_cpus(cpus: str, per_core: int) -> frozenset[int]:
    """Return the cores of a CPUSpecList such as ``0-1,54-55``, in which each core has ``per_core`` numbers."""
    ranges = re.findall(r"(?:^|,)(\d{1,5})(?:-(\d{1,5}))?(?=,|$)", cpus)
    return frozenset(
        number // per_core for first, last in ranges for number in range(int(first), int(last or first) + 1)
    )


def _reserved_cores(record: dict[str, str], per_core: int, numbers: frozenset[int]) -> int:
    """Return the number of reserved cores, by CPUEfctv (22.05 and later), else by CoreSpecCount or the list of CPUs."""
    in_all = whole(record, "CPUTot", NODES, 0)
    effective = whole(record, "CPUEfctv", NODES, in_all)
    if 0 < effective < in_all:
        return -(-(in_all - effective) // per_core)
    return max(whole(record, "CoreSpecCount", NODES, 0), len(numbers))


def parse_gres(said: str) -> tuple[Gres, ...]:
    """Parse ``gpu:a100:4(S:0-1),shard:8,nvme:1T``. Counts may have the suffixes K, M, G, T; the default is 1."""
    found = []
    for word in listed(said):
        name, *more = re.sub(r"\([^)]*\)", "", word).split(":")
        count = re.fullmatch(r"(\d+)([KMGT]?)", more[-1]) if more else None
        number = int(count[1]) * 1024 ** " KMGT".index(count[2] or " ") if count else 1
        # `no_consume` may be in the place of a type or a count.
        kinds = [kind for kind in (more[:-1] if count else more) if kind != "no_consume"]
        found.append(Gres(name, ":".join(kinds), number))
    return tuple(sorted(found))


def parse_partitions(text: str) -> list[SlurmPartition]:
    """Parse the output of ``PARTITIONS``.

    :raises SurveyError: the text has another format.
    """
    partitions = []
    for record in records(text, PARTITIONS, "PartitionName"):
        # They are also shown, so they stay texts.
        for key in ("MaxCPUsPerSocket", "MaxMemPerCPU"):
            limit(record, key, PARTITIONS)
        state = required(record, "State", PARTITIONS)
        closed = next((setting for setting in _CLOSED if record.get(setting[:-4]) == "YES"), "")
        partition = SlurmPartition(
            record["PartitionName"],
            node_names(record.get("Nodes", ""), PARTITIONS),
            record.get("Default") == "YES",
            f"State={state}" if state != "UP" else closed,
            duration(record, "MaxTime", PARTITIONS),
            limit(record, "MaxNodes", PARTITIONS),
            max(1, whole(record, "MinNodes", PARTITIONS, 1)),
            limit(record, "MaxCPUsPerNode", PARTITIONS),
            limit(record, "MaxMemPerNode", PARTITIONS),
            {key: listed(record[key]) for key in _LISTS if record.get(key, "ALL").upper() not in _UNBOUND},
            {key: record[key] for key in _SETTINGS if record.get(key, "NO").upper() not in _UNBOUND},
            whole(record, "PriorityTier", PARTITIONS, 1),
        )
        partitions.append(partition)
    for partition in partitions:
        # Every partition has the cluster's mode, but it matters only below another partition.
        if not partition.gives_way(partitions):
            partition.settings.pop("PreemptMode", None)
    return partitions


def parse_topology(text: str) -> list[Switch]:
    """Parse the switches of ``topology/tree``. Return none for another plug-in, or without one.

    :raises SurveyError: a switch's list of nodes cannot be read.
    """
    lines = [line for line in clean(text).splitlines() if line.lstrip().startswith("SwitchName=")]
    return [
        Switch(
            record["SwitchName"],
            whole(record, "Level", TOPOLOGY),
            frozenset(node_names(record.get("Nodes", ""), TOPOLOGY)),
        )
        for record in records("\n".join(lines), TOPOLOGY, "SwitchName")
    ]


def parse_config(text: str) -> dict[str, str]:
    """Parse the active settings of slurm.conf, by name."""
    pairs = (line.partition("=") for line in clean(text).splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign and re.fullmatch(r"\w+", name.strip())}


def keeps_accounting(storage_type: str) -> bool:
    """Return whether Slurm has accounting. Without it, ``AccountingStorageType`` is ``(null)`` since 23.11."""
    return storage_type not in NOTHING and not storage_type.endswith("/none")


def parse_mpi_types(text: str) -> tuple[str, ...]:
    """Parse the plug-ins of ``srun --mpi=list``: one word on each line, after ``srun: `` before 21.08."""
    lines = [line.strip().removeprefix("srun: ").strip() for line in clean(text).splitlines()]
    types = [line for line in lines if re.fullmatch(r"[a-z][\w-]*", line)]
    versions = [word for line in lines for word in re.findall(r"\bpmix_v\d+\b", line)]
    return tuple(dict.fromkeys(word for word in [*types, *versions] if word != "none"))


def max_time(limit_s: int) -> str:
    """Return a limit in the format of ``max_time``: whole hours or minutes, else seconds."""
    unit, unit_s = next(one for one in (("h", 3600), ("m", 60), ("s", 1)) if limit_s % one[1] == 0)
    return f"{limit_s // unit_s}{unit}"


class Qos(NamedTuple):
    """The limits of a job in a QOS; ``None`` without a limit. CPUs are Slurm's."""

    most_nodes: int | None
    most_cpus: int | None
    least_nodes: int
    longest_s: int | None


def parse_qos(text: str) -> dict[str, Qos]:
    """Parse lines ``NAME|node=26,cpu=1040|node=1|3-00:00:00`` into limits by QOS. Ignore other lines.

    :raises SurveyError: a limit is no number, or no duration.
    """
    limits = {}
    for line in clean(text).splitlines():
        name, *fields = line.split("|")
        if len(fields) == 3 and name:
            most, least = ({"QOS": name, **dict(re.findall("([^=,]+)=([^,]*)", pairs))} for pairs in fields[:2])
            longest_s = duration({"QOS": name, "MaxWall": fields[2] or UNLIMITED}, "MaxWall", QOS)
            most_nodes, most_cpus = (whole(most, key, QOS) if key in most else None for key in ("node", "cpu"))
            limits[name] = Qos(most_nodes, most_cpus, whole(least, "node", QOS, 1) or 1, longest_s)
    return limits


def bounded(
    partitions: Iterable[SlurmPartition], qos: Mapping[str, Qos], of_jobs: str, nodes: Sequence[SlurmNode]
) -> list[SlurmPartition]:
    """Return the partitions with the limits of their QOS, and of the QOS that jobs name (``of_jobs``)."""
    cpus = {node.name: node.cores * node.cpus_per_core for node in nodes}
    tighter = []
    for unbounded in partitions:
        partition = unbounded
        largest = max((cpus[name] for name in partition.nodes if name in cpus), default=0)
        for limits in (qos[name] for name in (partition.settings.get("QoS", ""), of_jobs) if name in qos):
            # Checks use whole nodes, so a limit of CPUs is a limit of nodes.
            by_cpus = max(1, limits.most_cpus // largest) if limits.most_cpus and largest else None
            partition = partition._replace(
                most_nodes=_least(partition.most_nodes, limits.most_nodes, by_cpus),
                least_nodes=max(partition.least_nodes, limits.least_nodes),
                longest_s=_least(partition.longest_s, limits.longest_s),
            )
        tighter.append(partition)
    return tighter


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def nodes_of_jobs(nodes: Iterable[SlurmNode], reservation: Reservation | None) -> list[SlurmNode]:
    """Return the nodes that jobs of the reservation get, in the state that they see; all nodes without one."""
    if reservation is None:
        return list(nodes)
    return [node._replace(condition=reservation.seen(node.name, node.condition))
            for node in nodes if reservation.gives(node.name)]  # fmt: skip
