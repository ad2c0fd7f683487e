"""Write the configuration of Slurm, munge, the name service and the network's bridges, as text.

Two nodes are on each leaf switch. All leaf switches are below one spine. Slurm's topology and the network's bridges are
equal.

    node1 ─┐                                ┌─ node3
           ├─ switch1 ── spine ── switch2 ─┤
    node2 ─┘               │               └─ node4
                         login

The further adapters ``eth1`` … of all nodes are each on one separate switch, ``rail1`` ….

A leaf's uplink is a veth pair of the login namespace: ``up-SWITCH`` at the leaf, ``down-SWITCH`` at the spine. A fault
on these two affects all traffic through the uplink.
"""

from kappa.embedded_cluster.layout import INSIDE, LOGIN, ClusterOptions

SPINE = "spine"
# The address of the adapter that all light nodes share.
LIGHT_ADDRESS = "10.77.0.253"
NETWORK = "10.77.0"
LOGIN_ADDRESS = f"{NETWORK}.254"
PREFIX_BITS = 24
DATABASE_NAME = "slurm_acct_db"
# Ports of slurmd. Light nodes share an address, so each has its own port.
SLURMD_PORT, FIRST_LIGHT_PORT = 6818, 7000


def leaf_of(node: str, options: ClusterOptions) -> str:
    """Return the leaf switch of a node."""
    return f"switch{(int(node.removeprefix('node')) - 1) // options.nodes_of_a_leaf + 1}"


def _leaves(options: ClusterOptions) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for node in options.node_names:
        leaves.setdefault(leaf_of(node, options), []).append(node)
    return leaves


def render_topology_conf(options: ClusterOptions) -> str:
    """Return topology.conf for Slurm's plug-in topology/tree."""
    leaves = _leaves(options)
    lines = [f"SwitchName={leaf} Nodes={','.join(nodes)}" for leaf, nodes in leaves.items()]
    return "\n".join([*lines, f"SwitchName={SPINE} Switches={','.join(leaves)}"]) + "\n"


def render_bridges(options: ClusterOptions) -> str:
    """Return ip(8) commands that make the leaf switches and their uplinks in the login namespace.

    Light nodes share the network of the login namespace, and so the adapter for MPI.
    """
    if options.light:
        return f"link add eth0 type bridge\naddress add {LIGHT_ADDRESS}/32 dev eth0\nlink set eth0 up\n"
    lines = []
    for rail in range(1, options.adapters):
        lines += [f"link add rail{rail} type bridge", f"link set rail{rail} arp off up"]
    for leaf in _leaves(options):
        lines += [
            f"link add {leaf} type bridge",
            # The bridge is in the login namespace and would answer ARP for the login address with its own MAC address.
            # A leaving node would change that address, and the other nodes would lose the login node.
            f"link set {leaf} arp off up",
            f"link add up-{leaf} type veth peer name down-{leaf}",
            f"link set up-{leaf} master {leaf} up",
            f"link set down-{leaf} master {SPINE} up",
        ]
    return "\n".join(lines) + "\n"


def node_address(node: str) -> str:
    return f"{NETWORK}.{int(node.removeprefix('node'))}"


def slurmd_port(node: str, options: ClusterOptions) -> int:
    return FIRST_LIGHT_PORT + int(node.removeprefix("node")) if options.light else SLURMD_PORT


def slurm_address(node: str, options: ClusterOptions) -> str:
    return LOGIN_ADDRESS if options.light else node_address(node)


def backup_place(options: ClusterOptions) -> str | None:
    """Return the node of the second slurmctld, if there is one."""
    return options.node_names[0] if options.backup_controller else None


def rail_address(node: str, rail: int) -> str:
    """Return the address of a node's adapter ``eth<rail>``, which is in a separate network."""
    return f"10.{77 + rail}.0.{int(node.removeprefix('node'))}"


def node_range(first: int, last: int) -> str:
    """Return Slurm's host list expression for the nodes first … last."""
    return f"node{first}" if first == last else f"node[{first}-{last}]"


def gpu_shares(node_count: int, devices: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the devices of each GPU node: equal shares, or all devices on every node if they are too few."""
    if len(devices) < node_count:
        return [devices] * node_count
    share = len(devices) // node_count
    return [devices[i * share : (i + 1) * share] for i in range(node_count)]


def render_hosts(options: ClusterOptions) -> str:
    rows = [("127.0.0.1", "localhost"), (LOGIN_ADDRESS, LOGIN)]
    rows += [(slurm_address(node, options), node) for node in options.node_names]
    return "".join(f"{address}\t{name}\n" for address, name in rows)


def render_gres_conf(options: ClusterOptions, gpu_devices: tuple[str, ...]) -> str:
    """Return gres.conf with the host's GPUs, or with one placeholder per node if the host has none."""
    lines = ["AutoDetect=off"]
    gpu_nodes = options.node_names[options.nodes // 2 :]
    if gpu_devices:
        for node, share in zip(gpu_nodes, gpu_shares(len(gpu_nodes), gpu_devices), strict=True):
            lines += [f"NodeName={node} Name=gpu File={device}" for device in share]
    else:
        lines += [f"NodeName={node} Name=gpu Type=placeholder File=/dev/null" for node in gpu_nodes]
    return "\n".join(lines) + "\n"


def render_mpi_conf() -> str:
    """Return mpi.conf for Slurm's PMIx plug-in.

    PMIxCliTmpDirBase: PMIx names its folders by job only, so nodes that share /tmp need another folder.

    PMIxCollFence: the default is a tree for fences without data. In Slurm 22.05 the tree lets each node pass without
    the others. Open MPI ends MPI_Init with such a fence: a rank that left it early sent to a rank that could not
    receive yet, which died of SIGSEGV in btl_tcp (one step in eighty on a loaded machine). The ring may hang for steps
    on some of a job's nodes (docs/slurm.md).
    """
    return "PMIxCliTmpDirBase=/dev/shm\nPMIxCollFence=ring\n"


def render_slurmdbd_conf() -> str:
    return f"""\
AuthType=auth/munge
DbdHost={LOGIN}
SlurmUser=root
DebugLevel=info
LogFile={INSIDE}/log/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc={DATABASE_NAME}
"""


def render_slurm_conf(options: ClusterOptions, gpu_devices: tuple[str, ...], memory_mib: int) -> str:
    """Return slurm.conf (22.05 and later). Every node states all the memory of the machine."""
    half = options.nodes // 2
    gpus_per_node = len(gpu_shares(half, gpu_devices)[0]) if gpu_devices else 1
    gres = f"gpu:{gpus_per_node}" if gpu_devices else "gpu:placeholder:1"
    hardware = (
        f"CPUs={options.cpus_per_node} Boards=1 SocketsPerBoard=1 CoresPerSocket={options.cpus_per_node} "
        f"ThreadsPerCore=1 RealMemory={memory_mib} State=UNKNOWN"
    )
    if options.accounting:
        accounting = (
            f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost={LOGIN}\n"
            "AccountingStorageTRES=gres/gpu,license/machine\n"
            # If a step's record arrives before its job's, sacct shows the step's node as all of the job's nodes for up
            # to 5 s. Without step records sacct is right from the start.
            "AccountingStorageEnforce=nosteps\n"
        )
    else:
        accounting = "AccountingStorageType=accounting_storage/none\n"
    backup = backup_place(options)
    # A node's leaf switch is a feature, so that a job can ask for nodes of different switches.
    nodes = "\n".join(
        f"NodeName={node} NodeAddr={slurm_address(node, options)} Port={slurmd_port(node, options)} "
        f"Feature={leaf_of(node, options)}{f' Gres={gres}' if i >= half else ''}"
        for i, node in enumerate(options.node_names)
    )
    return f"""\
ClusterName=kappa
SlurmctldHost={LOGIN}({LOGIN_ADDRESS})
{f"SlurmctldHost={backup}({node_address(backup)})" if backup else "# no backup controller"}
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.socket.2
CredType=cred/munge
SlurmUser=root
SlurmdUser=root

SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd-%n.pid
SlurmctldLogFile={INSIDE}/log/slurmctld.log
SlurmdLogFile={INSIDE}/log/slurmd-%n.log
StateSaveLocation={INSIDE}/slurmctld
SlurmdSpoolDir={INSIDE}/nodes/%n/spool

# All nodes share one machine: no cgroups, no accounting of processes, and no binding unless a job asks for it.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
TaskPluginParam=None
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmix
SlurmdParameters=config_overrides
GresTypes=gpu
# A job with the licence has the machine to itself. On light nodes nothing is measured.
Licenses=machine:{options.nodes if options.light else 1}

TopologyPlugin=topology/tree
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
# A waiting job starts as soon as its resources are free.
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
CompleteWait=0
JobRequeue=0
MinJobAge=300

ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout={120 if options.light else 20}
MessageTimeout=20
BatchStartTimeout=60
InactiveLimit=0
KillWait=5

{accounting}
NodeName=DEFAULT {hardware}
{nodes}
PartitionName=DEFAULT MaxTime=INFINITE State=UP
PartitionName=cpu Nodes={node_range(1, half)} Default=YES
PartitionName=gpu Nodes={node_range(half + 1, options.nodes)}
PartitionName=scratch Nodes={node_range(1, options.nodes)}
"""
