"""The nodes that records of ``kappa-node exchange`` give evidence against."""

from kappa.node.watch.exchanged import speaking_against
from tests.unit.hangs.test_search import NODES, exchanged

TIME = "nothing moves for 8 s"


def named(*arguments):
    found = speaking_against(exchanged(*arguments))
    return [(one["node"], one.get("peer")) for one in found]


def test_nobody_is_named_where_all_arrives():
    assert named({}) == []


def test_a_pair_names_the_link_and_not_one_end():
    assert named({("node2", "node4"): TIME}) == [("node2", "node4")]
    assert named({("node2", "node4"): TIME, ("node4", "node2"): TIME}) in ([("node2", "node4")], [("node4", "node2")])


def test_a_node_whose_kernel_does_not_send_is_named_alone():
    assert named({("node2", "node4"): TIME}, [("node2", "node4")]) == [("node2", None)]


def test_a_refusal_without_a_failure_names_nobody():
    """As where a site lets no datagrams through."""
    assert named({}, [("node2", "node4")]) == []


def test_a_node_that_most_cannot_reach_is_named():
    assert named({(node, "node3"): TIME for node in NODES if node != "node3"}) == [("node3", None)]


def test_a_network_that_carries_nothing_names_nobody():
    assert named({(node, peer): TIME for node in NODES for peer in NODES if node != peer}) == []


def test_who_answers_for_another_is_named_whatever_else_fails():
    told = exchanged({("node1", "node3"): TIME})
    told[0]["answered_by"] = "node4"
    (found,) = speaking_against(told)
    assert (found["node"], found["reason"]) == ("node4", "address")
