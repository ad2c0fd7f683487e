"""Settings of TCP and of the layers below it that administrators make, and that a node with another image lacks."""

import os

from kappa.node.files import entries, number, read

SETTINGS = "/proc/sys/net"
NAMES = (
    "core/default_qdisc",
    "core/netdev_budget",
    "core/netdev_max_backlog",
    "core/optmem_max",
    "core/rmem_default",
    "core/rmem_max",
    "core/somaxconn",
    "core/wmem_default",
    "core/wmem_max",
    "ipv4/ip_forward",
    "ipv4/ip_local_port_range",
    "ipv4/ip_no_pmtu_disc",
    "netfilter/nf_conntrack_max",
)
# Values that follow from the memory, are secret, or list the choices.
NOT_SET = ("tcp_mem", "tcp_max_orphans", "tcp_max_tw_buckets", "tcp_fastopen_key", "tcp_available_", "tcp_allowed_")
# Per interface: answers and source addresses of ARP, forwarding, and the check of source addresses.
OF_INTERFACES = ("arp_announce", "arp_filter", "arp_ignore", "forwarding", "proxy_arp", "rp_filter")


def facts():
    names = [f"ipv4/{name}" for name in entries(SETTINGS, "ipv4") if name.startswith("tcp_")]
    told = {name: read(SETTINGS, name) for name in (*NAMES, *names) if not os.path.basename(name).startswith(NOT_SET)}
    # The kernel puts tabs between numbers.
    found = {"tcp." + os.path.basename(name): value and " ".join(value.split()) for name, value in told.items()}
    folder = os.path.join(SETTINGS, "ipv4/conf")
    for name in ("all", *entries("/sys/class/net")):
        if name != "lo" and os.path.isdir(os.path.join(folder, name)):
            values = (f"{each}={read(folder, name, each)}" for each in OF_INTERFACES)
            found["tcp.of_interface." + name] = " ".join(values)
    used, most = (number(SETTINGS, "netfilter", "nf_conntrack_" + name) for name in ("count", "max"))
    found["conntrack.free_share"] = round(1 - used / most, 4) if used is not None and most else None
    return found
