"""What Slurm says of a cluster: nodes, partitions, switches, settings. Pure functions of the text of its commands.

Formats as in the manual page of scontrol(1), Slurm 22.05 to 25.05: keys that a version lacks are not needed.
"""

import re
from typing import NamedTuple

from kappa.ground.clean_text import clean
from kappa.survey.records import NOTHING, listed, node_names, records, whole

NODES = "scontrol --oneliner show node"
PARTITIONS = "scontrol --oneliner show partition"
TOPOLOGY = "scontrol show topology"
CONFIG = "scontrol show config"
MPI_TYPES = "srun --mpi=list"

#: What a check asks for unless it says more, s: ``time_limit`` of the base of all checks.
CHECKS_ASK_S = 600
#: MiB of memory that Slurm has for a node of which slurm.conf says nothing.
UNSTATED_MEMORY_MIB = 1
#: Flags of a state, or states, in which a node takes no job.
_OUT = {
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "MAINT", "MAINTENANCE", "NOT_RESPONDING",
    "POWERING_DOWN", "POWER_DOWN", "REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT", "UNKNOWN", "RESERVED",
    "INVAL", "INVALID_REG", "NO_RESPOND",
}  # fmt: skip
_FUTURE = "FUTURE"
# Slurm powers such a node up for a job, which takes minutes.
_ASLEEP = "POWERED_DOWN"


class Gres(NamedTuple):
    """``gpu:a100:4(S:0-1)``: name, type (empty if none), number."""

    name: str
    type: str
    number: int


class Node(NamedTuple):
    """``memory_mib`` as Slurm has it; ``places`` are features, in their order."""

    name: str
    arch: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gres: tuple[Gres, ...]
    features: tuple[str, ...]
    partitions: tuple[str, ...]
    state: frozenset[str]
    reason: str

    @property
    def usable(self) -> bool:
        """Whether it takes jobs, now or when others have ended."""
        return not self.state & _OUT

    @property
    def idle(self) -> bool:
        """Awake, too."""
        return self.usable and "IDLE" in self.state and _ASLEEP not in self.state


class SlurmPartition(NamedTuple):
    """``longest_s`` is ``None`` without a limit."""

    name: str
    nodes: tuple[str, ...]
    default: bool
    open_to_users: bool
    longest_s: int | None
    most_nodes: int | None


class Switch(NamedTuple):
    name: str
    level: int
    nodes: frozenset[str]


def parse_nodes(text: str) -> list[Node]:
    """:raises SurveyError: the text is none of ``NODES``."""
    found = []
    for record in records(text, NODES, "NodeName"):
        state = _state(record.get("State", ""))
        if _FUTURE in state:
            continue
        reason = record.get("Reason", "")
        found.append(
            Node(
                record["NodeName"],
                record.get("Arch", ""),
                whole(record, "Sockets", NODES),
                whole(record, "CoresPerSocket", NODES),
                whole(record, "ThreadsPerCore", NODES),
                whole(record, "RealMemory", NODES),
                parse_gres(record.get("Gres", "")),
                listed(record.get("ActiveFeatures") or record.get("AvailableFeatures")),
                listed(record.get("Partitions")),
                state,
                "" if reason in NOTHING else reason,
            )
        )
    return found


def parse_gres(said: str) -> tuple[Gres, ...]:
    """``gpu:a100:4(S:0-1),shard:8,nvme:1T``: counts with the suffixes K, M, G, T; 1 where none is said."""
    found = []
    for word in listed(said):
        name, *more = re.sub(r"\([^)]*\)", "", word).split(":")
        count = re.fullmatch(r"(\d+)([KMGT]?)", more[-1]) if more else None
        number = int(count[1]) * 1024 ** " KMGT".index(count[2] or " ") if count else 1
        # `no_consume` stands where a type or a count may stand.
        kinds = [kind for kind in (more[:-1] if count else more) if kind != "no_consume"]
        found.append(Gres(name, ":".join(kinds), number))
    return tuple(sorted(found))


def parse_partitions(text: str) -> list[SlurmPartition]:
    """:raises SurveyError: the text is none of ``PARTITIONS``."""
    found = []
    for record in records(text, PARTITIONS, "PartitionName"):
        most = record.get("MaxNodes", "")
        found.append(
            SlurmPartition(
                record["PartitionName"],
                node_names(record.get("Nodes", ""), PARTITIONS),
                record.get("Default") == "YES",
                record.get("State", "UP") == "UP" and record.get("RootOnly") != "YES" and record.get("Hidden") != "YES",
                _seconds(record.get("MaxTime", "UNLIMITED")),
                int(most) if most.isdecimal() else None,
            )
        )
    return found


def parse_topology(text: str) -> list[Switch]:
    """The switches of ``topology/tree``; none where another plug-in answers, or none at all.

    :raises SurveyError: a switch names nodes in no way that Slurm does.
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
    """The settings of slurm.conf as they are in force, by name."""
    pairs = (line.partition("=") for line in clean(text).splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign and re.fullmatch(r"\w+", name.strip())}


def keeps_accounting(storage_type: str) -> bool:
    """Whether Slurm keeps jobs' accounts, by ``AccountingStorageType``: without, 23.11 and later say ``(null)``."""
    return storage_type not in NOTHING and not storage_type.endswith("/none")


def parse_mpi_types(text: str) -> tuple[str, ...]:
    """The plug-ins of ``srun --mpi=list``: a word on each line (since 21.08), or after ``srun: `` (before)."""
    lines = [line.strip().removeprefix("srun: ").strip() for line in clean(text).splitlines()]
    types = [line for line in lines if re.fullmatch(r"[a-z][\w-]*", line)]
    versions = [word for line in lines for word in re.findall(r"\bpmix_v\d+\b", line)]
    return tuple(dict.fromkeys(word for word in [*types, *versions] if word != "none"))


def max_time(limit_s: int) -> str:
    """A partition's limit as ``max_time`` of site.yaml has it: whole hours or minutes, else seconds."""
    unit, unit_s = next(one for one in (("h", 3600), ("m", 60), ("s", 1)) if limit_s % one[1] == 0)
    return f"{limit_s // unit_s}{unit}"


def _state(said: str) -> frozenset[str]:
    """``IDLE+DRAIN*`` is IDLE, DRAIN and NOT_RESPONDING."""
    flags = {re.sub(r"[^A-Z_]", "", word) for word in said.upper().split("+")}
    return frozenset(flags | ({"NOT_RESPONDING"} if "*" in said else set())) - {""}


def _seconds(limit: str) -> int | None:
    """``1-12:00:00``, ``12:00:00``, ``30:00``; ``None`` for UNLIMITED."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", limit)
    if not match:
        return None
    days, *rest = (int(part) if part is not None else None for part in match.groups())
    parts = [part for part in rest if part is not None]
    # A day before it makes the first number hours; one or two numbers alone are minutes and seconds.
    hours, minutes, seconds = [*parts, 0, 0, 0][:3] if days is not None or len(parts) == 3 else [0, *parts, 0][:3]
    return ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds
