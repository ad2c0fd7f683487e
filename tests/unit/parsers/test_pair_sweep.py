import json

import pytest

from reframe_checks.parsers import pair_sweep
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("pair_sweep/eight_nodes_limited.json")


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, indent=1) + "\n"


def test_figures_of_every_pair(text):
    sweep = pair_sweep.parse(text)
    assert sweep.nodes == tuple(f"node{number}" for number in range(1, 9))
    assert (sweep.ranks_per_node, sweep.latency_bytes, sweep.bandwidth_bytes) == (1, 8, 1 << 20)
    assert len(sweep.round_seconds) == 7
    assert sweep.not_measured == []
    # node5 sends through a limit of 200 Mbit/s.
    assert all(value < 25 for value in sweep.bandwidth_mbps[4] if value is not None)
    assert sweep.bandwidth_mbps[0][4] > 300
    assert {"node5"} < {node for alone in sweep.alone for node in alone.pair}


def test_packets_of_every_pair(recorded):
    # node5 drops 2 % of what arrives.
    packets = {
        packet.pair: packet for packet in pair_sweep.parse(recorded("pair_sweep/eight_nodes_lossy.json")).packets
    }
    assert len(packets) == 28
    assert (packets[3, 4].sent, packets[3, 4].lost) == (119877, 1597)
    assert (packets[1, 6].sent, packets[1, 6].lost) == (120763, 23)


def test_every_message_was_compared(text):
    sweep = pair_sweep.parse(text)
    assert len(sweep.payloads) == 28
    # Round trips, and the windows of both directions.
    assert all(payloads.messages > 1000 and payloads.wrong == 0 for payloads in sweep.payloads)
    assert {each.operation: each.wrong_blocks for each in sweep.collectives} == dict.fromkeys(
        ("broadcast", "all-gather", "all-to-all", "all-reduce"), ()
    )


def test_a_missing_figure_names_its_pair(text):
    sweep = pair_sweep.parse(changed(text, lambda document: document["bandwidth_MBps"][2].__setitem__(6, None)))
    assert sweep.not_measured == [("node3", "node7")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="other"), "kappa-pair-sweep"),
        (lambda d: d["nodes"].__setitem__(0, "node2"), "each once"),
        (lambda d: d["nodes"].pop(), "7 lists of 7 numbers"),
        (lambda d: d["latency_us"][0].__setitem__(1, 99), "same latency"),
        (lambda d: d["latency_us"][0].__setitem__(0, 99), "null on the diagonal"),
        (lambda d: d["bandwidth_MBps"][0].__setitem__(1, -1), "above 0"),
        (lambda d: d["bandwidth_MBps"][0].__setitem__(1, True), "above 0"),
        (lambda d: d["bandwidth_MBps"].reverse(), "null on the diagonal"),
        (lambda d: d["rounds"].pop(), "every pair of nodes once"),
        (lambda d: d["rounds"].reverse(), "round 1"),
        (lambda d: d["rounds"][0]["pairs"].__setitem__(0, [0, 1]), "no node|once"),
        (lambda d: d["rounds"][0]["pairs"].__setitem__(0, [1, 0]), "the smaller first"),
        (lambda d: d["rounds"][0]["packets_lost"].pop(), "a number for each pair"),
        (lambda d: d["rounds"][0]["packets_sent"].__setitem__(0, -1), "none negative"),
        (lambda d: d["rounds"][0]["wrong_messages"].__setitem__(0, 10**6), "at most as many"),
        (lambda d: d["rounds"][0]["messages"].pop(), "a number for each pair"),
        (lambda d: d["collectives"].pop(), "as many as operations"),
        (lambda d: d["collectives"][0].update(operation="all-reduce"), "each once"),
        (lambda d: d["collectives"][0].update(from_to=[[0, 8]]), "integers below 8"),
        (lambda d: d["collectives"][0].update(from_to=[[0, 1]]), "as many as wrong_blocks"),
        (lambda d: d["alone"][0].update(second="node9"), "two of the nodes"),
        (lambda d: d["alone"].append(d["alone"][0]), "each pair once"),
        (lambda d: d["alone"].pop(), "as many pairs"),
        (lambda d: d["alone"][0].update(latency_us=None), "latency_us"),
    ],
)
def test_what_contradicts_is_an_error(text, change, message):
    with pytest.raises(ParseError, match=message):
        pair_sweep.parse(changed(text, change))
