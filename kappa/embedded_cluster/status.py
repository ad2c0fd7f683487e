"""Examine a cluster, and what Slurm says about its nodes and jobs: as data, as a table and as JSON."""

import dataclasses
import json
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import aligned
from kappa.core.vocabulary.node_states import SINFO_FORMAT_OF_ALL, condition, nodes_of_partitions
from kappa.embedded_cluster.console import ClusterError
from kappa.embedded_cluster.daemons import all_daemons, controller_answers, is_ready, process_of
from kappa.embedded_cluster.instance import Instance
from kappa.embedded_cluster.layout import LOGIN
from kappa.embedded_cluster.processes import members, proportional_memory_bytes

HEALTHY, DEGRADED, NOT_UP = 0, 1, 3


@dataclasses.dataclass(frozen=True)
class ClusterNode:
    """A node as sinfo(1) shows it. A trailing ``*`` of the state means that the node does not answer."""

    name: str
    state: str
    partitions: str
    reason: str

    @property
    def in_service(self) -> bool:
        return condition(self.state).in_service

    @property
    def is_held_back(self) -> bool:
        """Return whether the node is down or drained. A node that was only lost resumes when it answers."""
        return bool(condition(self.state).words & {"DOWN", "DRAIN"})

    @property
    def is_lost(self) -> bool:
        return self.is_held_back and not condition(self.state).responds


def parse_sinfo(text: str) -> list[ClusterNode]:
    """Parse the nodes in the output of sinfo, in the format of query_nodes.

    :raises InputError: it cannot be read.
    """
    found: dict[str, ClusterNode] = {}
    for partition, node in nodes_of_partitions(text):
        partitions = f"{found[node.name].partitions},{partition}" if node.name in found else partition
        reason = "" if node.reason == "none" else node.reason
        found[node.name] = ClusterNode(node.name, node.state + node.flags, partitions, reason)
    return list(found.values())


def query_nodes(instance: Instance) -> list[ClusterNode]:
    """Return the nodes from slurmctld; none if it does not answer."""
    if not controller_answers(instance):
        return []
    try:
        result = instance.run_in(LOGIN, ["sinfo", "--Node", "--noheader", f"--format={SINFO_FORMAT_OF_ALL}"])
        return parse_sinfo(result.stdout) if result.returncode == 0 else []
    except (ClusterError, InputError):
        return []


def cancel_all_jobs(instance: Instance, timeout_s: float) -> int:
    """Cancel every job, and return their number. The jobs end when their nodes confirm it.

    :raises ClusterError: slurmctld does not answer within `timeout_s`.
    """
    jobs = instance.run_in(LOGIN, ["squeue", "--noheader", "--format=%A"], timeout_s).stdout.split()
    if jobs:
        instance.run_in(LOGIN, ["scancel", "--quiet", *jobs], timeout_s)
    return len(jobs)


def no_jobs(instance: Instance) -> bool:
    """Return whether the queue is empty: no job waits, runs or ends."""
    queue = instance.run_in(LOGIN, ["squeue", "--noheader"])
    return queue.returncode == 0 and not queue.stdout.strip()


@dataclasses.dataclass(frozen=True)
class DaemonStatus:
    name: str
    place: str
    pid: int | None
    state: str  # ready, not answering, not running
    memory_bytes: int
    log: str


@dataclasses.dataclass(frozen=True)
class ClusterStatus:
    """The state of a running cluster. The memory is the sum of the proportional shares (PSS) of its processes."""

    daemons: list[DaemonStatus]
    nodes: list[ClusterNode]
    scratch: dict[str, str]
    memory_bytes: int

    @property
    def problems(self) -> list[str]:
        found = [f"{d.name} is {d.state}" for d in self.daemons if d.state != "ready"]
        found += [f"{n.name} is {n.state} ({n.reason or 'no reason given'})" for n in self.nodes if not n.in_service]
        if not self.nodes:
            found.append("slurmctld does not answer sinfo")
        return found


def examine(instance: Instance) -> ClusterStatus | None:
    """Examine the cluster. Return None if it is not up."""
    inits = instance.inits()
    if LOGIN not in inits:
        return None
    processes = members(inits)
    memory = {p.process.pid: proportional_memory_bytes(p.process.pid) for p in processes}
    daemons = []
    for daemon in all_daemons(instance):
        process = process_of(daemon, processes)
        if process is None:
            state = "not running"
        else:
            state = "ready" if is_ready(daemon, inits[daemon.place]) else "not answering"
        pid = process.pid if process else None
        log = str(instance.layout.log_of(daemon.name))
        daemons.append(DaemonStatus(daemon.name, daemon.place, pid, state, memory.get(pid or 0, 0), log))
    scratch = {node: _scratch_fs(inits[node].pid) for node in instance.options.node_names if node in inits}
    return ClusterStatus(daemons, query_nodes(instance), scratch, sum(memory.values()))


def _scratch_fs(pid: int) -> str:
    """Return the type of the file system on /scratch (proc_pid_mountinfo(5))."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as stream:
        for line in stream:
            if line.split()[4] == "/scratch":
                return line.rpartition(" - ")[2].split()[0]
    return "none"


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f}"


def render_table(instance: Instance, status: ClusterStatus) -> str:
    layout = instance.layout
    daemon_rows = [("DAEMON", "PLACE", "STATE", "PID", "MiB")]
    daemon_rows += [
        (d.name, d.place, d.state, str(d.pid or "-"), _mebibytes(d.memory_bytes) if d.pid else "-")
        for d in status.daemons
    ]
    node_rows = [("NODE", "STATE", "PARTITIONS", "SCRATCH", "REASON")]
    node_rows += [(n.name, n.state, n.partitions, status.scratch.get(n.name, "-"), n.reason) for n in status.nodes]
    verdict = "degraded: " + "; ".join(status.problems) if status.problems else "healthy"
    return "\n".join(
        [
            f"cluster: {verdict}",
            "",
            *(f"  {line}" for line in aligned(daemon_rows)),
            "",
            *(f"  {line}" for line in aligned(node_rows)),
            "",
            f"  memory   {_mebibytes(status.memory_bytes)} MiB (PSS of all processes)",
            f"  state    {layout.state}{'  (user namespace)' if instance.rootless else ''}",
            f"  shared   {layout.shared}  (/shared inside)",
            f"  logs     {layout.log}",
            f"  commands {layout.bin}",
        ]
    )


def render_json(instance: Instance, status: ClusterStatus) -> str:
    record: dict[str, Any] = {
        "state": "degraded" if status.problems else "healthy",
        "problems": status.problems,
        "daemons": [dataclasses.asdict(d) for d in status.daemons],
        "nodes": [dataclasses.asdict(n) for n in status.nodes],
        "scratch": status.scratch,
        "memory_bytes": status.memory_bytes,
        "rootless": instance.rootless,
        "options": dataclasses.asdict(instance.options),
        "paths": {
            "state": str(instance.layout.state),
            "bin": str(instance.layout.bin),
            "log": str(instance.layout.log),
            "shared": str(instance.layout.shared),
        },
    }
    return json.dumps(record, indent=2)
