"""ReFrame's own commands work on the suite, and every check loads."""

import re

from reframe_checks.base.census import declared_checks

# One for each check class: a file that does not load must not go unnoticed.
CHECKS = {
    "BabelStream", "BtIo", "EmtCorrectness", "EmtScaling", "Fio", "GpuInventory", "Hpl", "HplNvidia",
    "HplNvidiaScaling", "HplScaling",
    "IorEasy", "IorHard", "IorNode",
    "Iozone", "Mdtest", "NcclAllReduce", "NcclCollective", "NodeLinks", "NodeScratch", "NodeSweep",
    "NvBandwidthHost", "NvBandwidthPeers", "OsuAllreduce", "OsuAlltoall",
    "OsuAtomicLatency", "OsuBandwidth", "OsuBarrier", "OsuBcast", "OsuBidirectionalBandwidth",
    "OsuBlockingCollective", "OsuCollectiveOnRanks", "OsuDeviceBandwidth", "OsuDeviceBandwidthMatrix",
    "OsuDeviceBidirectionalBandwidth", "OsuDeviceCollective", "OsuDeviceLatency", "OsuDeviceLatencyMatrix",
    "OsuDeviceMessageRate", "OsuGather", "OsuHello", "OsuInit",
    "OsuLatency", "OsuMessageRate", "OsuMultiLatency", "OsuNeighbourCollective", "OsuNonBlockingCollective",
    "OsuOneSidedBandwidth", "OsuOneSidedLatency", "OsuPersistentCollective", "OsuReduce", "PairSweep",
    "PartitionHealth", "PartitionState", "Stream", "StreamNuma",
}  # fmt: skip
CASES = 57


def test_every_declared_check_is_known():
    assert set(declared_checks()) == CHECKS


def test_list_detailed_names_every_check(suite):
    done = suite.reframe("--list-detailed", "--skip-system-check", "--skip-prgenv-check")
    assert set(re.findall(r"^- (\w+)", done.stdout, re.MULTILINE)) == CHECKS


def test_dry_run_makes_every_case_that_the_site_offers(suite):
    done = suite.reframe("--dry-run")
    assert done.returncode == 0, done.stdout
    assert f"Ran {CASES}/{CASES} test case(s)" in done.stdout
    assert "WARNING" not in done.stdout


def test_describe_gives_the_family(suite):
    done = suite.reframe("--describe", "-n", "OsuLatency")
    assert '"network/osu-pt2pt"' in done.stdout


def test_single_node_checks_distribute_over_nodes(suite):
    done = suite.reframe("-l", "--distribute=all", "-n", "Stream")
    nodes = re.findall(r"pin_nodes=\[?'?(node\d)|\.nid=(node\d)|(node\d)", done.stdout)
    assert {next(filter(None, match)) for match in nodes} == {"node1", "node2"}, done.stdout


def test_tags_select(suite):
    done = suite.reframe("-l", "--tag", "placement_same_node")
    assert set(re.findall(r"^- (\w+)", done.stdout, re.MULTILINE)) == {
        "OsuLatency", "OsuBandwidth", "OsuBidirectionalBandwidth",
    }  # fmt: skip
