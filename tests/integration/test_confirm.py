"""Faults of one node, seen by a check of one node, through the whole of `kappa validate`."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

from tests.fault_campaign.cluster import Cluster, disk_limit, limited
from tests.tiers import long
from tests.waiting import PATIENCE_S

from .conftest import KAPPA, SITE

FAIL, INCOMPLETE = 1, 2
WHATEVER_RUNS_BESIDE = ("-S", "watch_load=no")


def validate_fio(suite, *options):
    return subprocess.run(
        [KAPPA, "validate", "embedded", "smoke", "--system=embedded:scratch", "-n", "Fio%target=scratch",
         "-S", "Fio.file_size_mib=8", "-S", "Fio.runtime_s=1", *options],
        env=suite.environment(), capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip


@long
def test_a_slow_disk_is_bound_to_its_node(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node2", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited(cluster, "node2", *disk_limit(device, 10 * 10**6)):
        done = validate_fio(suite, "--distribute=all", "-J", "nodelist=node2", *WHATEVER_RUNS_BESIDE)
    assert done.returncode == FAIL, done.stdout + done.stderr
    _, verdict = suite.judge(max(suite.results.glob("runs/*-smoke/run-report.json")))
    [bound] = verdict["cases"]
    assert (bound["diagnosis"], bound["nodes"], bound["suspects"]) == ("node-bound", ["node2"], ["node2"])
    assert "node-bound: out of bounds again on node2, within bounds on node" in bound["operator_line"]
    # Its own job has measured a second time: no other had to on the same node.
    assert [(again["purpose"], again["state"]) for again in bound["repeated"]] == [
        ("", "fail"), ("other-nodes", "pass"),
    ]  # fmt: skip
    assert len({attempt["job_id"] for attempt in (bound, bound["repeated"][0])}) == 1
    assert [suspect["node"] for suspect in verdict["suspects"]] == ["node2"]


@long
def test_of_nodes_measured_by_one_job_the_one_with_the_slow_disk_is_named_alone(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node2", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited(cluster, "node2", *disk_limit(device, 10 * 10**6)):
        done = validate_fio(suite, "-S", "Fio.nodes_at_once=4", *WHATEVER_RUNS_BESIDE)
    assert done.returncode == FAIL, done.stdout + done.stderr
    report = max(suite.results.glob("runs/*-smoke/run-report.json"))
    [slow] = (case for case in suite.judge(report)[1]["cases"] if case["check_class"] == "Fio")
    assert (sorted(slow["nodes"]), slow["suspects"]) == (["node1", "node2", "node3", "node4"], ["node2"])
    [case] = json.loads(report.read_text())["runs"][0]["testcases"]
    written = case["per_node"]["sequential_write"]["values"]
    assert min(written, key=written.get) == "node2" and len(written) == 4


# The first fio on the node is slow, each later one is as fast as the disk.
SLOW_ONCE = r"""#!/bin/bash
if mkdir /shared/fakes/was-slow 2>/dev/null; then exec /shared/fakes/fio.real --rate_iops=5 "$@"; fi
exec /shared/fakes/fio.real "$@"
"""


def test_a_transient_is_measured_again_in_its_job(suite):
    cluster = Cluster(suite.state, suite.results)
    fio = cluster.on("node2", "command -v fio").strip()
    fakes = suite.state / "shared/fakes"
    fakes.mkdir()
    shutil.copy2(fio, fakes / "fio.real")
    (fakes / "fio").write_text(SLOW_ONCE, encoding="utf-8")
    (fakes / "fio").chmod(0o755)
    cluster.on("node2", 'mount --bind /shared/fakes/fio "$1"', fio)
    try:
        done = validate_fio(suite, "-J", "nodelist=node2", *WHATEVER_RUNS_BESIDE)
    finally:
        cluster.on("node2", 'umount --lazy "$1"; rm -r /shared/fakes', fio)
    report = max(suite.results.glob("runs/*-smoke/run-report.json"))
    assert list((report.parent / "confirmations").glob("*.json")) == [], done.stdout
    _, verdict = suite.judge(report)
    [case] = verdict["cases"]
    assert (case["state"], case["unstable"], case["diagnosis"], case["nodes"]) == ("pass", True, "transient", ["node2"])
    [first] = case["repeated"]
    assert (first["purpose"], first["state"], first["job_id"]) == ("", "fail", case["job_id"])
    written = [
        next(metric["value"] for metric in attempt["metrics"] if metric["name"] == "random_write")
        for attempt in (first, case)
    ]
    assert written[0] < 10 < written[1]
    assert "transient" in done.stdout
    # Both outputs are kept.
    [kept] = suite.results.glob("**/output/**/first_measurement/rfm_job.out")
    assert kept.read_bytes() != kept.parents[1].joinpath("rfm_job.out").read_bytes()
    assert verdict["suspects"] == []


def test_what_a_check_singles_out_within_its_bounds_is_measured_again_and_accuses_nobody(suite, tmp_path):
    # No bound on the figure, because other work on the disk may slow one node down; every node is below three times the
    # median one.
    site = tmp_path / "embedded"
    shutil.copytree(SITE / "references", site / "references")
    for name in ("expected.yaml", "settings.py", "site.yaml"):
        shutil.copy(SITE / name, site)
    file = site / "references/storage.yaml"
    text = file.read_text()
    bound = "uniformity: [0.33, 0, null"
    assert text.count(bound) == 1
    file.write_text(text.replace(bound, "uniformity: [0.0001, 0, null"))
    report = suite.results / "singled-out.json"
    selected = ["--system=embedded:scratch", "-n", "NodeScratch", "-S", "NodeScratch.suspect_share=3"]
    done = suite.reframe("-r", f"--report-file={report}", *selected, *WHATEVER_RUNS_BESIDE, site=site)
    _, verdict = suite.judge(report)
    [case] = [case for case in verdict["cases"] if case["check_class"] == "NodeScratch"]
    assert (case["state"], case["unstable"], case["suspects"]) == ("pass", False, []), done.stdout + done.stderr
    assert [again["job_id"] for again in case["repeated"]] == [case["job_id"]]
    assert [seen["node"] for seen in verdict["observations"]] == ["node1", "node2", "node3", "node4"]
    assert verdict["suspects"] == []
    subprocess.run([KAPPA, "show", "--format=page", report], env=suite.environment(), check=True, timeout=PATIENCE_S)
    page = report.with_suffix(".html").read_text()
    assert 'id="observations"' in page and 'id="suspects"' not in page and "scontrol" not in page


@contextlib.contextmanager
def busy_loops():
    """A loop that is no part of the cluster for each core of the machine; none outlives the tests, however they end."""
    loop = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    loops = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@long
def test_what_is_out_of_bounds_beside_busy_loops_is_nobodys_fault(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node2", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    waits = ("-S", "hold_s=20", "-S", "quiet_wait_s=3")
    with busy_loops(), limited(cluster, "node2", *disk_limit(device, 10 * 10**6)):
        done = validate_fio(suite, "-J", "nodelist=node2", *waits)
    assert done.returncode == INCOMPLETE, done.stdout + done.stderr
    report = max(suite.results.glob("runs/*-smoke/run-report.json"))
    # In its job and by another on the same node; others are no comparison for what says nothing.
    assert [path.name for path in (report.parent / "confirmations").glob("*.json")] == ["same-nodes-1.json"]
    _, verdict = suite.judge(report)
    [case] = verdict["cases"]
    assert (case["state"], case["diagnosis"], case["suspects"]) == ("incomplete", None, [])
    assert len(case["repeated"]) == 2 and verdict["suspects"] == []
    [busy] = [gap for gap in verdict["incomplete"] if gap["what"] == "this machine was busy"]
    assert "others used" in busy["detail"] and "while it was measured" in busy["detail"]
