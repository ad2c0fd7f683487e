"""Faults that affect a job: other programs and libraries, restricted cores, and hangs.

For hangs, the campaign measures how soon the node is named: from the fault to the ``hang.json`` of the job's watch.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import threading
from collections.abc import Callable, Iterator

from tests.fault_campaign.cluster import ROOT, Cluster, freezer, limited
from tests.fault_campaign.faults import ANOTHER_BUILD, LIBRARIES, Fault, Kind, between, other_file, process, replaced

# As in `reframe_checks/base/hangs.py`.
HANG_FILE = "hang.json"
# The file's time is the time of the fault.
_NOTE = "fault-put"
#: Subcommands of kappa-measure, and the longest wait after their start, in s. `pairs` takes 0.9 s on four nodes of one
#: machine.
SUBCOMMANDS = {"pairs": 0.4, "node": 0.9}
# Open MPI reads CONFIGURATION on every node, before it knows other nodes. Slurm's plug-in and MPI load PMIX.
CONFIGURATION, PMIX = "/etc/openmpi/openmpi-mca-params.conf", f"{LIBRARIES}/libpmix.so.2"
_COMPONENTS = [f"{LIBRARIES}/openmpi/lib/openmpi3/mca_{name}.so" for name in ("btl_tcp", "pml_ob1", "coll_tuned")]
_FIRST_ON_PATH = """
mkdir -p /run/first-$(uname -n); cp -a /usr/local/bin/. /run/first-$(uname -n)
printf '#!/bin/sh\\nexec /usr/bin/mpirun "$@"\\n' > /run/first-$(uname -n)/mpirun
chmod 755 /run/first-$(uname -n)/mpirun
mount --bind /run/first-$(uname -n) /usr/local/bin
"""
# Some nodes run such a program to balance their load. Here it moves all ranks and threads to the same core.
_MOVES = """
import os, sys, time
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
            if words[0].endswith(b"/kappa-measure") and words[1] == b"affinity":
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(thread), {int(sys.argv[1])})
        except (OSError, ValueError, IndexError):
            pass
    time.sleep(0.005)
"""
# The other nodes stay reachable, but through an unexpected adapter. A node may already have more adapters (eth1 …).
_OTHER_ADAPTER = """
ip link add link eth0 name other0 type macvlan mode bridge; ip link set other0 up
sysctl -q net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0
own=$(ip -4 -o addr show dev eth0 | sed "s,.*inet \\([^/]*\\)/.*,\\1,")
for other in node1 node2 node3 node4; do
    address=$(getent ahostsv4 "$other" | sed "s, .*,,;q")
    [[ $address == "$own" ]] || ip route add "$address/32" dev other0 src "$own"
done
"""


# ---- ranks ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def withheld_cores(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    core = draw.choice(sorted(os.sched_getaffinity(0)))
    settings = {"cpuset.cpus": str(core)}
    if (domains := ROOT / "cpuset/cpuset.mems").exists():  # version 1 wants both
        settings = {"cpuset.mems": pathlib.Path(domains).read_text(encoding="ascii").strip(), **settings}
    with limited(cluster, node, "cpuset", settings):
        yield f"core {core} alone is left"


# ---- hangs ----------------------------------------------------------------------------------------------------------


def note_fault(cluster: Cluster) -> None:
    """Record the time of a fault that begins while a job runs."""
    (cluster.results / _NOTE).touch()


def forget_fault(cluster: Cluster) -> None:
    (cluster.results / _NOTE).unlink(missing_ok=True)


def seconds_to_name(cluster: Cluster, since: float) -> float | None:
    """Return the seconds from the fault to the round's first ``hang.json``; ``None`` if there is none.

    For a fault that began before the job, the time starts with the job's watch, as the file states.

    :param since: the beginning of the round, in seconds since 1970.
    """
    note = cluster.results / _NOTE
    found = [path for path in cluster.results.rglob(HANG_FILE) if path.stat().st_mtime >= since]
    if not found:
        return None
    first = min(found, key=lambda path: path.stat().st_mtime)
    if note.exists():
        return round(first.stat().st_mtime - note.stat().st_mtime, 1)
    return float(json.loads(first.read_text(encoding="utf-8").splitlines()[0])["after_s"])


def meanwhile(do: Callable[[Cluster, str, int], None], detail: str) -> Fault:
    """Return a fault that calls ``do(cluster, node, pid)`` once, at a random time after a drawn subcommand starts."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        subcommand = draw.choice(list(SUBCOMMANDS))
        later_s = draw.randrange(0, round(10 * SUBCOMMANDS[subcommand]) + 1) / 10
        over = threading.Event()

        def wait_and_do() -> None:
            while not over.wait(0.05):
                if pids := cluster.pids(node, "kappa-measure", subcommand):
                    over.wait(later_s)
                    with contextlib.suppress(ProcessLookupError):
                        note_fault(cluster)
                        do(cluster, node, pids[0])
                        return

        waiting = threading.Thread(target=wait_and_do)
        waiting.start()
        try:
            yield detail.format(subcommand=subcommand, later_s=later_s)
        finally:
            over.set()
            waiting.join()

    return fault


def stop(_: Cluster, __: str, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


@contextlib.contextmanager
def rank_blocked(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    with freezer(cluster, node) as freeze:
        put = meanwhile(lambda _, __, pid: freeze(pid), "{subcommand} frozen {later_s} s after its start")
        with put(cluster, node, draw) as detail:
            yield detail


def power_off(cluster: Cluster, node: str, _: int) -> None:
    cluster.end_node(node)  # `cluster up` after the round starts it again


@contextlib.contextmanager
def mpi_does_not_start(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    path, make, detail = draw.choice([
        (CONFIGURATION, 'mkfifo "$fake"', "it waits for ever for its configuration file"),
        (PMIX, 'head -c 4096 /dev/urandom > "$fake"', "its PMIx library is damaged"),
    ])  # fmt: skip
    with replaced(cluster, node, path, make):
        yield detail


OF_USERS = (
    Kind("user unknown", False, "the node does not know a user", other_file(
        'sed "/^games:/d" "$path" > "$fake"', "/etc/passwd")),
    Kind("other number", False, "a user has another user ID on the node", other_file(
        'sed "s/^games:x:5:/games:x:4005:/" "$path" > "$fake"', "/etc/passwd")),
    Kind("other group", False, "a user's group has another name on the node", other_file(
        'sed "s/^games:/players:/" "$path" > "$fake"', "/etc/group")),
)  # fmt: skip
OF_SOFTWARE = (
    Kind("other mpirun", False, "another `mpirun` comes first on the node's PATH", between(
        _FIRST_ON_PATH, "umount --lazy /usr/local/bin; rm -rf /run/first-$(uname -n)", "/usr/local/bin/mpirun")),
    Kind("other MPI component", False, "a component of Open MPI is another build", other_file(
        ANOTHER_BUILD, *_COMPONENTS)),
    Kind("other fio", False, "`fio` is another build", other_file(ANOTHER_BUILD, "/usr/bin/fio")),
    Kind("other MPI settings", False, "Open MPI reads other parameters on the node", other_file(
        'cp "$path" "$fake"; echo "btl_tcp_links = 2" >> "$fake"', CONFIGURATION)),
    Kind("library not found", True, "the node lacks a library that `fio` needs", other_file(
        'echo damaged > "$fake"', f"{LIBRARIES}/libaio.so.1")),
    Kind("header missing", False, "the node has no `mpi.h`", between(
        "mount -t tmpfs tmpfs /usr/lib/$(uname -m)-linux-gnu/openmpi/include",
        "umount --lazy /usr/lib/$(uname -m)-linux-gnu/openmpi/include", "no mpi.h")),
)  # fmt: skip
OF_NETWORK = (
    Kind("other adapter", False, "the node sends through another interface", between(
        _OTHER_ADAPTER, "ip link del other0", "other0 in place of eth0")),
)  # fmt: skip
OF_RANKS = (
    Kind("withheld cores", False, "a cpuset leaves jobs only one core of the node", withheld_cores),
    Kind("moved ranks", False, "a program on the node moves all ranks and threads to one core", process(
        _MOVES, "to core {}", sorted(os.sched_getaffinity(0)))),
)  # fmt: skip
OF_HANGS = (
    Kind("stopped rank", True, "SIGSTOP stops a rank of `PairSweep` or `NodeSweep`",
         meanwhile(stop, "{subcommand} stopped {later_s} s after its start")),
    Kind("rank blocked in the kernel", True, "such a rank waits in the kernel (state D, by a freezer), unkillable",
         rank_blocked),
    Kind("node dies in a job", True,
         "all processes and namespaces of the node end while `PairSweep` or `NodeSweep` runs",
         meanwhile(power_off, "{later_s} s after the start of {subcommand}")),
    Kind("MPI does not start", True, "MPI_Init waits for ever on the node, or fails", mpi_does_not_start),
)  # fmt: skip
