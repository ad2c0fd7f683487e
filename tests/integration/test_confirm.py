"""Faults of one node, seen by a check of one node, through the whole of `site_configs/validate`."""

import shutil
import subprocess

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.control_group import disk_limit, limited
from tests.waiting import PATIENCE_S

from .conftest import SITE

FAIL = 1


def validate_fio(suite, *options):
    return subprocess.run(
        [SITE.parent / "validate", "embedded", "smoke", "--system=embedded:scratch", "-n", "Fio%target=scratch",
         "-S", "Fio.file_size_mib=8", "-S", "Fio.runtime_s=1", *options],
        env=suite.environment(), capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip


def test_a_slow_disk_is_bound_to_its_node(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node2", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited(cluster, "node2", *disk_limit(device, 10 * 10**6)):
        done = validate_fio(suite, "--distribute=all", "-J", "nodelist=node2")
    assert done.returncode == FAIL, done.stdout + done.stderr
    _, verdict = suite.judge(max(suite.results.glob("runs/*-smoke/run-report.json")))
    [bound] = verdict["cases"]
    assert (bound["diagnosis"], bound["nodes"], bound["suspects"]) == ("node-bound", ["node2"], ["node2"])
    assert "node-bound: again so on node2, within bounds on node" in bound["operator_line"]
    # Its own job has measured a second time: no other had to on the same node.
    assert [(again["purpose"], again["state"]) for again in bound["repeated"]] == [
        ("", "fail"), ("other-nodes", "pass"),
    ]  # fmt: skip
    assert len({attempt["job_id"] for attempt in (bound, bound["repeated"][0])}) == 1
    assert [suspect["node"] for suspect in verdict["suspects"]] == ["node2"]


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
        done = validate_fio(suite, "-J", "nodelist=node2")
    finally:
        cluster.on("node2", 'umount --lazy "$1"; rm -r /shared/fakes', fio)
    report = max(suite.results.glob("runs/*-smoke/run-report.json"))
    assert list((report.parent / "confirmations").iterdir()) == [], done.stdout
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
