"""Faults of what a node gives its jobs: folders to write into, limits, names and ways of the others, quiet cores."""

import contextlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import NODES, Cluster
from tests.fault_campaign.faults import Fault, Kind, replaced
from tests.fault_campaign.node_state import between, running

_FILL_INODES = """
import os, sys
os.mkdir("/scratch/left")
number = 0
try:
    while True:
        os.close(os.open(f"/scratch/left/{number}", os.O_CREAT | os.O_WRONLY))
        number += 1
except OSError:
    pass
for last in range(int(sys.argv[1])):
    os.unlink(f"/scratch/left/{last}")
"""
_ADDRESS = "address=$(getent ahostsv4 \"$1\" | sed 's, .*,,;q')"


def limited(option: str, values: range, told: str) -> Fault:
    """What slurmd starts from now on has a lower limit, by an option of prlimit(1)."""
    # Who may lower it may not raise it again; the end of the node after the round takes it back.
    return between(f'prlimit --pid "$(pidof slurmd)" "--{option}=$1:$1"', "true", told, values)


@contextlib.contextmanager
def no_way(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other = draw.choice([name for name in NODES if name != node])
    cluster.on(node, f'{_ADDRESS}; ip route add blackhole "$address/32"', other)
    try:
        yield f"to {other}"
    finally:
        cluster.on(node, f'{_ADDRESS}; ip route del blackhole "$address/32"', other)


@contextlib.contextmanager
def busy_process(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    with running(cluster, node, "while True: pass"):
        yield "an endless loop"


@contextlib.contextmanager
def slow_names(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    seconds = draw.randrange(2, 4)
    # TEST-NET-1 of RFC 5737, where nobody answers; the link layer has an address for it, so that nobody complains.
    cluster.on(node, "ip route add 192.0.2.1/32 dev eth0; ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev eth0")
    server = f"nameserver 192.0.2.1\\noptions timeout:{seconds} attempts:1\\n"
    try:
        with (
            replaced(cluster, node, "/etc/resolv.conf", f"printf '{server}' > \"$fake\""),
            replaced(cluster, node, "/etc/nsswitch.conf", 'sed \'s/^hosts:.*/hosts: dns files/\' "$path" > "$fake"'),
        ):
            yield f"{seconds} s a name"
    finally:
        cluster.on(node, "ip neigh del 192.0.2.1 dev eth0; ip route del 192.0.2.1/32 dev eth0")


OF_SCRATCH = (
    Kind("read-only scratch", True, "`/scratch` can only be read, as after errors of its disk", between(
        "mount -o remount,ro /scratch", "mount -o remount,rw /scratch", "remounted")),
    Kind("no inodes left", True, "`/scratch` has room, and no inodes for more files", between(
        f"python3 -c '{_FILL_INODES}' \"$1\"", "rm -r /scratch/left", "{} inodes left", range(1))),
)  # fmt: skip
KINDS = (
    Kind("scratch of root alone", False, "others than root may not enter `/scratch`", between(
        "chmod 700 /scratch", "chmod 755 /scratch", "700")),
    Kind("full /tmp", True, "`/tmp` is full", between(
        "mount -t tmpfs -o size=1m,mode=1777 tmpfs /tmp; fallocate --length 1M /tmp/left", "umount --lazy /tmp",
        "1 MiB of 1")),
    Kind("locked memory limited", False, "a task may lock 64–1024 KiB of memory, which RDMA needs for buffers",
         limited("memlock", range(1 << 16, (1 << 20) + 1, 1 << 16), "{} bytes")),
    Kind("few open files", False, "a task may have 256–512 files open", limited("nofile", range(256, 513, 32), "{}")),
    Kind("small TCP buffers", False, "TCP buffers of 16 to 64 KiB at most", between(
        'sysctl -q net.ipv4.tcp_rmem="4096 8192 $(($1 * 1024))" net.ipv4.tcp_wmem="4096 8192 $(($1 * 1024))"',
        'for name in tcp_rmem tcp_wmem; do sysctl -q "net.ipv4.$name=4096 131072 6291456"; done', "{} KiB",
        range(16, 65, 8))),
    Kind("other congestion control", False, "TCP of the node uses Reno", between(
        "sysctl -q net.ipv4.tcp_congestion_control=reno", "true", "reno")),
    Kind("no way to a node", True, "a route of the node lets what it sends to another vanish", no_way),
    Kind("busy process", False, "a process outside all jobs keeps a core busy", busy_process),
    Kind("slow names", False, "the node asks a name server first that does not answer", slow_names),
)  # fmt: skip
