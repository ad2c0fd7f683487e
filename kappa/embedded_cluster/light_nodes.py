"""Light nodes: each is a slurmd with a host name, /dev/shm and /scratch of its own; all else is the login's."""

from collections.abc import Sequence
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError, Deadline, failure
from kappa.embedded_cluster.instance import Instance
from kappa.embedded_cluster.layout import LOGIN
from kappa.embedded_cluster.processes import ProcessId, argument_list, child_pids

LIGHT_NODE_SCRIPT = Path(__file__).resolve().with_name("light_node.sh")
_AT_ONCE = 4
_FOUND_WITHIN_S = 10.0
# Its slurmd takes 3 MiB; the rest is for a step of a job on each.
MIB_PER_NODE = 8


def check_memory(nodes: int, meminfo: Path = Path("/proc/meminfo")) -> None:
    """Raise ClusterError when there is not the memory for so many light nodes."""
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    available_mib = int(fields["MemAvailable"].split()[0]) >> 10
    if available_mib < nodes * MIB_PER_NODE:
        raise ClusterError(
            f"--nodes {nodes} --light needs {nodes * MIB_PER_NODE} MiB of memory, {MIB_PER_NODE} MiB a node, and "
            f"{available_mib} MiB are available: give at most --nodes {available_mib // MIB_PER_NODE // 2 * 2}"
        )


def start_light_nodes(instance: Instance, nodes: Sequence[str], deadline: Deadline) -> None:
    """Start the slurmd of each node and record it as the node's first process.

    Raises ClusterError with the end of the log of one that failed.
    """
    own = ["unshare", "--mount", "--uts", "--propagation", "private", "--"]
    script = ["bash", str(LIGHT_NODE_SCRIPT), str(instance.options.scratch_bytes)]
    command = ["xargs", f"--max-procs={_AT_ONCE}", "--max-args=1", *own, *script]
    result = instance.run_in(LOGIN, command, deadline.remaining_s() + 1, stdin="\n".join(nodes))
    found: dict[str, ProcessId] = {}

    def all_found() -> bool:
        found.update(_slurmds(instance))
        return found.keys() >= {*nodes}

    # What a slurmd forked may become a child of the first process a moment later.
    within = Deadline(min(_FOUND_WITHIN_S, deadline.remaining_s()) if result.returncode == 0 else 0)
    if not within.poll(all_found, interval_s=0.1):
        missing = [node for node in nodes if node not in found]
        said = result.stderr.strip() or f"no slurmd of {', '.join(missing[:5])}"
        log = instance.layout.log_of(f"init-{missing[0]}")
        raise failure(f"{len(missing)} of {len(nodes)} light nodes did not start: {said}", log)
    for node in nodes:
        found[node].write(instance.layout.init_pid(node))


def _slurmds(instance: Instance) -> dict[str, ProcessId]:
    """The slurmd of each node: in the background, so a child of the login namespace's first process."""
    login = instance.init_of(LOGIN)
    found = {}
    for pid in child_pids(login.pid) if login else ():
        match argument_list(pid):
            case [program, "-b", "-N", node] if program.endswith("slurmd"):
                process = ProcessId.of(pid)
                if process:
                    found[node] = process
    return found
