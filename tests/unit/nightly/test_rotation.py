"""The rotation keeps its promise, whatever happens to single nights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.nightly.rotation import tonight

NODES = st.sets(st.integers(1, 300).map("node{}".format), min_size=1, max_size=60)


@given(NODES, st.integers(1, 30))
def test_every_node_is_covered_in_any_n_nights_in_a_row(nodes, nights):
    last: dict[str, float] = {}
    for number in range(3 * nights):
        last |= dict.fromkeys(tonight(nodes, last, nights), number)
        if number >= nights - 1:
            assert min(last.get(node, -1) for node in nodes) > number - nights


@given(NODES, st.integers(1, 30))
def test_the_share_of_a_night_is_no_larger_than_needed(nodes, nights):
    assert len(tonight(nodes, {}, nights)) == -(-len(nodes) // nights)


@given(NODES, st.integers(2, 10), st.data())
def test_a_night_that_was_lost_delays_and_skips_no_node(nodes, nights, data):
    lost = data.draw(st.sets(st.integers(0, nights - 1), max_size=nights - 1))
    last: dict[str, float] = {}
    for number in range(nights + len(lost)):
        if number not in lost:
            last |= dict.fromkeys(tonight(nodes, last, nights), number)
    assert set(last) == nodes


def test_a_new_node_and_one_that_was_left_out_come_first():
    last = {"node1": 3.0, "node2": 1.0, "node3": 2.0}
    assert tonight(["node1", "node2", "node3", "node9"], last, 2) == ["node9", "node2"]


def test_same_results_same_plan_whatever_the_order():
    assert tonight(["b", "a", "c"], {}, 3) == tonight(["c", "b", "a"], {}, 3) == ["a"]


def test_nodes_that_are_gone_do_not_take_a_place():
    assert tonight(["node2"], {"node1": 0.0, "node2": 1.0}, 7) == ["node2"]


def test_no_nights_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        tonight(["node1"], {}, 0)
