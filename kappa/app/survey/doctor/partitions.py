"""Compare a partition of the site with Slurm: nodes, cores, memory, GPUs, limits, accounting, and whether jobs run."""

import functools
import math
import operator
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kappa.app.survey.doctor.results import NOT_APPLICABLE, UNTOLD, DoctorTest, Must
from kappa.app.survey.records import node_names
from kappa.app.survey.slurm import (
    CHECKS_ASK_S,
    NODES,
    PARTITIONS,
    UNSTATED_MEMORY_MIB,
    SlurmFacts,
    SlurmNode,
    SlurmPartition,
    max_time,
    nodes_of_jobs,
)
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import folded
from kappa.core.sites.description import Partition
from kappa.core.vocabulary.reservations import Reservation, named_reservation, parse_reservation
from kappa.core.vocabulary.sbatch_options import option_value
from kappa.core.vocabulary.scales import SCALES
from kappa.core.vocabulary.slurm_refusals import WITHOUT_ACCOUNTING

_SIMULATOR = "smpirun"
_PER_NODE = "per node, as site.yaml says"
_LEAVE_OUT = "remove the scale from `features`, and give the reason in `left_out` of expected.yaml"
# Slurm reserves a part of a node's memory, and site.yaml rounds.
_MEMORY_SHARE = 0.1
_NO_ANSWERS = SlurmFacts({}, [], [], ())
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


@dataclass(frozen=True)
class PartitionAnswers:
    """The partition ``name`` of the site, and the answers about it.

    ``reservation``: `access` names it; ``no_reservation``: why jobs cannot use it. ``associations``: sacctmgr's lines
    ACCOUNT|MAXSUBMITJOBS of the user, ``None`` without an answer. ``no_accounting``: why sacct does not tell the states
    of jobs. ``refusal``: why Slurm refuses a small job, with its remedy; ``None`` if it is unknown. Each of these is
    empty if all is right. ``not_installed``: environments that Spack has not installed. If ``installed_only``, no run
    installs them.
    """

    name: str
    described: Partition
    slurm: SlurmFacts = _NO_ANSWERS
    reservation: Reservation | None = None
    no_reservation: str = ""
    associations: str | None = None
    no_accounting: str = ""
    refusal: str = ""
    refusal_remedy: str | None = None
    not_installed: str = ""
    installed_only: bool = False

    @property
    def slurm_name(self) -> str:
        return self.described.slurm_partition or self.name

    @property
    def inside(self) -> str:
        reservation = named_reservation(self.described.access)
        return f" in reservation {reservation}" if reservation else ""

    @functools.cached_property
    def limits(self) -> SlurmPartition | None:
        """Return Slurm's partition; ``None`` if it has none of this name."""
        return next((each for each in self.slurm.partitions if each.name == self.slurm_name), None)

    @functools.cached_property
    def nodes(self) -> list[SlurmNode]:
        """Return Slurm's nodes that jobs get, in the state that they see."""
        names = set(self.limits.nodes) if self.limits else set()
        if self.described.slurm_nodes:
            names &= set(node_names(self.described.slurm_nodes, "slurm_nodes"))
        return nodes_of_jobs([node for node in self.slurm.nodes if node.name in names], self.reservation)

    @property
    def least_memory(self) -> SlurmNode:
        return min(self.nodes, key=lambda node: node.memory_for_jobs_mib)

    @property
    def longest_s(self) -> float:
        """Return Slurm's time limit of a job; infinite without one."""
        limit_s = self.limits.longest_s if self.limits else None
        return math.inf if limit_s is None else limit_s

    @property
    def longest(self) -> str:
        return "none" if math.isinf(self.longest_s) else max_time(int(self.longest_s))

    def names_of(self, is_odd: Callable[[SlurmNode], bool]) -> str:
        return folded(node.name for node in self.nodes if is_odd(node))

    def odd_nodes(self, stated: int | None, value: Callable[[SlurmNode], int]) -> str:
        """Return the finding for nodes whose value is not as ``stated``."""
        odd = {node.name: value(node) for node in self.nodes if value(node) != stated}
        first = next(iter(odd.values()), None)
        return f"site.yaml says {stated} per node, Slurm has {first} on {folded(odd)}" if odd else ""

    def scales_beyond(self, limit: int | None, is_beyond: Callable[[int, int], bool]) -> str:
        """Return the finding for scales of the partition whose jobs are beyond Slurm's limit of nodes."""
        needs = {
            scale.feature: f"{scale.feature} needs {nodes}"
            for scale in SCALES.values()
            if scale.feature in self.described.features
            and limit is not None
            and is_beyond(nodes := scale.nodes or self.described.nodes, limit)
        }
        return f"Slurm's limit is {limit} nodes, {', '.join(needs.values())}" if needs else ""


_Test = DoctorTest[PartitionAnswers]


def reservation_of(partition: Partition, ask: Callable[[], str]) -> tuple[Reservation | None, str]:
    """Return the reservation of the partition's `access`, if there is one, or why its jobs cannot use it.

    :param ask: returns the output of `RESERVATIONS`, or raises `InputError`.
    """
    name = named_reservation(partition.access)
    try:
        return (parse_reservation(ask(), name) if name else None), ""
    except InputError as err:
        return None, str(err)


def _gpus(node: SlurmNode) -> int:
    return sum(gres.number for gres in node.gres if gres.name == "gpu")


def _less_memory(partition: PartitionAnswers) -> str:
    stated, least = partition.described.memory_gib_per_node or 0, partition.least_memory
    gib = least.memory_for_jobs_mib / 1024
    if stated <= (1 + _MEMORY_SHARE) * gib:
        return ""
    return f"site.yaml says {stated:g} GiB per node, Slurm gives jobs {gib:.1f} GiB on {least.name}"


def _duration_s(text: str | None) -> int:
    """Return the seconds of a duration such as ``1h30m``."""
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([dhms])", text or ""))


def _enforces_limits(config: Mapping[str, str]) -> bool:
    enforced = re.split(r"[,\s]+", config.get("AccountingStorageEnforce", "").lower())
    return not {"limits", "all", "safe", "qos"}.isdisjoint(enforced)


def _most_jobs(partition: PartitionAnswers) -> int | None:
    """Return the most jobs at a time of the user's account; ``None`` without a limit."""
    account = option_value(partition.described.access, "account", "A")
    rows = [line.split("|") for line in (partition.associations or "").splitlines() if line.count("|") == 1]
    limits = [int(most) if most.isdecimal() else None for name, most in rows if account in ("", name)]
    known = [most for most in limits if most is not None]
    # With several accounts, the one that Slurm will use is unknown: take the largest limit.
    return max(known, default=None) if len(known) == len(limits) else None


LOCAL_TESTS: tuple[_Test, ...] = (
    DoctorTest("nodes", Must(lambda _: "its jobs run on this machine, as ReFrame does", state=NOT_APPLICABLE),
        applies=lambda of: of.described.launcher != _SIMULATOR),
    DoctorTest("SimGrid",
        Must(lambda of: not shutil.which(_SIMULATOR) and "smpirun, which simulates the partition, is not on PATH",
             "`apt install libsimgrid-dev`, or `spack install simgrid`"),
        right=lambda _: "smpirun is installed; the partition is simulated, without Slurm",
        applies=lambda of: of.described.launcher == _SIMULATOR),
)  # fmt: skip
#: The tests of a partition whose jobs Slurm runs.
TESTS: tuple[_Test, ...] = (
    DoctorTest("reservation", Must(lambda of: of.no_reservation, "correct `--reservation` in `access` of site.yaml")),
    DoctorTest("nodes",
        Must(lambda of: not of.nodes and f"Slurm has no partition {of.slurm_name} with these nodes{of.inside}",
             "`sinfo -s` lists the partitions; correct `slurm_partition` in site.yaml"),
        Must(lambda of: len(of.nodes) != of.described.nodes and f"site.yaml says {of.described.nodes}, Slurm has"
             f" {len(of.nodes)}{of.inside}: {of.names_of(lambda _: True)}",
             lambda of: f"`nodes: {len(of.nodes)}`{' and `slurm_nodes`' if of.inside else ''} in site.yaml"),
        right=lambda of: f"{of.described.nodes}, as site.yaml says"
        + (f"; out of service: {out}" if (out := of.names_of(lambda node: not node.condition.in_service))
           else ", all in service")),
    DoctorTest("cores",
        Must(lambda of: of.odd_nodes(of.described.cores_of_node, lambda node: node.cores_for_jobs),
             f"correct `cores` or `processor` in site.yaml (`{NODES}`), or Slurm's NodeName line"),
        right=lambda of: f"{of.described.cores_of_node} {_PER_NODE}",
        applies=lambda of: of.nodes and of.described.cores_of_node is not None),
    DoctorTest("memory",
        Must(lambda of: bool(of.described.shared_host) and "nodes share the memory of one machine",
             state=NOT_APPLICABLE),
        Must(lambda of: of.least_memory.memory_for_jobs_mib <= UNSTATED_MEMORY_MIB and "slurm.conf states no memory",
             state=NOT_APPLICABLE),
        Must(_less_memory, "lower `memory_gib_per_node` in site.yaml, or correct RealMemory in slurm.conf"),
        right=lambda of: f"{of.described.memory_gib_per_node or 0:g} GiB {_PER_NODE}; Slurm gives jobs as much",
        applies=lambda of: of.nodes and of.described.memory_gib_per_node is not None),
    DoctorTest("GPUs",
        Must(lambda of: of.odd_nodes(of.described.gpus_per_node, _gpus),
             "correct `gpus_per_node` in site.yaml, or gres.conf of the node"),
        right=lambda of: f"{of.described.gpus_per_node} {_PER_NODE}",
        applies=lambda of: of.nodes and of.described.gpus_per_node is not None),
    DoctorTest("largest job",
        Must(lambda of: of.scales_beyond(of.limits and of.limits.most_nodes, operator.gt), _LEAVE_OUT)),
    DoctorTest("smallest job",
        Must(lambda of: of.scales_beyond(of.limits and of.limits.least_nodes, operator.lt), _LEAVE_OUT)),
    DoctorTest("longest job",
        Must(lambda of: _duration_s(of.described.max_time) > of.longest_s and f"Slurm's limit is {of.longest}"
             f" ({PARTITIONS}), and `max_time` lets jobs ask for {of.described.max_time}",
             lambda of: f"`max_time: {of.longest}` in site.yaml"),
        Must(lambda of: not of.described.max_time and of.longest_s < CHECKS_ASK_S
             and f"Slurm's limit is {of.longest} ({PARTITIONS}), checks ask for {max_time(CHECKS_ASK_S)}",
             lambda of: f"set `max_time: {of.longest}` in site.yaml, or name a partition or QOS for longer jobs"),
        right=lambda of: f"Slurm's limit: {of.longest}"
        + (f"; jobs ask for {of.described.max_time} at most (`max_time`)" if of.described.max_time else ""),
        applies=lambda of: of.limits),
    DoctorTest("jobs at a time",
        Must(lambda of: not _enforces_limits(of.slurm.config) and "Slurm enforces no limits of accounts",
             state=NOT_APPLICABLE),
        Must(lambda of: of.associations is None and "sacctmgr does not list your associations",
             "ask the cluster's administrator for MaxSubmitJobs", UNTOLD),
        Must(lambda of: (most := _most_jobs(of)) is not None and of.described.max_jobs > most
             and f"your account may have {most} jobs at a time, site.yaml says {of.described.max_jobs}",
             lambda of: f"`max_jobs: {_most_jobs(of)}` of the partition"),
        right=lambda _: "your account allows as many as site.yaml says"),
    DoctorTest("accounting",
        Must(lambda of: of.described.scheduler != "slurm" and "`scheduler: squeue` does not need it",
             state=NOT_APPLICABLE),
        Must(lambda of: of.no_accounting and f"it does not tell the states of jobs: {of.no_accounting}",
             WITHOUT_ACCOUNTING),
        right=lambda _: "sacct tells the states of jobs"),
    DoctorTest("environments",
        Must(lambda of: of.installed_only and f"{of.not_installed}: not installed, and `installed_only` in site.yaml",
             state=NOT_APPLICABLE),
        Must(lambda of: f"{of.not_installed}: not yet installed",
             "the first run installs it; so does `kappa spack install`", UNTOLD),
        applies=lambda of: of.not_installed),
)  # fmt: skip
JOBS = DoctorTest[PartitionAnswers]("jobs",
    Must(lambda of: of.refusal_remedy is None and of.refusal and f"Slurm refuses a small job: {of.refusal}",
         "try it by hand with sbatch", UNTOLD),
    Must(lambda of: of.refusal and f"Slurm refuses your jobs: {of.refusal}", lambda of: of.refusal_remedy or ""),
    right=lambda _: "Slurm accepts your jobs (sbatch --test-only)",
)  # fmt: skip
