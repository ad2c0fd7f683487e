import pytest

from reframe_checks.parsers import ring_traffic


@pytest.fixture(scope="module")
def program(build):
    return build("reframe_checks/network/src/ring_traffic")


def test_every_node_sends_around(program, tmp_path):
    program("--mib=2", ranks=3, cwd=tmp_path)
    traffic = ring_traffic.parse((tmp_path / "ring_traffic.json").read_text(), expect_nodes=3)
    assert traffic.payload_bytes == 2 << 20
    assert list(traffic.sent_bytes) == list(traffic.received_bytes) == ["node0", "node1", "node2"]
    # Within one machine nothing goes over a network.
    assert all("lo" not in own for own in traffic.sent_bytes.values())


def test_one_rank_is_refused(program, tmp_path):
    done = program(ranks=1, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "one rank has nobody to send to" in done.stderr
