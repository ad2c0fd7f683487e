import hashlib
import json

import pytest

from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.text import ParseError


def test_four_nodes(recorded):
    nodes = job_scripts.node_facts(recorded("node_probe/four_nodes.jsonl"), expect_nodes=4)
    assert [node.host for node in nodes] == ["node1", "node2", "node3", "node4"]
    assert nodes[0].clock_offset_us == 0 < abs(nodes[1].clock_offset_us) < 100
    facts = nodes[0].facts
    assert (facts["cpu.model"], facts["cpu.count"], facts["slurm.cpus"]) == ("AMD EPYC", 2, 2)
    assert (facts["net.eth0.state"], facts["net.eth0.speed_mbit"], facts["net.eth0.mtu"]) == ("up", 10000, 1500)
    assert (facts["mount./scratch.type"], facts["mount./nowhere.type"]) == ("ext4", None)
    assert (facts["file./usr/bin/fio"][:4], facts["file./nowhere"]) == ("2e54", None)


def test_lines_that_srun_mixed(recorded):
    with pytest.raises(ParseError, match="line 1: expected a line that ends in its SHA-256"):
        job_scripts.node_facts(recorded("node_probe/mixed_by_srun.jsonl"))


def with_sum(data):
    return f"{data} {hashlib.sha256(data.encode()).hexdigest()}\n"


def changed(recorded, **values):
    data, _, _ = recorded("node_probe/four_nodes.jsonl").splitlines()[0].rpartition(" ")
    return with_sum(json.dumps(json.loads(data) | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"clock_offset_us": None}, "clock_offset_us: number, found None"),
        ({"clock_rtt_us": -1}, "clock_rtt_us: number >= 0"),
        ({"host": ""}, "host: string of length"),
        ({"facts": None}, "facts: object"),
        ({"facts": {"net.eth0.mtu": {}}}, "mtu.*: boolean or integer or number or string"),
        ({"facts": {"net.eth0.mtu": [1500]}}, "mtu.*: string, found 1500"),
        ({"facts": {"nte.eth0.mtu": 1500}}, "facts: facts of known names, found nte.eth0.mtu"),
        ({"surprise": 1}, "surprise: unknown key"),
    ],
)
def test_damage_is_named(recorded, values, message):
    with pytest.raises(ParseError, match=message):
        job_scripts.node_facts(changed(recorded, **values))


def test_missing_doubled_and_mixed_nodes(recorded):
    lines = recorded("node_probe/four_nodes.jsonl").splitlines(keepends=True)
    with pytest.raises(ParseError, match=r"4 nodes, found 3 \(node1, node3, node4\)"):
        job_scripts.node_facts(lines[0] + "".join(lines[2:]), expect_nodes=4)
    with pytest.raises(ParseError, match="line 5: expected each node once, found node2 again"):
        job_scripts.node_facts("".join(lines) + lines[1])
    with pytest.raises(ParseError, match="ends in its SHA-256"):
        job_scripts.node_facts(lines[0][:-1] + lines[1])
    with pytest.raises(ParseError, match="line 1: expected lines without the label of `srun --label`"):
        job_scripts.node_facts("0: " + lines[0])
