import json
import zlib

import numpy as np
import pytest

from reframe_checks.localise.sampled_sweep import SampledSweep
from reframe_checks.parsers import pair_sweep
from reframe_checks.parsers.text import ParseError
from tests.unit.conftest import DATA

SWITCH_OF = {"node1": "switch1", "node2": "switch1", "node3": "switch2", "node4": "switch2"}


@pytest.fixture
def text(recorded):
    return recorded("pair_samples/four_nodes_limited.json")


@pytest.fixture
def figures():
    return (DATA / "pair_samples/four_nodes_limited.bin").read_bytes()


def test_every_pair_that_was_measured(text, figures):
    samples = pair_sweep.read_samples(text, figures)
    assert samples.nodes == ("node1", "node2", "node3", "node4")
    assert (len(samples.round_seconds), samples.document.rounds_within_leaves, len(samples.pairs)) == (24, 1, 48)
    assert [tuple(pair) for pair in samples.pairs[["first", "second"]][:2].tolist()] == [(0, 1), (2, 3)]
    sent_by_node3 = samples.pairs["to_first_mbps"][samples.pairs["second"] == 2]
    assert len(sent_by_node3) == 23 and np.all(sent_by_node3 < 30)
    assert {one.pair for one in samples.alone} == {("node2", "node3"), ("node1", "node3"), ("node3", "node4")}
    assert all(one.messages > 1000 and one.wrong == 0 for one in samples.payloads_alone)


def test_the_limited_node_is_named_with_its_direction(text, figures):
    sweep = SampledSweep(pair_sweep.read_samples(text, figures), SWITCH_OF, least_slowdown=2.0, least_loss=0.005)
    [finding] = sweep.findings()
    assert (finding.kind, finding.name) == ("node", "node3")
    assert finding.evidence.endswith("when it sends")
    slowest, typical = 1 / sweep.bandwidth.slowness.max(), 1 / np.median(sweep.bandwidth.slowness)
    assert slowest < 30 and typical > 500
    assert sweep.wrong_payloads() == ([], [])
    labels, group = sweep.groups
    assert (labels, group.tolist()) == (["switch1", "switch2"], [0, 0, 1, 1])
    assert sweep.bandwidth_of_groups()[1, 0] < sweep.bandwidth_of_groups()[0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(pairs="all"), "sample"),
        (lambda d: d["nodes"].__setitem__(0, "node2"), "each once"),
        (lambda d: d["nodes"].pop(), "nodes_crc32|two of"),
        (lambda d: d["rounds"].pop(), "46 pairs with the checksum"),
        (lambda d: d["rounds"].reverse(), "round 1"),
        (lambda d: d["rounds"].clear(), "round 1"),
        (lambda d: d["rounds"][0].update(pairs=0), ">= 1"),
        (lambda d: d["alone"][0].update(to_first_MBps=0), "to_first_MBps: number > 0"),
        (lambda d: d["rounds"][0].update(pairs=3) or d["rounds"][1].update(pairs=1), "share no node"),
        (lambda d: d.update(figures_crc32=1), "checksum 1"),
        (lambda d: d.update(nodes_crc32=1), "checksum of the nodes in their order"),
        (lambda d: d["alone"][0].update(wrong_messages=10**6), "at most as many"),
        (lambda d: d["alone"].pop(), "each pair once"),
        (lambda d: d["collectives"].pop(), "as many as operations"),
    ],
)
def test_what_contradicts_is_an_error(text, figures, change, message):
    document = json.loads(text)
    change(document)
    with pytest.raises(ParseError, match=message):
        pair_sweep.read_samples(json.dumps(document, indent=1) + "\n", figures)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("first", 3, "the smaller first"), ("second", 4, "two of 4 nodes"), ("latency_us", 0, "latency_us above 0"),
        ("to_first_mbps", np.inf, "to_first_mbps above 0"), ("wrong_messages", 10**6, "wrong messages"),
    ],
)  # fmt: skip
def test_a_pair_that_cannot_be_is_an_error(text, figures, field, value, message):
    pairs = np.frombuffer(figures, dtype=pair_sweep.PAIR).copy()
    pairs[field][1] = value
    document = json.loads(text) | {"figures_crc32": zlib.crc32(pairs.tobytes())}
    with pytest.raises(ParseError, match=message):
        pair_sweep.read_samples(json.dumps(document) + "\n", pairs.tobytes())


def test_damage_of_any_byte_is_seen(text, figures):
    for place in range(0, len(figures), 37):
        damaged = bytearray(figures)
        damaged[place] ^= 1
        with pytest.raises(ParseError, match="checksum"):
            pair_sweep.read_samples(text, bytes(damaged))
    with pytest.raises(ParseError, match="checksum"):
        pair_sweep.read_samples(text, figures[:-1])


def test_wrong_messages_and_losses_name_who_is_to_blame(text, figures):
    pairs = np.frombuffer(figures, dtype=pair_sweep.PAIR).copy()
    of_node4 = (pairs["first"] == 3) | (pairs["second"] == 3)
    pairs["wrong_messages"][of_node4] = 1
    pairs["lost"][of_node4] = pairs["sent"][of_node4] // 50
    document = json.loads(text) | {"figures_crc32": zlib.crc32(pairs.tobytes())}
    samples = pair_sweep.read_samples(json.dumps(document) + "\n", pairs.tobytes())
    sweep = SampledSweep(samples, SWITCH_OF, least_slowdown=2.0, least_loss=0.005)
    wrong, [blamed] = sweep.wrong_payloads()
    assert "1 of" in wrong[0] and (blamed.kind, blamed.name, blamed.score) == ("node", "node4", of_node4.sum())
    lossy = next(finding for finding in sweep.findings() if finding.quantity == "packet loss")
    assert (lossy.name, lossy.evidence) == ("node4", "2.00 % with 3 of 3 nodes")
