"""The rotation measures every node in time, also after lost nights and nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappa.core.vocabulary.scales import shares
from reports.nightly.rotation import tonight

NODES = st.sets(st.integers(1, 300).map("node{}".format), min_size=1, max_size=60)


def rotate(nodes, nights, count, comes_to_a_result):
    """The turns of ``count`` nights, and when each node had its last turn and was covered last."""
    turns, turn, covered = [], {}, {}
    for number in range(count):
        tonights = tonight(nodes, turn, covered, nights)
        turns.append(set(tonights))
        turn |= dict.fromkeys(tonights, number)
        covered |= {node: number for node in tonights if comes_to_a_result(number, node)}
    return turns, turn, covered


@given(NODES, st.integers(1, 30))
def test_every_node_is_covered_in_any_n_nights_in_a_row(nodes, nights):
    turns, _, covered = rotate(nodes, nights, 3 * nights, lambda number, node: True)
    assert set(covered) == nodes
    for first in range(2 * nights + 1):
        assert set().union(*turns[first : first + nights]) == nodes


@given(NODES, st.integers(1, 12), st.randoms(use_true_random=False))
def test_every_node_has_a_turn_in_any_n_nights_whatever_comes_of_it(nodes, nights, chance):
    never = set(chance.sample(sorted(nodes), chance.randint(0, len(nodes))))
    turns, _, _ = rotate(nodes, nights, 4 * nights, lambda number, node: node not in never and chance.random() < 0.7)
    for first in range(3 * nights + 1):
        assert set().union(*turns[first : first + nights]) == nodes


@given(NODES, st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_night_has_its_share_and_as_many_again_at_most(nodes, nights, chance):
    share = -(-len(nodes) // nights)
    assert len(tonight(nodes, {}, {}, nights)) == share
    turns, _, _ = rotate(nodes, nights, 2 * nights, lambda number, node: chance.random() < 0.5)
    assert all(share <= len(turn) <= 2 * share for turn in turns)


@given(NODES, st.integers(2, 10), st.data())
def test_a_night_that_was_lost_delays_and_skips_no_node(nodes, nights, data):
    lost = data.draw(st.sets(st.integers(0, nights - 1), max_size=nights - 1))
    _, _, covered = rotate(nodes, nights, nights + len(lost), lambda number, node: number not in lost)
    assert set(covered) == nodes


def test_what_the_night_before_left_out_has_another_turn_tonight():
    last_turn = {"node1": 3.0, "node2": 2.0, "node3": 1.0}
    assert tonight(["node1", "node2", "node3"], last_turn, {**last_turn, "node1": 0.0}, 3) == ["node3", "node1"]


def test_a_new_node_comes_first():
    last = {"node1": 3.0, "node2": 1.0, "node3": 2.0}
    assert tonight(["node1", "node2", "node3", "node9"], last, last, 2) == ["node9", "node2"]


def test_same_results_same_plan_whatever_the_order():
    assert tonight(["b", "a", "c"], {}, {}, 3) == tonight(["c", "b", "a"], {}, {}, 3) == ["a"]


def test_nodes_that_are_gone_do_not_take_a_place():
    last = {"node1": 0.0, "node2": 1.0}
    assert tonight(["node2"], last, last, 7) == ["node2"]


def test_no_nights_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        tonight(["node1"], {}, {}, 0)


@pytest.mark.parametrize(("count", "jobs"), [(1, [1]), (64, [64]), (65, [33, 32]), (200, [50, 50, 50, 50])])
def test_a_turn_is_shared_among_few_jobs(count, jobs):
    nodes = [f"node{number}" for number in range(count)]
    found = shares(nodes)
    assert [len(share) for share in found] == jobs
    assert sorted(node for share in found for node in share) == sorted(nodes)
