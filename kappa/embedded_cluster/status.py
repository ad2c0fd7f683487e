"""The state of a cluster, as data, as a table and as JSON."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from kappa.embedded_cluster.daemons import all_daemons, is_ready, process_of
from kappa.embedded_cluster.instance import Instance
from kappa.embedded_cluster.layout import LOGIN
from kappa.embedded_cluster.processes import members, proportional_memory_bytes
from kappa.embedded_cluster.queries import NodeState, query_nodes

HEALTHY, DEGRADED, NOT_UP = 0, 1, 3


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
    """One look at a running cluster; memory is the sum of the proportional shares (PSS) of its processes."""

    daemons: list[DaemonStatus]
    nodes: list[NodeState]
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
    """Look at the cluster; None when it is not up."""
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
    """Type of the file system on /scratch (proc_pid_mountinfo(5))."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as stream:
        for line in stream:
            if line.split()[4] == "/scratch":
                return line.rpartition(" - ")[2].split()[0]
    return "none"


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return ["  " + "  ".join(row).rstrip() for row in padded]


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
            *_table(daemon_rows),
            "",
            *_table(node_rows),
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
