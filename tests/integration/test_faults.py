"""Faults put into a running cluster, and into the suite itself: none ends in PASS, and the right node is named."""

import contextlib
import shutil
import subprocess
import threading

import pytest

from kappa.core.ground.node_lists import folded
from tests.fault_campaign.cluster import Cluster, disk_limit
from tests.fault_campaign.cluster import limited as limited_processes
from tests.repeating import timing
from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import KAPPA, REPOSITORY, SITE

FAIL, INCOMPLETE = 1, 2
SLOWED = "whatever runs beside it slows a node that has no fault"


def reasons(verdict):
    return " | ".join(" ".join(filter(None, gap.values())) for gap in verdict["incomplete"])


def failure_of(verdict, check):
    return next(case for case in verdict["cases"] if case["check_class"] == check and case["state"] == "fail")


@contextlib.contextmanager
def fault(suite, node, inject, mend):
    suite.cluster("exec", node, "sh", "-c", inject)
    try:
        yield
    finally:
        suite.cluster("exec", node, "sh", "-c", mend)


@contextlib.contextmanager
def limited(suite, place, *devices):
    """Let no more than 200 Mbit/s out of each of a place's network devices."""
    inject = (f"tc qdisc add dev {device} root tbf rate 200mbit burst 70000 latency 50ms" for device in devices)
    mend = (f"tc qdisc del dev {device} root" for device in devices)
    with fault(suite, place, "; ".join(inject), "; ".join(mend)):
        yield


def named_first(verdict, count):
    """The strongest suspects. Another may follow: nothing is measured again here, and a busy machine slows any node."""
    return {suspect["node"] for suspect in verdict["suspects"][:count]}


@timing(SLOWED)
def test_bandwidth_limit_on_one_link_names_the_node(suite):
    with limited(suite, "node2", "eth0"):
        status, verdict = suite.run(
            "-n", "NodeLinks", "-S", "NodeLinks.iterations=3", "-S", "NodeLinks.repeats_per_link=1"
        )  # fmt: skip
    assert status == FAIL
    assert named_first(verdict, 1) == {"node2"}
    failure = failure_of(verdict, "NodeLinks")
    assert f"suspect {folded(failure['suspects'])}" in failure["operator_line"] and "node2" in failure["suspects"]


@long
@timing("the second measurement has to be within bounds")
def test_transient_is_measured_again_on_the_same_nodes_and_not_blamed(suite):
    """By another job, where the first one is not held."""
    pattern = "runs/*-smoke/run-report.json"
    before = set(suite.results.glob(pattern))
    with limited(suite, "node1", "eth0"):
        validation = subprocess.Popen(
            [KAPPA, "validate", "embedded", "smoke", "-n", "OsuBandwidth%placement=two_nodes", "-S", "hold_s=0",
             "-S", "watch_load=no"],
            env=suite.environment(),
        )  # fmt: skip
        reports = until(lambda: set(suite.results.glob(pattern)) - before, "a report is written")
    validation.wait(timeout=2 * PATIENCE_S)
    _, verdict = suite.judge(reports.pop())
    case = next(case for case in verdict["cases"] if case["partition"] == "cpu")
    assert (case["state"], case["diagnosis"], case["unstable"]) == ("pass", "transient", True)
    assert [attempt["state"] for attempt in case["repeated"]] == ["fail"]
    assert verdict["suspects"] == []


@long
@timing(SLOWED)
def test_bandwidth_limit_is_a_slow_node_of_the_pair_sweep(suite):
    with limited(suite, "node3", "eth0"):
        status, verdict = suite.run("-n", "PairSweep", "-S", "PairSweep.seconds=0.5")
    assert status == FAIL
    assert named_first(verdict, 1) == {"node3"}
    assert "when it sends" in failure_of(verdict, "PairSweep")["operator_line"]


@long
@timing(SLOWED)
def test_slow_adapter_of_one_node_is_named_and_nothing_else(suite):
    with limited(suite, "node3", "eth1"):
        status, verdict = suite.run("-n", "RailSweep", "-S", "RailSweep.mib=32")
    assert status == FAIL
    failure = failure_of(verdict, "RailSweep")
    assert "node node3: bandwidth over eth1 is" in failure["operator_line"]
    assert failure["suspects"] == ["node3"]


@long
@timing(SLOWED)
def test_adapter_that_is_slow_on_all_nodes_blames_none(suite):
    with contextlib.ExitStack() as faults:
        for number in range(1, 5):
            faults.enter_context(limited(suite, f"node{number}", "eth1"))
        status, verdict = suite.run("-n", "RailSweep", "-S", "RailSweep.mib=32")
    assert status == FAIL
    failure = failure_of(verdict, "RailSweep")
    assert "rail eth1: bandwidth over eth1 of all nodes is" in failure["operator_line"]
    assert failure["suspects"] == []


@long
@timing(SLOWED)
def test_bandwidth_limit_on_both_nodes_of_a_switch_names_the_switch(suite):
    with limited(suite, "node3", "eth0"), limited(suite, "node4", "eth0"):
        status, verdict = suite.run("-n", "PairSweep", "-S", "PairSweep.seconds=0.5")
    assert status == FAIL
    assert "switch switch2: bandwidth" in failure_of(verdict, "PairSweep")["operator_line"]
    assert named_first(verdict, 2) == {"node3", "node4"}


@long
@timing(SLOWED)
def test_slow_uplink_is_seen_across_the_switches_and_blamed_on_no_node(suite):
    with limited(suite, "login", "up-switch2", "down-switch2"):
        status, verdict = suite.run("-n", "PairSweep", "-S", "PairSweep.seconds=0.5")
    assert status == FAIL
    failed = failure_of(verdict, "PairSweep")
    assert "bandwidth_across_switches" in failed["operator_line"]
    assert failed["suspects"] == []


@long
def test_slow_uplink_fails_between_nodes_of_two_switches_only(suite):
    with limited(suite, "login", "up-switch1", "down-switch1"):
        _, verdict = suite.run("-n", "OsuBandwidth", "--system=embedded:switches")
    states = {case["name"].rpartition("=")[2]: case["state"] for case in verdict["cases"]}
    assert states == {"same_switch": "pass", "other_switch": "fail"}


@long
def test_long_packets_to_one_node_that_vanish_name_the_node_that_does_not_send_them(suite):
    """MPI starts on every half of the nodes; the job that hangs is ended by its watch."""
    rules = "add table inet fault; add chain inet fault output { type filter hook output priority 0 ; }; "
    rules += "add rule inet fault output ip daddr 10.77.0.4 meta length > 1200 drop"
    with fault(suite, "node2", f"nft '{rules}'", "nft delete table inet fault"):
        status, verdict = suite.run("-n", "PeerExchange", "-n", "PairSweep", "-S", "PeerExchange.seconds=1")
    assert status == FAIL
    for check in ("PeerExchange", "PairSweep"):
        failure = failure_of(verdict, check)
        assert failure["suspects"] == ["node2"]
        assert "kernel does not send" in failure["operator_line"]


def test_full_scratch_names_its_node_alone(suite):
    # node1 is where the job of one node goes.
    with fault(suite, "node1", "fallocate -l $(df --output=avail -B1 /scratch | tail -n 1) /scratch/full || true",
               "rm -f /scratch/full"):  # fmt: skip
        checks = ("-n", "PartitionHealth", "-n", "Fio%target=scratch", "-n", "NodeScratch")
        status, verdict = suite.run(*checks, "--system=embedded:scratch")
    assert status == FAIL
    assert {"Fio", "PartitionHealth"} & {case["check_class"] for case in verdict["cases"] if case["state"] == "fail"}
    assert failure_of(verdict, "NodeScratch")["suspects"] == ["node1"]


@long
def test_old_folder_of_a_dead_job_goes_and_other_files_stay(suite):
    cluster = Cluster(suite.state, suite.results)
    name = cluster.on("login", "scontrol show config | sed -n 's/^ClusterName *= *//p'").strip()
    cluster.on("node3", f"""
        mkdir /scratch/kappa.git && mkdir -m 0700 /scratch/kappa.999999.AbCdEf12 && cd /scratch/kappa.999999.AbCdEf12
        printf 'suite kappa\\nuser 0\\nhost node3\\njob {name}/999999\\n' >.kappa-folder && chmod 600 .kappa-folder
        touch -d '2 days ago' . ../kappa.git""")
    suite.run("-n", "NodeScratch", "--system=embedded:scratch", "-S", "NodeScratch.file_size_mib=64")
    assert cluster.on("node3", "ls -d /scratch/kappa.*; rmdir /scratch/kappa.git").split() == ["/scratch/kappa.git"]


def test_drained_node_is_named(suite):
    drain = ["scontrol", "update", "nodename=node3", "state=drain", "reason=test"]
    suite.cluster("exec", "login", *drain)
    try:
        status, verdict = suite.run("-n", "PartitionState")
    finally:
        suite.cluster("up")
    assert status == FAIL
    assert failure_of(verdict, "PartitionState")["suspects"] == ["node3"]


@long
def test_killed_slurmd_names_the_node(suite):
    suite.cluster("exec", "node4", "pkill", "-9", "slurmd")
    try:
        sinfo = ["sinfo", "--noheader", "--nodes=node4", "--format=%T"]
        until(lambda: "down" in suite.cluster("exec", "login", *sinfo).stdout, "Slurm has noticed", poll_s=0.5)
        status, verdict = suite.run("-n", "PartitionState")
    finally:
        suite.cluster("up")
    assert status == FAIL
    assert failure_of(verdict, "PartitionState")["suspects"] == ["node4"]


@long
def test_slow_disk_is_named_by_what_an_application_writes(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node3", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited_processes(cluster, "node3", *disk_limit(device, 20 * 10**6)):
        status, verdict = suite.run("-n", "EmtIoEachNode%target=scratch", "--system=embedded:scratch")
    assert status == FAIL
    failure = failure_of(verdict, "EmtIoEachNode")
    assert failure["suspects"] == ["node3"]
    assert "node node3: write" in failure["operator_line"] or "node node3: read" in failure["operator_line"]
    assert suite.cluster("exec", "node3", "sh", "-c", "ls -d /scratch/kappa.* || true").stdout == ""


@pytest.mark.parametrize(
    "check, name, setting, node",
    [
        ("Fio", "Fio%target=scratch", "file_size_mib=256", "node1"),
        pytest.param("NodeScratch", "NodeScratch", "file_size_mib=256", "node4", marks=long),
        pytest.param("EmtIoEachNode", "EmtIoEachNode%target=scratch", "node_mib=1024", "node3", marks=long),
    ],
)
def test_cancelled_job_leaves_no_files_and_fails(suite, check, name, setting, node):
    def left():
        return suite.cluster("exec", node, "sh", "-c", "ls -d /scratch/kappa.* || true").stdout.split()

    report = suite.results / "run-report.json"
    report.unlink(missing_ok=True)
    running = threading.Thread(
        target=suite.reframe,
        args=("-r", f"--report-file={report}", "-n", name, "-S", f"{check}.{setting}"),
    )
    running.start()
    until(left, "the job has made a file")
    suite.cluster("exec", "login", "scancel", "--me")
    running.join(timeout=2 * PATIENCE_S)
    assert not running.is_alive(), "ReFrame does not end"
    until(lambda: not left(), "the job has removed its files")
    status, verdict = suite.judge(report)
    assert status == FAIL
    # A program's build is none of a check of ours.
    assert {case["check_class"] for case in verdict["cases"]} - {None} == {check}
    assert verdict["suspects"] == []


@pytest.fixture
def references(tmp_path):
    copy = tmp_path / "references"
    shutil.copytree(SITE / "references", copy)
    return copy


def test_missing_reference_file_is_incomplete(suite, references):
    (references / "node.yaml").unlink()
    status, verdict = suite.run("-n", "PartitionState", RFM_REFERENCE_PREFIX=str(references))
    assert status == INCOMPLETE
    assert "node.yaml" in reasons(verdict)


def test_misspelt_metric_in_references_is_incomplete(suite, references):
    path = references / "node.yaml"
    path.write_text(path.read_text().replace("fraction_usable", "fraction_useable"))
    status, verdict = suite.run("-n", "PartitionState", RFM_REFERENCE_PREFIX=str(references))
    assert status == INCOMPLETE
    assert "fraction_useable" in reasons(verdict)
    assert "fraction_usable" in reasons(verdict)


def test_reference_without_source_is_incomplete(suite, references):
    path = references / "node.yaml"
    path.write_text(path.read_text().replace('match: "*"', 'match: "Nothing"'))
    status, verdict = suite.run("-n", "PartitionState", RFM_REFERENCE_PREFIX=str(references))
    assert status == INCOMPLETE
    assert "$sources" in reasons(verdict)


@pytest.fixture
def damaged_suite(tmp_path):
    """A copy of some checks of the suite, which can be broken, and the environment that uses it."""
    copy = tmp_path / "reframe_checks"
    left_out = shutil.ignore_patterns("application", "network", "storage")
    shutil.copytree(REPOSITORY / "reframe_checks", copy, ignore=left_out)
    return copy, {"checks": copy, "PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("damage", ["import not_there\n", "def broken(:\n"], ids=["import", "syntax"])
def test_a_check_file_that_does_not_load_never_passes(suite, damaged_suite, damage):
    copy, where = damaged_suite
    path = copy / "compute/stream.py"
    path.write_text(damage + path.read_text())
    status, _ = suite.run("-n", "PartitionState", **where)
    assert status in (FAIL, INCOMPLETE)


def test_a_check_that_reframe_skips_is_named(suite, damaged_suite):
    copy, where = damaged_suite
    path = copy / "compute/stream.py"
    path.write_text(path.read_text().replace("@rfm.simple_test", "@rfm.simple_test\n@rfm.no_such_decorator"))
    status, verdict = suite.run("-n", "PartitionState", **where)
    assert status in (FAIL, INCOMPLETE)
    if verdict is not None:
        assert "stream" in failure_of(verdict, "PartitionState")["operator_line"]


def test_a_metric_that_is_not_extracted_fails(suite, damaged_suite):
    copy, where = damaged_suite
    path = copy / "node/partition_state.py"
    path.write_text(path.read_text().replace("/ self.partition_nodes", "/ self.no_such_figure"))
    status, verdict = suite.run("-n", "PartitionState", **where)
    assert status == FAIL
    assert "fraction_usable" in failure_of(verdict, "PartitionState")["operator_line"]
