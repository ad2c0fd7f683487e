"""Nodes that lost, late, repeated or reordered packets give evidence against: recorded, and changed."""

import pytest
from msgspec.structs import replace

from reframe_checks.localise.exchange import (
    FIGURES,
    address_takers,
    matrix_of,
    suspects_of_failures,
    suspects_of_figures,
)
from reframe_checks.parsers.exchange import exchanged
from tests.unit.conftest import DATA

RECORDED = exchanged((DATA / "exchange/duplicates.jsonl").read_text(encoding="ascii"), expect_nodes=4)
NODES = ["node1", "node2", "node3", "node4"]
#: Nothing but a few segments that TCP sent again for their lateness.
HEALTHY = [replace(one, twice=0, duplicate_segments=one.retransmitted) for one in RECORDED]


def changed(change, told=HEALTHY, **values):
    """Change ``values`` in the facts of those (node, peer) for which ``change`` is true."""
    return [replace(one, **values) if change(one.node, one.peer) else one for one in told]


def named(told):
    """(name, what it is named for) by all figures."""
    found = []
    for name, (unit, figure, quantity) in FIGURES.items():
        values = matrix_of(told, NODES, figure)
        limit = 100.0 if unit == "ms" else 0.5
        found += [(one.name, name) for one in suspects_of_figures(quantity, unit, NODES, values, limit)]
    return found


def test_healthy_nodes_are_named_for_nothing():
    assert named(HEALTHY) == []


def test_a_node_that_sends_twice_is_named_for_that_alone():
    assert named(RECORDED) == [("node4", "duplicate_packets")]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"longest_outage_ms": 250.0}, "longest_outage"),
        ({"missing": 40}, "lost_packets"),
        ({"missing_long": 10}, "lost_packets"),
        ({"retransmitted": 60}, "lost_packets"),
        ({"out_of_order": 40}, "packets_out_of_order"),
        ({"reordered_segments": 40}, "packets_out_of_order"),
        ({"out_of_order_segments": 60}, "packets_out_of_order"),
        ({"slow_connects": 9}, "slow_connections"),
    ],
)
def test_a_node_is_named_for_what_happens_to_what_it_sends_or_gets(values, name):
    assert named(changed(lambda node, _: node == "node2", **values)) == [("node2", name)]
    assert named(changed(lambda _, peer: peer == "node2", **values)) == [("node2", name)]


def test_one_pair_is_a_link():
    assert named(changed(lambda *pair: pair == ("node1", "node3"), missing=40)) == [("node1-node3", "lost_packets")]


def test_a_network_that_loses_everywhere_names_nobody():
    assert named(changed(lambda *_: True, missing=40)) == []


def test_two_packets_are_chance():
    assert named(changed(lambda *_: True, missing_long=2, slow_connects=2)) == []


def failed(change, **values):
    return [one.name for one in suspects_of_failures(changed(change, failure="nothing moves for 8 s", **values), NODES)]


def test_long_messages_that_do_not_arrive_name_the_link_the_node_or_nobody():
    assert suspects_of_failures(HEALTHY, NODES) == []
    assert failed(lambda *pair: pair == ("node2", "node4")) == ["node2-node4"]
    assert failed(lambda *pair: pair == ("node2", "node4"), refused="Operation not permitted") == ["node2"]
    assert failed(lambda node, peer: "node3" in (node, peer)) == ["node3"]
    assert failed(lambda *_: True) == []


def test_who_answers_for_another_address_is_told_with_it():
    assert address_takers(HEALTHY) == {}
    told = changed(lambda _, peer: peer == "node3", answered_by="node2")
    assert address_takers(told) == {"node2": ["node3"]}
