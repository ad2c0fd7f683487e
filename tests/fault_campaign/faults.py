"""The kinds of fault: each is planted in one node during its context, and mended afterwards.

A kind is a context manager of (cluster, node, random numbers). It yields what it did, in words. If a requirement is
missing (root, tc, nftables, gcc), the command's own message says so.
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.fault_campaign.cluster import NODES, Cluster, cpu_limit, disk_limit, limited

Fault = Callable[[Cluster, str, random.Random], AbstractContextManager[str]]
# Slurm notices a lost node after SlurmdTimeout, here 20 s.
NOTICED_WITHIN_S = 60
SLOW_S = 10
SOURCES = pathlib.Path(__file__).parent / "src"
LIBRARIES = f"/usr/lib/{os.uname().machine}-linux-gnu"
# The copy works like the original, as another build of the file would.
ANOTHER_BUILD = 'cp "$path" "$fake"; printf "another build" >> "$fake"'
# Finds the address of the node $1.
ADDRESS = "address=$(getent ahostsv4 \"$1\" | sed 's, .*,,;q')"
_FAKES = "/run/fault-$(uname -n)"
_LIMIT = 'tc qdisc add dev eth0 root tbf rate "$1mbit" burst 70000 latency 50ms'
_NO_LIMIT = "tc qdisc del dev eth0 root"
_LOSSES = """\
nft "add table inet fault; add chain inet fault input { type filter hook input priority 0 ; }
add rule inet fault input iifname eth0 numgen random mod 100 < $1 drop"
"""
# Restricts every thread of the node's slurmd, and so all programs that it starts, to a list of cores.
_BIND = 'for pid in $(pidof slurmd); do taskset --all-tasks --cpu-list --pid "{}" "$pid"; done'
_CORES = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    ``hard``: something does not work at all, so Kappa must never miss it. ``preloads``: a library that every program on
    the node loads causes the fault. ``ldd``, and so the inventory of software, would show the library. Such a find does
    not count.
    """

    name: str
    hard: bool
    what: str
    put: Fault
    preloads: bool = False


# ---- ways to put a fault into a node ---------------------------------------------------------------------------------


def between(put: str, mend: str, detail: str, *ranges: Sequence[int]) -> Fault:
    """Return a fault from two scripts that plant and mend it. ``$1`` … come from ``ranges``; ``detail`` shows them."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        drawn = [str(draw.choice(numbers)) for numbers in ranges]
        cluster.on(node, put, *drawn)
        try:
            yield detail.format(*drawn)
        finally:
            cluster.on(node, mend, *drawn)

    return fault


def other_file(make: str, *paths: str) -> Fault:
    """Return a fault that replaces one of the files ``paths`` on the node, as `replaced` does."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        path = draw.choice(paths)
        with replaced(cluster, node, path, make):
            yield f"another {path}"

    return fault


@contextlib.contextmanager
def replaced(cluster: Cluster, node: str, path: str, make: str) -> Iterator[None]:
    """Replace the file ``path`` on this node only. The shell script ``make`` writes the new one to ``$fake``."""
    script = f'path=$(readlink -f "$1"); mkdir -p {_FAKES}; fake={_FAKES}/$(basename "$path")'
    cluster.on(node, f'{script}; {make}; chmod 755 "$fake"; mount --bind "$fake" "$path"', path)
    try:
        yield
    finally:
        cluster.on(node, f'{script}; umount --lazy "$path"; rm -rf {_FAKES}', path)


def preloading(source: str, detail: str, *options: str, values: Sequence[int] = range(1)) -> Fault:
    """Return a fault that preloads a library into every program that starts from then on, by a copy of /etc.

    :param source: a file of ``SOURCES``; ``options`` of gcc and ``detail`` show one of ``values``.
    """

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        value = draw.choice(values)
        cluster.on(
            node,
            f'mkdir -p {_FAKES}; gcc -O2 -shared -fPIC -o {_FAKES}/fault.so "$1" "${{@:2}}"; '
            f"cp -a /etc {_FAKES}/etc; echo {_FAKES}/fault.so > {_FAKES}/etc/ld.so.preload; "
            f"mount --bind {_FAKES}/etc /etc",
            str(SOURCES / source),
            *(option.format(value) for option in options),
        )
        try:
            yield detail.format(value)
        finally:
            cluster.on(node, f"umount --lazy /etc; rm -rf {_FAKES}")

    return fault


@contextlib.contextmanager
def running(cluster: Cluster, node: str, program: str, *arguments: str) -> Iterator[None]:
    """Run a Python program in the background of the node, and end it afterwards."""
    script = 'setsid python3 -c "$1" "${@:2}" > /dev/null 2>&1 < /dev/null & echo $!'
    pid = cluster.on(node, script, program, *arguments).strip()
    try:
        yield
    finally:
        # Also end its children.
        cluster.on(node, 'kill -KILL -- "-$1" "$1" || true', pid)


def process(program: str, detail: str, values: Sequence[int] = range(1)) -> Fault:
    """Return a fault that is a Python program in the background. Its argument and ``detail`` show one of ``values``."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        value = str(draw.choice(values))
        with running(cluster, node, program, value):
            yield detail.format(value)

    return fault


def other_node(node: str, draw: random.Random) -> str:
    return draw.choice([name for name in NODES if name != node])


# ---- processor, disk --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def slow_cpu(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    cores = draw.randrange(5, 11) / 100
    with limited(cluster, node, *cpu_limit(cores)):
        yield f"{cores:g} cores' time"


@contextlib.contextmanager
def slow_at_first(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    cores = draw.randrange(5, 11) / 100
    over = threading.Event()

    def limit_each() -> None:
        known: set[int] = set()
        while not over.wait(0.05):
            ranks = set(cluster.pids(node, "kappa-measure", "node"))
            if ranks - known:
                with limited(cluster, node, *cpu_limit(cores)):
                    over.wait(SLOW_S)
            known |= ranks

    limiting = threading.Thread(target=limit_each)
    limiting.start()
    try:
        yield f"{cores:g} cores' time for {SLOW_S} s"
    finally:
        over.set()
        limiting.join()


@contextlib.contextmanager
def slow_disk(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    mb_per_s = draw.randrange(5, 21)
    device = cluster.on(node, "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited(cluster, node, *disk_limit(device, mb_per_s * 10**6)):
        yield f"{mb_per_s} MB/s"


@contextlib.contextmanager
def full_disk(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    left_mib = draw.randrange(1, 5)  # df rounds up, so the last MiB is not there
    free = int(cluster.on(node, "df --output=avail --block-size=1M /scratch | tail -n 1"))
    cluster.on(node, 'fallocate --length "$1M" /scratch/full', str(free - left_mib))
    try:
        yield f"{left_mib} MiB left on /scratch"
    finally:
        cluster.on(node, "rm -f /scratch/full")


# ---- node and daemons -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def dead_slurmd(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    for pid in cluster.pids(node, "slurmd"):
        os.kill(pid, signal.SIGKILL)
    cluster.await_down(node, NOTICED_WITHIN_S)
    yield "slurmd killed"  # `cluster up` after the round starts it again


@contextlib.contextmanager
def powered_off(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    cluster.end_node(node)
    cluster.await_down(node, NOTICED_WITHIN_S)
    yield "all its processes ended, its network gone"


# ---- files: what the node sees in place of the right ones ---------------------------------------------------------


@contextlib.contextmanager
def damaged_output(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    program, damage = draw.choice(["fio", "scontrol"]), draw.choice(["tr 0-9 5-90-4x", "head -c 300", "tac"])
    path = shutil.which(program, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") or program
    wrapper = f'cp "$path" "$fake.right"; printf \'#!/bin/sh\\n"$0.right" "$@" | {damage}\\n\' > "$fake"'
    with replaced(cluster, node, path, wrapper):
        yield f"{program} | {damage}"


KINDS = (
    Kind("slow link", False, "the node's outgoing traffic is limited to 300–600 Mbit/s", between(
        _LIMIT, _NO_LIMIT, "{} Mbit/s", range(300, 601, 50))),
    Kind("bandwidth-limited link", False, "the node's outgoing traffic is limited to 200 Mbit/s", between(
        _LIMIT, _NO_LIMIT, "{} Mbit/s", [200])),
    Kind("lossy link", False, "2–10 % of the packets into the node are dropped", between(
        _LOSSES, "nft delete table inet fault", "{} % of the packets dropped", range(2, 11))),
    Kind("slow CPU", False, "all processes of the node share the time of 0.05–0.1 cores", slow_cpu),
    Kind("slow disk", False, "`/scratch` is limited to 5–20 MB/s", slow_disk),
    Kind("full disk", True, "at most 4 MiB are free on `/scratch`", full_disk),
    Kind("dead slurmd", True, "slurmd is killed", dead_slurmd),
    Kind("powered-off node", True, "all processes and namespaces of the node end", powered_off),
    Kind("wrong binding", False, "slurmd, and so every rank, may use only one core", between(
        _BIND.format("$1"), _BIND.format(",".join(map(str, _CORES))), "every rank on core {}", _CORES)),
    Kind("wrong library", False, "the node has another build of a library that jobs load", other_file(
        ANOTHER_BUILD, *(f"{LIBRARIES}/{name}" for name in (
            "libmpi.so.40", "libopen-pal.so.40", "libopenblas.so.0", "libaio.so.1")))),
    Kind("damaged output", True, "the output of one of the node's programs is garbled or cut", damaged_output),
    Kind("clock offset", False, "programs on the node see a clock that is 0.02–2 s off", preloading(
        "wrong_clock.c", "{:+} ms", "-DOFFSET_NS={}000000LL", values=[*range(-1999, -19), *range(20, 2000)]),
        preloads=True),
)  # fmt: skip
OF_BITS = (
    Kind("wrong arithmetic", False, "floating-point results are off in the last bit", preloading(
        "wrong_rounding.c", "rounds towards zero", "-lm"), preloads=True),
    Kind("flipping memory", False, "one bit of the memory of `kappa-measure bits` flips every 1–10 ms", preloading(
        "flipping_memory.c", "a bit every {} ms", "-DPERIOD_MS={}", "-pthread", values=range(1, 11)), preloads=True),
    Kind("wrong payload", False, "one in 3–9 large pieces of messages arrives with a flipped bit", preloading(
        "wrong_payload.c", "a bit in one of {} large reads", "-DEVERY={}", values=range(3, 10)), preloads=True),
)  # fmt: skip
OF_SPEED = (
    Kind("slow at first", False, "for the first 10 s of `NodeSweep`, the node has the time of 0.05–0.1 cores",
         slow_at_first),
)  # fmt: skip
