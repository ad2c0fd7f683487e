"""The pairs of a sweep that count as across switches, and the result without a topology."""

from reframe_checks.network.pair_sweep import PairSweep
from tests.stand_in import StandIn

NODES = ["n1", "n2", "n3", "n4"]
METRIC = "bandwidth_across_switches"


def noted(switch_of):
    check = StandIn(PairSweep, switch_of=switch_of, perf_variables={METRIC: None})
    check.note_switches(NODES)
    return check


def pairs(mask):
    return {(NODES[i], NODES[j]) for i in range(4) for j in range(i) if mask[i, j]}


def test_pairs_on_one_switch_and_on_two():
    check = noted({"n1": "a", "n2": "a", "n3": "b", "n4": "b"})
    assert pairs(check.within) == {("n2", "n1"), ("n4", "n3")}
    assert pairs(check.across) == {("n3", "n1"), ("n3", "n2"), ("n4", "n1"), ("n4", "n2")}
    assert METRIC in check.perf_variables


def test_nodes_that_the_topology_lacks_are_in_no_pair():
    check = noted({"n1": "a", "n2": "a", "n3": "b"})
    assert pairs(check.within) == {("n2", "n1")}
    assert pairs(check.across) == {("n3", "n1"), ("n3", "n2")}


def test_without_two_switches_there_is_no_such_metric():
    assert METRIC not in noted({}).perf_variables
    assert METRIC not in noted(dict.fromkeys(NODES, "a")).perf_variables


def test_with_one_node_on_each_switch_there_is_no_such_metric():
    assert METRIC not in noted({node: f"switch of {node}" for node in NODES}).perf_variables
