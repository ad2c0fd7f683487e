"""Limits of a node by control groups, a node that ends, and scripts on it."""

import subprocess

import pytest

from kappa.core.ground.whole_files import private
from tests.fault_campaign import cluster
from tests.fault_campaign.cluster import CampaignError, Cluster


def test_limits_of_version_1(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ROOT", tmp_path)
    assert cluster.cpu_limit(0.25) == (
        "cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "25000"}
    )  # fmt: skip
    controller, settings = cluster.disk_limit("7:1", 10**6)
    assert controller == "blkio"
    assert settings["blkio.throttle.write_bps_device"] == "7:1 1000000"


def test_limits_of_version_2(tmp_path, monkeypatch):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory\n")
    monkeypatch.setattr(cluster, "ROOT", tmp_path)
    assert cluster.cpu_limit(0.25) == ("cpu", {"cpu.max": "25000 100000"})
    assert cluster.disk_limit("7:1", 10**6) == ("io", {"io.max": "7:1 rbps=1000000 wbps=1000000"})


def test_another_process_with_the_number_of_a_node_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "60"]) as other:
        for ticks, ended in ((1, False), (started_at(other.pid), True)):
            (tmp_path / "run/node2.pid").write_text(f"{other.pid} {ticks} boot\n")
            Cluster(tmp_path, tmp_path).end_node("node2")
            assert (other.poll() is not None) is ended


def started_at(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().split()[21]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A cluster whose nodes are this machine."""

    def command(_, *words):
        return subprocess.run(words[2:], capture_output=True, text=True, check=False)

    monkeypatch.setattr(Cluster, "command", command)
    return Cluster(tmp_path, tmp_path)


def test_what_a_script_makes_on_a_node_has_the_permissions_of_a_node(here, tmp_path):
    """Root makes it for all users there, also under the umask of `kappa`."""
    with private():
        here.on("node2", 'touch "$1"', str(tmp_path / "made"))
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644


def test_a_script_that_fails_is_named_with_its_place_and_its_words(here):
    with pytest.raises(CampaignError, match=r"^on node2: ls /nowhere: .*No such file"):
        here.on("node2", "ls /nowhere")
