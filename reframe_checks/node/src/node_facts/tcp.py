"""Settings of TCP that administrators make for fast networks, and that a node booted otherwise lacks."""

import os

from node_facts.files import read

SETTINGS = "/proc/sys/net"
NAMES = (
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_rmem",
    "ipv4/tcp_wmem",
    "ipv4/tcp_mtu_probing",
    "ipv4/tcp_sack",
    "ipv4/tcp_timestamps",
    "core/rmem_max",
    "core/wmem_max",
    "core/netdev_max_backlog",
)


def facts():
    told = {name: read(SETTINGS, name) for name in NAMES}
    # The kernel puts tabs between numbers.
    return {"tcp." + os.path.basename(name): value and " ".join(value.split()) for name, value in told.items()}
