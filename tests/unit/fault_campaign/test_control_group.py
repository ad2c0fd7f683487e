from tests.fault_campaign import control_group


def test_limits_of_version_1(tmp_path, monkeypatch):
    monkeypatch.setattr(control_group, "ROOT", tmp_path)
    assert control_group.cpu_limit(0.25) == (
        "cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "25000"}
    )  # fmt: skip
    controller, settings = control_group.disk_limit("7:1", 10**6)
    assert controller == "blkio"
    assert settings["blkio.throttle.write_bps_device"] == "7:1 1000000"


def test_limits_of_version_2(tmp_path, monkeypatch):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory\n")
    monkeypatch.setattr(control_group, "ROOT", tmp_path)
    assert control_group.cpu_limit(0.25) == ("cpu", {"cpu.max": "25000 100000"})
    assert control_group.disk_limit("7:1", 10**6) == ("io", {"io.max": "7:1 rbps=1000000 wbps=1000000"})
