import json

import pytest

from reframe_checks.parsers import node_probe
from reframe_checks.parsers.errors import ParseError


def test_four_nodes(recorded):
    nodes = node_probe.parse(recorded("node_probe/four_nodes.jsonl"), expect_nodes=4)
    assert [node.host for node in nodes] == ["node1", "node2", "node3", "node4"]
    assert [node.clock_offset_us for node in nodes] == [0, 0.556, -0.165, 0.075]
    first = nodes[0]
    assert (first.cpu_model, first.cpus_online, first.sockets, first.numa_nodes) == ("AMD EPYC", 2, 1, 1)
    assert first.slurm == node_probe.SlurmFacts(cpus=2, memory_mib=24105)
    assert first.interfaces[0] == node_probe.Interface("eth0", "up", 10000, 1500)
    assert (first.ib_devices, first.cpu_governor, first.transparent_hugepages) == ((), None, "madvise")


def test_mounts(recorded):
    scratch, shared, nowhere = node_probe.parse(recorded("node_probe/four_nodes.jsonl"))[0].mounts
    assert (scratch.path, scratch.type, scratch.size_bytes, scratch.writable) == ("/scratch", "ext4", 1020702720, True)
    assert shared.type == "ext4"
    assert nowhere == node_probe.Mount("/nowhere", None, None, None, None, None)


def test_files(recorded):
    fio, nowhere = node_probe.parse(recorded("node_probe/four_nodes.jsonl"))[0].files
    assert (fio.path, fio.sha256[:8]) == ("/usr/bin/fio", "2e546a18")
    assert nowhere == node_probe.File("/nowhere", None)


def test_lines_that_srun_mixed(recorded):
    with pytest.raises(ParseError, match=r"line 1: expected valid JSON .* column 1025"):
        node_probe.parse(recorded("node_probe/mixed_by_srun.jsonl"))


def changed(recorded, **values):
    record = json.loads(recorded("node_probe/four_nodes.jsonl").splitlines()[0])
    return json.dumps(record | values) + "\n"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cpus_online": 0}, "cpus_online: an integer, at least 1"),
        ({"cpus_online": "2"}, "cpus_online: an integer"),
        ({"memory_available_kib": 10**12}, "memory_available_kib: at most memory_total_kib"),
        ({"clock_offset_us": None}, "clock_offset_us: a number"),
        ({"clock_rtt_us": -1}, "clock_rtt_us: a number, at least 0"),
        ({"host": ""}, "host: a text"),
        ({"mounts": None}, "mounts: a list"),
        ({"mounts": [{"path": "/x"}]}, r"mounts\[0\].type: a value, found no such key"),
        ({"slurm": {"cpus": 2}}, "slurm.memory_mib: a value"),
        ({"interfaces": [{"name": "eth0", "state": "up", "speed_mbit": -1, "mtu": 1500}]}, r"speed_mbit: an integer"),
        ({"files": [{"path": "/x", "sha256": "1234"}]}, r"files\[0\].sha256: 64 hexadecimal digits"),
        ({"files": [{"path": "/x"}]}, r"files\[0\].sha256: a value, found no such key"),
        ({"surprise": 1}, "no other keys than those known, found surprise"),
    ],
)
def test_damage_is_named(recorded, values, message):
    with pytest.raises(ParseError, match=message):
        node_probe.parse(changed(recorded, **values))


def test_facts_that_a_node_does_not_tell(recorded):
    unknown = dict.fromkeys(("cpu_model", "sockets", "numa_nodes", "os_release", "slurm"))
    (node,) = node_probe.parse(changed(recorded, **unknown))
    assert (node.sockets, node.slurm) == (None, None)


def test_infiniband(recorded):
    port = {"name": "mlx5_0", "port": 1, "state": "ACTIVE", "rate": "100 Gb/sec (4X EDR)"}
    (node,) = node_probe.parse(changed(recorded, ib_devices=[port]))
    assert node.ib_devices == (node_probe.IbPort(**port),)


def test_missing_doubled_and_mixed_nodes(recorded):
    lines = recorded("node_probe/four_nodes.jsonl").splitlines(keepends=True)
    with pytest.raises(ParseError, match=r"4 nodes, found 3 \(node1, node3, node4\)"):
        node_probe.parse(lines[0] + "".join(lines[2:]), expect_nodes=4)
    with pytest.raises(ParseError, match="line 5: expected host: each node once, found node2 again"):
        node_probe.parse("".join(lines) + lines[1])
    with pytest.raises(ParseError, match=r"valid JSON .*Extra data"):
        node_probe.parse(lines[0][:-1] + lines[1])
    with pytest.raises(ParseError, match="line 1: expected one JSON object a line"):
        node_probe.parse("0: " + lines[0])
