"""Faults of a node that measures as fast as ever: a wrong setting, another's name, what a job left behind."""

import contextlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Fault, Kind, replaced


def between(put: str, mend: str, told: str, *ranges: range) -> Fault:
    """Scripts that put the fault into a node and mend it, ``$1`` … being drawn from ``ranges``, as ``told`` says."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        drawn = [str(draw.choice(numbers)) for numbers in ranges]
        cluster.on(node, put, *drawn)
        try:
            yield told.format(*drawn)
        finally:
            cluster.on(node, mend, *drawn)

    return fault


def other_file(path: str, make: str) -> Fault:
    """The script writes what the node sees as the file ``path`` to ``$fake``."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
        with replaced(cluster, node, path, make):
            yield f"another {path}"

    return fault


@contextlib.contextmanager
def name_of_another(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other = draw.choice([name for name in ("node1", "node2", "node3", "node4") if name != node])
    cluster.on(node, 'hostname "$1"', other)
    try:
        yield f"calls itself {other}"
    finally:
        cluster.on(node, 'hostname "$1"', node)


@contextlib.contextmanager
def wrong_name(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    cluster.on(node, 'hostname "$1"', f"new-{node}")
    try:
        yield f"calls itself new-{node}"
    finally:
        cluster.on(node, 'hostname "$1"', node)


@contextlib.contextmanager
def running(cluster: Cluster, node: str, program: str, *arguments: str) -> Iterator[None]:
    """A Python program runs in the background of the node, and is ended."""
    script = 'setsid python3 -c "$1" "${@:2}" > /dev/null 2>&1 < /dev/null & echo $!'
    pid = cluster.on(node, script, program, *arguments).strip()
    try:
        yield
    finally:
        # With the children that it did not look after.
        cluster.on(node, 'kill -KILL -- "-$1" "$1" || true', pid)


@contextlib.contextmanager
def large_process(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    mib = draw.randrange(1200, 3000, 100)
    with running(cluster, node, "import sys, time; kept = b'x' * (int(sys.argv[1]) << 20); time.sleep(3600)", str(mib)):
        yield f"a process of {mib} MiB"


@contextlib.contextmanager
def zombies(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    count = draw.randrange(50, 301, 50)
    program = "import os, sys, time\nfor _ in range(int(sys.argv[1])):\n    os.fork() or os._exit(0)\ntime.sleep(3600)"
    with running(cluster, node, program, str(count)):
        yield f"{count} zombies"


@contextlib.contextmanager
def process_of_another_job(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    program = "import os, time\nif 'SLURM_JOB_ID' not in os.environ:\n"
    program += "    os.execvpe('sleep', ['sleep', '3600'], {**os.environ, 'SLURM_JOB_ID': '1'})"
    with running(cluster, node, program):
        yield "a process of job 1"


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
    Kind("file left in memory", False, "20–400 MiB of a former job in `/dev/shm`", between(
        'fallocate --length "$1M" /dev/shm/left', "rm -f /dev/shm/left", "{} MiB", range(20, 401, 20))),
    Kind("segment left", False, "a System V segment of 10–200 MiB that no process has", between(
        'ipcmk --shmem "$(($1 << 20))" > /dev/null', "ipcrm --all=shm", "{} MiB", range(10, 201, 10))),
    Kind("semaphores left", False, "5–20 System V semaphores", between(
        'ipcmk --semaphore "$1" > /dev/null', "ipcrm --all=sem", "{} semaphores", range(5, 21))),
    Kind("full shared memory", False, "`/dev/shm` is full", between(
        "mount -o remount,size=64m /dev/shm; fallocate --length 64M /dev/shm/left",
        "rm -f /dev/shm/left; mount -o remount,size=50% /dev/shm", "64 MiB of 64")),
    Kind("large process", False, "a process outside all jobs with 1.2–3 GiB", large_process),
    Kind("zombies", False, "50–300 processes whose parent does not look after them", zombies),
    Kind("process of another job", False, "a process that a job left running", process_of_another_job),
    Kind("wrong host name", False, "the node calls itself otherwise than Slurm calls it", wrong_name),
    Kind("another's host name", False, "the node calls itself as another is called", name_of_another),
    Kind("scratch in memory", False, "`/scratch` is a tmpfs", between(
        "mount -t tmpfs -o size=1g tmpfs /scratch", "umount --lazy /scratch", "a tmpfs of 1 GiB")),
    Kind("scratch of the root disk", False, "`/scratch` is a folder of the root disk", between(
        "mkdir -p /var/tmp/scratch-$(uname -n); mount --bind /var/tmp/scratch-$(uname -n) /scratch",
        "umount --lazy /scratch; rm -rf /var/tmp/scratch-$(uname -n)", "a folder of /var/tmp")),
    Kind("smaller scratch", False, "`/scratch` is 40–60 % as large", between(
        _SMALLER_DISK, _NO_SMALLER_DISK, "{} MiB", range(400, 601, 50))),
    Kind("other mount options", False, "`/scratch` is mounted `sync,noatime`", between(
        "mount -o remount,sync,noatime /scratch", "mount -o remount,async,atime,relatime /scratch", "sync,noatime")),
    Kind("other time zone", False, "the node lives in another time zone", other_file(
        "/etc/timezone", 'echo Asia/Tokyo > "$fake"')),
    Kind("name not resolved", False, "the node does not know the address of another", other_file(
        "/etc/hosts", """sed "/[[:space:]]node$(( ($(uname -n | tr -dc 0-9) % 4) + 1 ))$/d" "$path" > "$fake\"""")),
    Kind("home elsewhere", False, "the user has another home on the node", other_file(
        "/etc/passwd", 'sed "s,:/root:,:/nowhere:," "$path" > "$fake"')),
)  # fmt: skip
