"""What Slurm says of its nodes, partitions and jobs."""

import dataclasses

from kappa.core.vocabulary.node_states import condition
from kappa.embedded_cluster.console import ClusterError
from kappa.embedded_cluster.daemons import controller_answers
from kappa.embedded_cluster.instance import Instance
from kappa.embedded_cluster.layout import LOGIN


@dataclasses.dataclass(frozen=True)
class NodeState:
    """One node as sinfo(1) shows it; a trailing ``*`` of the state says that it does not answer."""

    name: str
    state: str
    partitions: str
    reason: str

    @property
    def in_service(self) -> bool:
        return condition(self.state).in_service

    @property
    def is_held_back(self) -> bool:
        """Slurm gives the node no jobs until it is told otherwise or, if it is merely lost, hears from it."""
        return bool(condition(self.state).words & {"DOWN", "DRAIN"})

    @property
    def is_lost(self) -> bool:
        return self.is_held_back and not condition(self.state).responds


def parse_sinfo(text: str) -> list[NodeState]:
    """Nodes in the output of ``sinfo --Node --noheader --Format`` as query_nodes asks for it."""
    found: dict[str, NodeState] = {}
    for line in text.splitlines():
        name, state, partition, reason = (field.strip() for field in line.split("|", 3))
        known = found.get(name)
        partitions = f"{known.partitions},{partition}" if known else partition
        found[name] = NodeState(name, state, partitions, "" if reason == "none" else reason)
    return list(found.values())


def query_nodes(instance: Instance) -> list[NodeState]:
    """The nodes as slurmctld knows them; none when it does not answer."""
    if not controller_answers(instance):
        return []
    try:
        result = instance.run_in(LOGIN, ["sinfo", "--Node", "--noheader", "--format=%N|%T|%R|%E"])
    except ClusterError:
        return []
    return parse_sinfo(result.stdout) if result.returncode == 0 else []


def cancel_all_jobs(instance: Instance, timeout_s: float) -> int:
    """Cancel every job; gives their number.  They end when their nodes confirm it.

    Raises ClusterError when slurmctld does not answer in `timeout_s`.
    """
    jobs = instance.run_in(LOGIN, ["squeue", "--noheader", "--format=%A"], timeout_s).stdout.split()
    if jobs:
        instance.run_in(LOGIN, ["scancel", "--quiet", *jobs], timeout_s)
    return len(jobs)


def no_jobs(instance: Instance) -> bool:
    """Whether the queue is empty: nothing waits, runs or ends."""
    queue = instance.run_in(LOGIN, ["squeue", "--noheader"])
    return queue.returncode == 0 and not queue.stdout.strip()
