"""The switches: two nodes on each leaf, all leaves below one spine, as Slurm's topology and as the network's bridges.

    node1 ─┐                                ┌─ node3
           ├─ switch1 ── spine ── switch2 ─┤
    node2 ─┘               │               └─ node4
                         login

Each further adapter of the nodes, ``eth1`` and so on, has one switch for all of them, ``rail1`` and so on, which leads
nowhere else.

A leaf's uplink is a veth pair of the login namespace, ``up-SWITCH`` at the leaf and ``down-SWITCH`` at the spine:
what is done to these two is done to all that crosses it.
"""

from kappa.embedded_cluster.options import ClusterOptions

SPINE = "spine"
# Of the adapter of all light nodes.
LIGHT_ADDRESS = "10.77.0.253"


def leaf_of(node: str, options: ClusterOptions) -> str:
    """The leaf switch that a node is on."""
    return f"switch{(int(node.removeprefix('node')) - 1) // options.nodes_of_a_leaf + 1}"


def _leaves(options: ClusterOptions) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for node in options.node_names:
        leaves.setdefault(leaf_of(node, options), []).append(node)
    return leaves


def render_topology_conf(options: ClusterOptions) -> str:
    """topology.conf of Slurm's plug-in topology/tree."""
    leaves = _leaves(options)
    lines = [f"SwitchName={leaf} Nodes={','.join(nodes)}" for leaf, nodes in leaves.items()]
    return "\n".join([*lines, f"SwitchName={SPINE} Switches={','.join(leaves)}"]) + "\n"


def render_bridges(options: ClusterOptions) -> str:
    """The leaf switches and their uplinks as commands of ip(8), for the login namespace that has the spine.

    Light nodes share the network of the login namespace, and with it the adapter that MPI is told to use.
    """
    if options.light:
        return f"link add eth0 type bridge\naddress add {LIGHT_ADDRESS}/32 dev eth0\nlink set eth0 up\n"
    lines = []
    for rail in range(1, options.adapters):
        lines += [f"link add rail{rail} type bridge", f"link set rail{rail} arp off up"]
    for leaf in _leaves(options):
        lines += [
            f"link add {leaf} type bridge",
            # It lies in the login namespace and would answer for the login address with its own MAC address, which
            # changes with the ports of its nodes: they would lose the login node with a node beside them.
            f"link set {leaf} arp off up",
            f"link add up-{leaf} type veth peer name down-{leaf}",
            f"link set up-{leaf} master {leaf} up",
            f"link set down-{leaf} master {SPINE} up",
        ]
    return "\n".join(lines) + "\n"
