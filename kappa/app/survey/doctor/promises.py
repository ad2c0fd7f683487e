"""Compare a partition of the site with Slurm: nodes, cores, memory, GPUs and limits."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.doctor.matters import Matter, not_applicable, right, untold, wrong
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

# Slurm reserves a part of a node's memory, and site.yaml rounds.
_MEMORY_SHARE = 0.1
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def nodes_of(name: str, described: Partition, slurm: SlurmFacts) -> list[SlurmNode]:
    """Return the nodes of the site's partition ``name`` that its jobs get; none if Slurm has no such partition.

    If `access` names a reservation, each node has the state that jobs of the reservation see.
    """
    mine = next((one for one in slurm.partitions if one.name == (described.slurm_partition or name)), None)
    names = set(mine.nodes) if mine else set()
    if described.slurm_nodes:
        names &= set(node_names(described.slurm_nodes, "slurm_nodes"))
    reservation = slurm.reservations.get(named_reservation(described.access))
    return nodes_of_jobs([node for node in slurm.nodes if node.name in names], reservation)


def described_matters(name: str, described: Partition, nodes: Sequence[SlurmNode]) -> Iterator[Matter]:
    """Compare a partition's description with Slurm's ``nodes``, as `nodes_of` returns them."""
    place = (name,)
    slurm_name = described.slurm_partition or name
    reservation = named_reservation(described.access)
    inside = f" in reservation {reservation}" if reservation else ""
    if not nodes:
        yield wrong("nodes", place, f"Slurm has no partition {slurm_name} with these nodes{inside}",
                    "`sinfo -s` lists the partitions; correct `slurm_partition` in site.yaml")  # fmt: skip
        return
    out = [node for node in nodes if not node.condition.in_service]
    service = f"; out of service: {folded(node.name for node in out)}" if out else ", all in service"
    if len(nodes) == described.nodes:
        yield right("nodes", place, f"{described.nodes}, as site.yaml says{service}")
    else:
        yield wrong(
            "nodes", place, f"site.yaml says {described.nodes}, Slurm has {len(nodes)}{inside}: "
            f"{folded(node.name for node in nodes)}",
            f"`nodes: {len(nodes)}`{' and `slurm_nodes`' if inside else ''} in site.yaml",
        )  # fmt: skip
    yield from _cores(place, described, nodes)
    yield from _memory(place, described, nodes)
    if described.gpus_per_node is not None:
        yield _gpus(place, described.gpus_per_node, nodes)


def reservations_of(
    of_access: Mapping[str, str], ask: Callable[[], str]
) -> tuple[dict[str, Reservation], list[Matter]]:
    """Return the reservations by name, and a result for each partition whose jobs cannot use theirs.

    :param of_access: the reservation that each partition's `access` names, or nothing. :param ask: returns the output
        of `RESERVATIONS`, or raises `InputError`.
    """
    found: dict[str, Reservation] = {}
    absent: list[Matter] = []
    for name, reservation in of_access.items():
        try:
            if reservation and reservation not in found:
                found[reservation] = parse_reservation(ask(), reservation)
        except InputError as err:
            absent.append(wrong("reservation", (name,), str(err), "correct `--reservation` in `access` of site.yaml"))
    return found, absent


def _cores(place: tuple[str, ...], described: Partition, nodes: Sequence[SlurmNode]) -> Iterator[Matter]:
    said = described.cores_of_node
    if said is None:
        return
    odd = [node for node in nodes if node.cores_for_jobs != said]
    if odd:
        one = odd[0].cores_for_jobs
        yield wrong(
            "cores", place, f"site.yaml says {said} per node, Slurm has {one} on {folded(node.name for node in odd)}",
            f"correct `cores` or `processor` in site.yaml (`{NODES}`), or Slurm's NodeName line",
        )  # fmt: skip
    else:
        yield right("cores", place, f"{said} per node, as site.yaml says")


def _memory(place: tuple[str, ...], described: Partition, nodes: Sequence[SlurmNode]) -> Iterator[Matter]:
    said = described.memory_gib_per_node
    if said is None:
        return
    if described.shared_host:
        yield not_applicable("memory", place, "nodes share the memory of one machine")
        return
    least = min(nodes, key=lambda node: node.memory_for_jobs_mib)
    if least.memory_for_jobs_mib <= UNSTATED_MEMORY_MIB:
        yield not_applicable("memory", place, "slurm.conf states no memory")
    elif said > (1 + _MEMORY_SHARE) * least.memory_for_jobs_mib / 1024:
        yield wrong(
            "memory", place,
            f"site.yaml says {said:g} GiB per node, "
            f"Slurm gives jobs {least.memory_for_jobs_mib / 1024:.1f} GiB on {least.name}",
            "lower `memory_gib_per_node` in site.yaml, or correct RealMemory in slurm.conf",
        )  # fmt: skip
    else:
        yield right("memory", place, f"{said:g} GiB per node, as site.yaml says; Slurm gives jobs as much")


def _gpus(place: tuple[str, ...], said: int, nodes: Sequence[SlurmNode]) -> Matter:
    def count(node: SlurmNode) -> int:
        return sum(gres.number for gres in node.gres if gres.name == "gpu")

    odd = [node for node in nodes if count(node) != said]
    if odd:
        return wrong(
            "GPUs", place,
            f"site.yaml says {said} per node, Slurm has {count(odd[0])} on {folded(one.name for one in odd)}",
            "correct `gpus_per_node` in site.yaml, or gres.conf of the node",
        )  # fmt: skip
    return right("GPUs", place, f"{said} per node, as site.yaml says")


def limit_matters(name: str, described: Partition, mine: SlurmPartition) -> Iterator[Matter]:
    """Compare the site's scales and ``max_time`` with the limits of Slurm's partition."""
    place = (name,)
    for scale in {one.feature: one for one in SCALES.values() if one.feature in described.features}.values():
        nodes = scale.nodes or described.nodes
        if mine.takes(nodes):
            continue
        subject, bound = ("largest job", mine.most_nodes) if nodes > mine.least_nodes else (
            "smallest job", mine.least_nodes
        )  # fmt: skip
        yield wrong(
            subject, place, f"Slurm's limit is {bound} nodes, {scale.feature} needs {nodes}",
            f"remove {scale.feature} from `features`, and give the reason in `left_out` of expected.yaml",
        )  # fmt: skip
    yield _longest(place, described.max_time, mine.longest_s)


def _longest(place: tuple[str, ...], most: str | None, limit_s: int | None) -> Matter:
    """Compare the longest job with Slurm's limit. ``most``: ``max_time`` of the site's partition."""
    subject = "longest job"
    if limit_s is None:
        return right(subject, place, "Slurm's limit: none")
    limit = max_time(limit_s)
    if most and _duration_s(most) > limit_s:
        found = f"Slurm's limit is {limit} ({PARTITIONS}), and `max_time` lets jobs ask for {most}"
        return wrong(subject, place, found, f"`max_time: {limit}` in site.yaml")
    if most:
        return right(subject, place, f"Slurm's limit: {limit}; jobs ask for {most} at most (`max_time`)")
    if limit_s < CHECKS_ASK_S:
        return wrong(
            subject, place, f"Slurm's limit is {limit} ({PARTITIONS}), checks ask for {max_time(CHECKS_ASK_S)}",
            f"set `max_time: {limit}` in site.yaml, or name a partition or QOS for longer jobs",
        )  # fmt: skip
    return right(subject, place, f"Slurm's limit: {limit}")


def _duration_s(said: str) -> int:
    """Return the seconds of a duration such as ``1h30m``."""
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([dhms])", said))


def accounting_matters(described: Mapping[str, Partition], no_accounting: Callable[[], str]) -> Iterator[Matter]:
    """Test Slurm's accounting.

    :param no_accounting: returns why sacct does not tell the states of jobs. Not called if no job needs accounting.
    """
    subject, asked = "accounting", [name for name, one in described.items() if one.scheduler == "slurm"]
    if without := [name for name in described if name not in asked]:
        yield not_applicable(subject, without, "`scheduler: squeue` does not need it")
    if asked and (why := no_accounting()):
        yield wrong(subject, asked, f"it does not tell the states of jobs: {why}", WITHOUT_ACCOUNTING)
    elif asked:
        yield right(subject, asked, "sacct tells the states of jobs")


class Association(NamedTuple):
    """The number of jobs that a user's account allows at a time; ``None`` without a limit."""

    account: str
    most_submitted: int | None


def parse_associations(text: str) -> list[Association]:
    """Parse ``sacctmgr --parsable2 --noheader show associations format=Account,MaxSubmitJobs``."""
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 1]
    return [Association(account, int(most) if most.isdecimal() else None) for account, most in rows]


def submit_matter(config: Mapping[str, str], said: str | None, described: Mapping[str, Partition]) -> Matter:
    """Compare ``max_jobs`` with the user's accounts. ``said``: sacctmgr's answer, ``None`` if there is none."""
    subject = "jobs at a time"
    enforced = re.split(r"[,\s]+", config.get("AccountingStorageEnforce", "").lower())
    if not {"limits", "all", "safe", "qos"} & set(enforced):
        return not_applicable(subject, (), "Slurm enforces no limits of accounts")
    if said is None:
        return untold(
            subject, (), "sacctmgr does not list your associations", "ask the cluster's administrator for MaxSubmitJobs"
        )
    associations = parse_associations(said)
    for name, one in described.items():
        account = option_value(one.access, "account", "A")
        mine = [one.most_submitted for one in associations if account in ("", one.account)]
        limits = [most for most in mine if most is not None]
        # With several accounts, the one that Slurm will use is unknown: take the largest limit.
        least = max(limits, default=None) if len(limits) == len(mine) else None
        if least is not None and one.max_jobs > least:
            found = f"your account may have {least} jobs at a time, site.yaml says {one.max_jobs}"
            return wrong(subject, (name,), found, f"`max_jobs: {least}` of the partition")  # fmt: skip
    return right(subject, (), "your account allows as many as site.yaml says")
