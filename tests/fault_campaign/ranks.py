"""Faults of what a node does with the ranks of a job: where they may run, what moves them, which network they take."""

import contextlib
import os
import pathlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.control_group import ROOT, limited
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.node_state import between, running

# What some nodes run to balance their load: every rank of the program, with its threads, goes to the same core.
_MOVES = """
import os, sys, time
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/comm").read() == "affinity\\n":
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(thread), {int(sys.argv[1])})
        except (OSError, ValueError):
            pass
    time.sleep(0.005)
"""


@contextlib.contextmanager
def withheld_cores(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    core = draw.choice(sorted(os.sched_getaffinity(0)))
    settings = {"cpuset.cpus": str(core)}
    if (domains := ROOT / "cpuset/cpuset.mems").exists():  # version 1 wants both
        settings = {"cpuset.mems": pathlib.Path(domains).read_text(encoding="ascii").strip(), **settings}
    with limited(cluster, node, "cpuset", settings):
        yield f"core {core} alone is left"


@contextlib.contextmanager
def moved_ranks(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    core = draw.choice(sorted(os.sched_getaffinity(0)))
    with running(cluster, node, _MOVES, str(core)):
        yield f"to core {core}"


# The same way to the others, through an adapter that nobody expects.
_OTHER_ADAPTER = """
ip link add link eth0 name eth1 type macvlan mode bridge; ip link set eth1 up
sysctl -q net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=0
own=$(ip -4 -o addr show dev eth0 | sed "s,.*inet \\([^/]*\\)/.*,\\1,")
for other in node1 node2 node3 node4; do
    address=$(getent ahostsv4 "$other" | sed "s, .*,,;q")
    [[ $address == "$own" ]] || ip route add "$address/32" dev eth1 src "$own"
done
"""

OF_NETWORK = (
    Kind("other adapter", False, "what the node sends takes another interface", between(
        _OTHER_ADAPTER, "ip link del eth1", "eth1 in place of eth0")),
)  # fmt: skip
KINDS = (
    Kind("withheld cores", False, "a cpuset leaves one core of the node to jobs", withheld_cores),
    Kind("moved ranks", False, "a program on the node moves ranks and threads to one core", moved_ranks),
)
