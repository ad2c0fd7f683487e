"""What a quality of service (QOS) of Slurm allows a job: that of a partition, or one that every job names.

Its limits hold besides those of the partition; the tighter one counts. slurm.schedmd.com/qos.html, sacctmgr(1).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.slurm import Node, SlurmPartition, seconds
from kappa.core.ground.clean_text import clean

QOS = "sacctmgr --noheader --parsable2 show qos format=Name,MaxTRES,MinTRES,MaxWall"


class Qos(NamedTuple):
    """Limits of one job; ``None`` without one. ``cpus`` are CPUs of Slurm."""

    most_nodes: int | None
    most_cpus: int | None
    least_nodes: int
    longest_s: int | None


def parse_qos(text: str) -> dict[str, Qos]:
    """Return the limits by the QOS' name, of lines ``NAME|node=26,cpu=1040|node=1|3-00:00:00``; pass over others."""
    found = {}
    for line in clean(text).splitlines():
        name, *fields = line.split("|")
        if len(fields) == 3 and name:
            most, least = (dict(re.findall(r"(?:^|,)(node|cpu)=(\d+)", said)) for said in fields[:2])
            nodes, cpus, longest_s = _number(most, "node"), _number(most, "cpu"), seconds(fields[2])
            found[name] = Qos(nodes, cpus, _number(least, "node") or 1, longest_s)
    return found


def _number(limits: Mapping[str, str], name: str) -> int | None:
    return int(limits[name]) if name in limits else None


def bounded(
    partitions: Iterable[SlurmPartition], qos: Mapping[str, Qos], of_jobs: str, nodes: Sequence[Node]
) -> list[SlurmPartition]:
    """Return the partitions with the limits of their QOS, and of the one that jobs name (``of_jobs``)."""
    cpus = {node.name: node.cores * node.cpus_per_core for node in nodes}
    found = []
    for partition in partitions:
        tighter = partition
        for name in (partition.settings.get("QoS", ""), of_jobs):
            if name in qos:
                tighter = _tighter(tighter, qos[name], {cpus[one] for one in partition.nodes if one in cpus})
        found.append(tighter)
    return found


def _tighter(partition: SlurmPartition, qos: Qos, cpus_of_nodes: Collection[int]) -> SlurmPartition:
    """``cpus_of_nodes``: checks take whole nodes, so a limit of CPUs is one of nodes."""
    by_cpus = max(1, qos.most_cpus // max(cpus_of_nodes)) if qos.most_cpus and cpus_of_nodes else None
    most = [one for one in (partition.most_nodes, qos.most_nodes, by_cpus) if one is not None]
    longest = [one for one in (partition.longest_s, qos.longest_s) if one is not None]
    return partition._replace(
        most_nodes=min(most, default=None),
        least_nodes=max(partition.least_nodes, qos.least_nodes),
        longest_s=min(longest, default=None),
    )
