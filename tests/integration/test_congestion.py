"""Congestion on limited links, so that the cluster's cores are not the bottleneck: seen on tapered uplinks.

It takes a minute and a half.
"""

import contextlib
import json
import statistics

import pytest

from reframe_checks.parsers.patterns import CONTROL
from tests.repeating import timing

pytestmark = pytest.mark.long

NODES = ("node1", "node2", "node3", "node4")
UPLINKS = ("up-switch1", "down-switch1", "up-switch2", "down-switch2")
NODE_MBIT = 100


@contextlib.contextmanager
def links(suite, uplink_mbit):
    """Every node's link has ``NODE_MBIT``, every uplink ``uplink_mbit``, in both directions."""
    places = [*((node, "eth0", NODE_MBIT) for node in NODES), *(("login", device, uplink_mbit) for device in UPLINKS)]
    shape = ("burst", "70000", "latency", "50ms")
    with contextlib.ExitStack() as undo:
        for place, device, mbit in places:
            at = ("dev", device, "root")
            suite.cluster("exec", place, "tc", "qdisc", "add", *at, "tbf", "rate", f"{mbit}mbit", *shape)
            undo.callback(suite.cluster, "exec", place, "tc", "qdisc", "del", *at)
        yield


def impacts(suite, uplink_mbit):
    """(load, pattern) -> the impact of each round."""
    with links(suite, uplink_mbit):
        few = ("-S", "Congestion.iterations=10", "-S", "Congestion.rounds=3")
        suite.run("-n", "Congestion", *few, "--system=embedded:scratch")
    runs = json.loads((suite.results / "run-report.json").read_text())["runs"]
    (case,) = [case for run in runs for case in run["testcases"] if case.get("check_class") == "Congestion"]
    # Congestion may be out of bounds; nothing else may be wrong.
    assert case["curves"], case.get("fail_reason")
    found = {
        tuple(reversed(name.split(" beside "))): [impact for _, impact in curve["points"]]
        for name, curve in case["curves"].items()
    }
    print(f"uplinks of {uplink_mbit} Mbit/s:", {load: found[load, "bandwidth"] for load, _ in found})
    return found


def congestion(found):
    """The bandwidth's impact beside the middle one of the loads over that beside the control."""
    bandwidth = {load: statistics.median(found[load, pattern]) for load, pattern in found if pattern == "bandwidth"}
    control = bandwidth.pop(CONTROL)
    return statistics.median(bandwidth.values()) / control


@timing("whatever else the machine does looks like congestion, or hides it")
def test_tapered_uplinks_are_congested_and_full_ones_are_not(suite):
    # Measured: 0.7 and 1.9.
    assert congestion(impacts(suite, 2 * NODE_MBIT)) < 1.3 < congestion(impacts(suite, NODE_MBIT // 4))
