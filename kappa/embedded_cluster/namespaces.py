"""Start the namespaces of login and nodes, the network between them, and light nodes.

A light node is a slurmd with its own host name, /dev/shm and /scratch. It shares everything else with the login node.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError, Deadline, failure
from kappa.embedded_cluster.instance import DAEMON_ENVIRONMENT, NODE_INIT_SCRIPT, Instance, login_init_of, outer_command
from kappa.embedded_cluster.layout import LOGIN
from kappa.embedded_cluster.processes import ProcessId, argument_list, child_pids, pid_inside
from kappa.embedded_cluster.render import LOGIN_ADDRESS, PREFIX_BITS, leaf_of, node_address, rail_address

LIGHT_NODE_SCRIPT = Path(__file__).resolve().with_name("light_node.sh")
_AT_ONCE = 4
_FOUND_WITHIN_S = 10.0
# A slurmd needs 3 MiB; the rest is for a job step on each node.
MIB_PER_NODE = 8


def _await_init(
    place: str,
    starter: subprocess.Popen[bytes],
    find: Callable[[], ProcessId | None],
    instance: Instance,
    deadline: Deadline,
) -> ProcessId:
    """Wait until the namespace's first process has finished its setup and become tini."""
    found: list[ProcessId] = []

    def settled() -> bool:
        init = find()
        if init:
            found.append(init)
        elif starter.poll() is not None:
            raise failure(f"the namespaces of {place} could not be made", instance.layout.log_of(f"init-{place}"))
        return bool(found)

    if not deadline.poll(settled, interval_s=0.02):
        starter.kill()
        raise failure(
            f"the namespaces of {place} were not ready within {deadline.timeout_s:.0f} s",
            instance.layout.log_of(f"init-{place}"),
        )
    found[0].write(instance.layout.init_pid(place))
    return found[0]


def _spawn(place: str, command: list[str], instance: Instance) -> subprocess.Popen[bytes]:
    with instance.layout.log_of(f"init-{place}").open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=DAEMON_ENVIRONMENT, start_new_session=True
        )


def start_login(instance: Instance, deadline: Deadline) -> None:
    """Start the outer process, and with it the login namespace."""
    command = outer_command(instance.layout, instance.rootless, f"{LOGIN_ADDRESS}/{PREFIX_BITS}")
    starter = _spawn(LOGIN, command, instance)
    outer = ProcessId.of(starter.pid)
    _await_init(LOGIN, starter, lambda: login_init_of(outer) if outer else None, instance, deadline)


def start_node(instance: Instance, node: str, deadline: Deadline) -> None:
    """Start a node's namespaces in the login namespace, and connect them to their leaf switch."""
    login = instance.init_of(LOGIN)
    if login is None:
        raise ClusterError(f"the login namespace ended while {node} was being started")
    options = instance.options
    scratch_fs = "tmpfs" if instance.rootless else options.scratch_fs
    flags = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--propagation", "private"]
    script = ["bash", str(NODE_INIT_SCRIPT), node, scratch_fs, str(options.scratch_bytes)]
    starter = _spawn(node, instance.enter_command(login, ["unshare", *flags, "--", *script]), instance)

    def find() -> ProcessId | None:
        # nsenter → unshare → init
        for unshare in child_pids(starter.pid):
            for pid in child_pids(unshare):
                if argument_list(pid)[:1] == ["tini"]:
                    return ProcessId.of(pid)
        return None

    init = _await_init(node, starter, find, instance, deadline)
    # End nsenter. The login namespace's init then becomes the node's parent.
    starter.kill()
    starter.wait()
    connect_node(instance, node, init, deadline)


def connect_node(instance: Instance, node: str, init: ProcessId, deadline: Deadline) -> None:
    """Connect a node: a veth pair from the leaf switch to eth0, and from each rail switch to the other adapters."""
    options = instance.options
    links = [(f"veth-{node}", leaf_of(node, options), node_address(node))]
    links += [
        (f"rail{rail}-{node}", f"rail{rail}", rail_address(node, rail)) for rail in range(1, options.adapters)
    ]
    switch_side, node_side = "", "link set lo up\n"
    for number, (link, switch, address) in enumerate(links):
        # The link of a lost node would disappear with its network namespace, but only later.
        instance.run_in(LOGIN, ["ip", "link", "delete", link])
        switch_side += (
            f"link add {link} type veth peer name eth{number} netns {pid_inside(init.pid, 1)}\n"
            f"link set {link} master {switch} up\n"
        )
        node_side += f"address add {address}/{PREFIX_BITS} dev eth{number}\nlink set eth{number} up\n"
    for place, batch in ((LOGIN, switch_side), (node, node_side)):
        result = instance.run_in(place, ["ip", "-batch", "-"], deadline.remaining_s() + 1, stdin=batch)
        if result.returncode != 0:
            raise ClusterError(f"the network of {node} could not be made in {place}: {result.stderr.strip()}")


def check_memory(nodes: int, meminfo: Path = Path("/proc/meminfo")) -> None:
    """Check the memory for so many light nodes.

    :raises ClusterError: there is too little memory.
    """
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    available_mib = int(fields["MemAvailable"].split()[0]) >> 10
    if available_mib < nodes * MIB_PER_NODE:
        raise ClusterError(
            f"--nodes {nodes} --light needs {nodes * MIB_PER_NODE} MiB of memory, {MIB_PER_NODE} MiB per node, but "
            f"{available_mib} MiB are available: give at most --nodes {available_mib // MIB_PER_NODE // 2 * 2}"
        )


def start_light_nodes(instance: Instance, nodes: Sequence[str], deadline: Deadline) -> None:
    """Start the slurmd of each node, and record it as the node's first process.

    :raises ClusterError: a slurmd failed. The message has the last lines of its log.
    """
    own = ["unshare", "--mount", "--uts", "--propagation", "private", "--"]
    script = ["bash", str(LIGHT_NODE_SCRIPT), str(instance.options.scratch_bytes)]
    command = ["xargs", f"--max-procs={_AT_ONCE}", "--max-args=1", *own, *script]
    result = instance.run_in(LOGIN, command, deadline.remaining_s() + 1, stdin="\n".join(nodes))
    found: dict[str, ProcessId] = {}

    def all_found() -> bool:
        found.update(_slurmds(instance))
        return found.keys() >= {*nodes}

    # The process that a slurmd forks may become a child of the first process a little later.
    within = Deadline(min(_FOUND_WITHIN_S, deadline.remaining_s()) if result.returncode == 0 else 0)
    if not within.poll(all_found, interval_s=0.1):
        missing = [node for node in nodes if node not in found]
        said = result.stderr.strip() or f"no slurmd of {', '.join(missing[:5])}"
        log = instance.layout.log_of(f"init-{missing[0]}")
        raise failure(f"{len(missing)} of {len(nodes)} light nodes did not start: {said}", log)
    for node in nodes:
        found[node].write(instance.layout.init_pid(node))


def _slurmds(instance: Instance) -> dict[str, ProcessId]:
    """Return the slurmd of each node. It is in the background, so a child of the login namespace's first process."""
    login = instance.init_of(LOGIN)
    found = {}
    for pid in child_pids(login.pid) if login else ():
        match argument_list(pid):
            case [program, "-b", "-N", node] if program.endswith("slurmd"):
                process = ProcessId.of(pid)
                if process:
                    found[node] = process
    return found
