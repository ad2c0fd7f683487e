"""A fault of one node, seen by a check of one node, through the whole of `site_configs/validate`."""

import subprocess

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.control_group import disk_limit, limited

from .conftest import SITE

FAIL = 1


def test_a_slow_disk_is_bound_to_its_node(suite):
    cluster = Cluster(suite.state, suite.results)
    device = cluster.on("node2", "findmnt --noheadings --output MAJ:MIN --target /scratch").strip()
    with limited(cluster, "node2", *disk_limit(device, 10 * 10**6)):
        done = subprocess.run(
            [SITE.parent / "validate", "embedded", "smoke", "--system=embedded:scratch", "-n", "Fio%target=scratch",
             "--distribute=all", "-J", "nodelist=node2", "-S", "Fio.file_size_mib=8", "-S", "Fio.runtime_s=1"],
            env=suite.environment(), capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == FAIL, done.stdout + done.stderr
    _, verdict = suite.judge(max(suite.results.glob("runs/*-smoke/run-report.json")))
    [bound] = verdict["cases"]
    assert (bound["diagnosis"], bound["nodes"], bound["suspects"]) == ("node-bound", ["node2"], ["node2"])
    assert "node-bound: again so on node2, within bounds on node" in bound["operator_line"]
    assert [(again["purpose"], again["state"]) for again in bound["repeated"]] == [
        ("", "fail"), ("other-nodes", "pass"),
    ]  # fmt: skip
    assert [suspect["node"] for suspect in verdict["suspects"]] == ["node2"]
