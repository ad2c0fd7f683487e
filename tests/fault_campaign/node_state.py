"""Faults that do not make a node slower: wrong settings, another node's name, remains of a job.

Also faults of what a node provides for its jobs: folders, limits, names and routes of other nodes, quiet cores.
"""

import contextlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import ADDRESS, Fault, Kind, between, other_file, other_node, process, replaced


@contextlib.contextmanager
def name_of_another(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other = other_node(node, draw)
    cluster.on(node, 'hostname "$1"', other)
    try:
        yield f"calls itself {other}"
    finally:
        cluster.on(node, 'hostname "$1"', node)


def lower_limit(option: str, values: range, detail: str) -> Fault:
    """Return a fault that lowers a limit of slurmd and all programs that it starts, by an option of prlimit(1)."""
    # The limit cannot be raised again. The node's end after the round removes it.
    return between(f'prlimit --pid "$(pidof slurmd)" "--{option}=$1:$1"', "true", detail, values)


@contextlib.contextmanager
def no_way(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other = other_node(node, draw)
    cluster.on(node, f'{ADDRESS}; ip route add blackhole "$address/32"', other)
    try:
        yield f"to {other}"
    finally:
        cluster.on(node, f'{ADDRESS}; ip route del blackhole "$address/32"', other)


@contextlib.contextmanager
def slow_names(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    seconds = draw.randrange(2, 4)
    # TEST-NET-1 of RFC 5737, where no host answers. With a link-layer address, no host reports it as unreachable.
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


_ZOMBIES = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    os.fork() or os._exit(0)
time.sleep(3600)
"""
_OF_ANOTHER_JOB = """
import os
if "SLURM_JOB_ID" not in os.environ:
    os.execvpe("sleep", ["sleep", "3600"], {**os.environ, "SLURM_JOB_ID": "1"})
"""
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
_SMALLER_DISK = """
truncate --size="$1M" /var/tmp/smaller-$(uname -n); mkfs.ext4 -q /var/tmp/smaller-$(uname -n)
mount -o loop /var/tmp/smaller-$(uname -n) /scratch
"""
_NO_SMALLER_DISK = "umount --lazy /scratch; rm -f /var/tmp/smaller-$(uname -n)"

KINDS = (
    Kind("small MTU", False, "packets of the node's interface are 1280–1400 bytes", between(
        'ip link set eth0 mtu "$1"', "ip link set eth0 mtu 1500", "MTU {}", range(1280, 1401, 20))),
    Kind("flapping link", False, "the node's link was lost 20–60 times", between(
        # The count is taken back by the end of the node after the round, which has a new interface then.
        'for _ in $(seq "$1"); do ip link set eth0 down; ip link set eth0 up; done', "true", "lost {} times",
        range(20, 61, 10))),
    Kind("file left in memory", False, "a former job left 20–400 MiB in `/dev/shm`", between(
        'fallocate --length "$1M" /dev/shm/left', "rm -f /dev/shm/left", "{} MiB", range(20, 401, 20))),
    Kind("segment left", False, "a System V segment of 10–200 MiB is left that no process uses", between(
        'ipcmk --shmem "$(($1 << 20))" > /dev/null', "ipcrm --all=shm", "{} MiB", range(10, 201, 10))),
    Kind("semaphores left", False, "5–20 System V semaphores are left", between(
        'ipcmk --semaphore "$1" > /dev/null', "ipcrm --all=sem", "{} semaphores", range(5, 21))),
    Kind("full shared memory", False, "`/dev/shm` is full", between(
        "mount -o remount,size=64m /dev/shm; fallocate --length 64M /dev/shm/left",
        "rm -f /dev/shm/left; mount -o remount,size=50% /dev/shm", "64 MiB of 64")),
    Kind("large process", False, "a process outside all jobs holds 1.2–3 GiB of memory", process(
        "import sys, time; kept = b'x' * (int(sys.argv[1]) << 20); time.sleep(3600)", "a process of {} MiB",
        range(1200, 3000, 100))),
    Kind("zombies", False, "50–300 processes have ended and their parent has not waited for them", process(
        _ZOMBIES, "{} zombies", range(50, 301, 50))),
    Kind("process of another job", False, "a process of another job still runs", process(_OF_ANOTHER_JOB, "of job 1")),
    Kind("wrong host name", False, "the node's host name differs from its name in Slurm", between(
        'hostname "new-$(uname -n)"', 'hostname "$(uname -n | cut -c 5-)"', "calls itself new-NODE")),
    Kind("another's host name", False, "the node has the host name of another node", name_of_another),
    Kind("scratch in memory", False, "`/scratch` is a tmpfs", between(
        "mount -t tmpfs -o size=1g tmpfs /scratch", "umount --lazy /scratch", "a tmpfs of 1 GiB")),
    Kind("scratch of the root disk", False, "`/scratch` is a folder of the root disk", between(
        "mkdir -p /var/tmp/scratch-$(uname -n); mount --bind /var/tmp/scratch-$(uname -n) /scratch",
        "umount --lazy /scratch; rm -rf /var/tmp/scratch-$(uname -n)", "a folder of /var/tmp")),
    Kind("smaller scratch", False, "`/scratch` has 40–60 % of its size", between(
        _SMALLER_DISK, _NO_SMALLER_DISK, "{} MiB", range(400, 601, 50))),
    Kind("other mount options", False, "`/scratch` is mounted `sync,noatime`", between(
        "mount -o remount,sync,noatime /scratch", "mount -o remount,async,atime,relatime /scratch", "sync,noatime")),
    Kind("other time zone", False, "the node has another time zone", other_file(
        'echo Asia/Tokyo > "$fake"', "/etc/timezone")),
    Kind("name not resolved", False, "the node cannot resolve the name of another node", other_file(
        """sed "/[[:space:]]node$(( ($(uname -n | tr -dc 0-9) % 4) + 1 ))$/d" "$path" > "$fake\"""", "/etc/hosts")),
    Kind("home elsewhere", False, "the user has another home folder on the node", other_file(
        'sed "s,:/root:,:/nowhere:," "$path" > "$fake"', "/etc/passwd")),
)  # fmt: skip
OF_SCRATCH = (
    Kind("read-only scratch", True, "`/scratch` is read-only, as after disk errors", between(
        "mount -o remount,ro /scratch", "mount -o remount,rw /scratch", "remounted")),
    Kind("no inodes left", True, "`/scratch` has free space, but no free inodes", between(
        f"python3 -c '{_FILL_INODES}' \"$1\"", "rm -r /scratch/left", "{} inodes left", range(1))),
)  # fmt: skip
OF_SURROUNDINGS = (
    Kind("scratch of root alone", False, "only root may enter `/scratch`", between(
        "chmod 700 /scratch", "chmod 755 /scratch", "700")),
    Kind("full /tmp", True, "`/tmp` is full", between(
        "mount -t tmpfs -o size=1m,mode=1777 tmpfs /tmp; fallocate --length 1M /tmp/left", "umount --lazy /tmp",
        "1 MiB of 1")),
    Kind("locked memory limited", False, "a task may lock only 64–1024 KiB of memory, which RDMA needs for buffers",
         lower_limit("memlock", range(1 << 16, (1 << 20) + 1, 1 << 16), "{} bytes")),
    Kind("few open files", False, "a task may have only 256–512 files open",
         lower_limit("nofile", range(256, 513, 32), "{}")),
    Kind("small TCP buffers", False, "TCP buffers have at most 16–64 KiB", between(
        'sysctl -q net.ipv4.tcp_rmem="4096 8192 $(($1 * 1024))" net.ipv4.tcp_wmem="4096 8192 $(($1 * 1024))"',
        'for name in tcp_rmem tcp_wmem; do sysctl -q "net.ipv4.$name=4096 131072 6291456"; done', "{} KiB",
        range(16, 65, 8))),
    Kind("other congestion control", False, "the node's TCP uses Reno", between(
        "sysctl -q net.ipv4.tcp_congestion_control=reno", "true", "reno")),
    Kind("no way to a node", True, "a route of the node drops all packets to another node", no_way),
    Kind("busy process", False, "a process outside all jobs keeps a core busy", process(
        "while True: pass", "an endless loop")),
    Kind("slow names", False, "the node first asks a name server that does not answer", slow_names),
)  # fmt: skip
