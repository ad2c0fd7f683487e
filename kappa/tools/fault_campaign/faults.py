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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kappa.tools.fault_campaign.cluster import Cluster, cpu_limit, disk_limit, limited

Fault = Callable[[Cluster, str, random.Random], AbstractContextManager[str]]
# Slurm notices a lost node after SlurmdTimeout, here 20 s.
NOTICED_WITHIN_S = 60
SLOW_S = 10
SOURCES = pathlib.Path(__file__).parent / "src"
_FAKES = "/run/fault-$(uname -n)"


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


def between(put: str, mend: str, told: str, *ranges: range) -> Fault:
    """Return a fault from two scripts that plant and mend it. ``$1`` … come from ``ranges``; ``told`` shows them."""

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
    """Return a fault that replaces the file ``path`` on the node. The script ``make`` writes it to ``$fake``."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
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


@contextlib.contextmanager
def preloaded(cluster: Cluster, node: str, source: str, *options: str) -> Iterator[None]:
    """Preload a library into every program that starts from now on, by a copy of /etc with ld.so.preload."""
    cluster.on(
        node,
        f'mkdir -p {_FAKES}; gcc -O2 -shared -fPIC -o {_FAKES}/fault.so "$1" "${{@:2}}"; '
        f"cp -a /etc {_FAKES}/etc; echo {_FAKES}/fault.so > {_FAKES}/etc/ld.so.preload; "
        f"mount --bind {_FAKES}/etc /etc",
        str(SOURCES / source),
        *options,
    )
    try:
        yield
    finally:
        cluster.on(node, f"umount --lazy /etc; rm -rf {_FAKES}")


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


# ---- network ----------------------------------------------------------------------------------------------------


def _rate_limit(cluster: Cluster, node: str, mbit: int) -> contextlib.ExitStack:
    cluster.on(node, 'tc qdisc add dev eth0 root tbf rate "$1mbit" burst 70000 latency 50ms', str(mbit))
    stack = contextlib.ExitStack()
    stack.callback(cluster.on, node, "tc qdisc del dev eth0 root")
    return stack


@contextlib.contextmanager
def slow_link(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    mbit = draw.randrange(300, 601, 50)
    with _rate_limit(cluster, node, mbit):
        yield f"{mbit} Mbit/s"


@contextlib.contextmanager
def limited_link(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    with _rate_limit(cluster, node, 200):
        yield "200 Mbit/s"


@contextlib.contextmanager
def lossy_link(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    percent = draw.randrange(2, 11)
    rules = "add table inet fault; add chain inet fault input { type filter hook input priority 0 ; }; "
    rules += f'add rule inet fault input iifname "eth0" numgen random mod 100 < {percent} drop'
    cluster.on(node, 'nft "$1"', rules)
    try:
        yield f"{percent} % of the packets dropped"
    finally:
        cluster.on(node, "nft delete table inet fault")


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


@contextlib.contextmanager
def wrong_binding(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    core = draw.choice(sorted(os.sched_getaffinity(0)))
    everywhere = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    _bind(cluster, node, str(core))
    try:
        yield f"every rank on core {core}"
    finally:
        _bind(cluster, node, everywhere)


def _bind(cluster: Cluster, node: str, cores: str) -> None:
    """Restrict every thread of the node's slurmd, and so all programs that it starts, to a list of cores."""
    cluster.on(node, 'for pid in $(pidof slurmd); do taskset --all-tasks --cpu-list --pid "$1" "$pid"; done', cores)


# ---- files: what the node sees in place of the right ones ---------------------------------------------------------


@contextlib.contextmanager
def wrong_library(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    path = f"/usr/lib/{os.uname().machine}-linux-gnu/" + draw.choice(
        ["libmpi.so.40", "libopen-pal.so.40", "libopenblas.so.0", "libaio.so.1"]
    )
    # The copy works like the original, as another build of the library would.
    with replaced(cluster, node, path, 'cp "$path" "$fake"; printf "another build" >> "$fake"'):
        yield path


@contextlib.contextmanager
def damaged_output(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    program, damage = draw.choice(["fio", "scontrol"]), draw.choice(["tr 0-9 5-90-4x", "head -c 300", "tac"])
    path = shutil.which(program, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") or program
    wrapper = f'cp "$path" "$fake.right"; printf \'#!/bin/sh\\n"$0.right" "$@" | {damage}\\n\' > "$fake"'
    with replaced(cluster, node, path, wrapper):
        yield f"{program} | {damage}"


@contextlib.contextmanager
def wrong_clock(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    offset_s = draw.choice([-1, 1]) * draw.randrange(20, 2000) / 1000
    with preloaded(cluster, node, "wrong_clock.c", f"-DOFFSET_NS={round(offset_s * 1e9)}LL"):
        yield f"{offset_s:+} s"


# ---- bits: computed, remembered or received as fast as ever ---------------------------------------------------------


@contextlib.contextmanager
def wrong_arithmetic(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    with preloaded(cluster, node, "wrong_rounding.c", "-lm"):
        yield "rounds towards zero"


@contextlib.contextmanager
def flipping_memory(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    period_ms = draw.randrange(1, 11)
    with preloaded(cluster, node, "flipping_memory.c", f"-DPERIOD_MS={period_ms}", "-pthread"):
        yield f"a bit every {period_ms} ms"


@contextlib.contextmanager
def wrong_payload(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    every = draw.randrange(3, 10)
    with preloaded(cluster, node, "wrong_payload.c", f"-DEVERY={every}"):
        yield f"a bit in one of {every} large reads"


KINDS = (
    Kind("slow link", False, "the node's outgoing traffic is limited to 300–600 Mbit/s", slow_link),
    Kind("bandwidth-limited link", False, "the node's outgoing traffic is limited to 200 Mbit/s", limited_link),
    Kind("lossy link", False, "2–10 % of the packets into the node are dropped", lossy_link),
    Kind("slow CPU", False, "all processes of the node share the time of 0.05–0.1 cores", slow_cpu),
    Kind("slow disk", False, "`/scratch` is limited to 5–20 MB/s", slow_disk),
    Kind("full disk", True, "at most 4 MiB are free on `/scratch`", full_disk),
    Kind("dead slurmd", True, "slurmd is killed", dead_slurmd),
    Kind("powered-off node", True, "all processes and namespaces of the node end", powered_off),
    Kind("wrong binding", False, "slurmd, and so every rank, may use only one core", wrong_binding),
    Kind("wrong library", False, "the node has another build of a library that jobs load", wrong_library),
    Kind("damaged output", True, "the output of one of the node's programs is garbled or cut", damaged_output),
    Kind("clock offset", False, "programs on the node see a clock that is 0.02–2 s off", wrong_clock, preloads=True),
)
OF_BITS = (
    Kind("wrong arithmetic", False, "floating-point results are off in the last bit", wrong_arithmetic, preloads=True),
    Kind("flipping memory", False, "one bit of the memory of `kappa-measure bits` flips every 1–10 ms", flipping_memory,
         preloads=True),
    Kind("wrong payload", False, "one in 3–9 large pieces of messages arrives with a flipped bit", wrong_payload,
         preloads=True),
)  # fmt: skip
OF_SPEED = (
    Kind("slow at first", False, "for the first 10 s of `NodeSweep`, the node has the time of 0.05–0.1 cores",
         slow_at_first),
)  # fmt: skip
