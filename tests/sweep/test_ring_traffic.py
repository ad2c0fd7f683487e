import copy
import os

import pytest

from reframe_checks.parsers import ring_traffic


@pytest.fixture(scope="module")
def program(build):
    return build("reframe_checks/network/src/ring_traffic")


def test_every_node_sends_around(program, tmp_path):
    program("--mib=2", ranks=3, cwd=tmp_path)
    traffic = ring_traffic.parse((tmp_path / "ring_traffic.json").read_text(), expect_nodes=3)
    assert traffic.payload_bytes == 2 * (2 << 20)
    assert all(speed > 0 for speed in traffic.speeds_mb_s.values())
    assert list(traffic.sent_bytes) == list(traffic.received_bytes) == ["node0", "node1", "node2"]
    # Within one machine nothing goes over a network.
    assert all("lo" not in own for own in traffic.sent_bytes.values())


@pytest.mark.skipif(os.getuid() != 0, reason="not provided here: a /sys/class/net of its own, which only root mounts")
def test_ip_over_infiniband_is_told_by_the_kind_of_the_interface(program, tmp_path):
    for name, kind in (("eth0", 1), ("ib0", 32)):
        (tmp_path / "net" / name / "statistics").mkdir(parents=True)
        (tmp_path / "net" / name / "type").write_text(f"{kind}\n")
    there = copy.copy(program)
    there.path = tmp_path / "with_ib0"
    mounted = f'mount --bind "{tmp_path}/net" /sys/class/net && exec "$0" "$@"'
    there.path.write_text(f"#!/bin/sh\nexec unshare -m sh -c '{mounted}' {program.path} \"$@\"\n")
    there.path.chmod(0o755)
    there("--mib=1", ranks=2, cwd=tmp_path)
    traffic = ring_traffic.parse((tmp_path / "ring_traffic.json").read_text(), expect_nodes=2)
    assert traffic.ip_over_infiniband == {"ib0"}
    assert set(traffic.sent_bytes["node1"]) >= {"eth0", "ib0"}


def test_one_rank_is_refused(program, tmp_path):
    done = program(ranks=1, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "one rank has nobody to send to" in done.stderr
