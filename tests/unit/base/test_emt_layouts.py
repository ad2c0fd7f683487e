"""Layouts of a series over ranks, and the steps that measure them."""

import pytest

from reframe_checks.application.scaled_application import (
    Layout,
    every_layout,
    filled,
    on_cores,
    over_nodes,
    stated_layouts,
)


def shown(layouts):
    return [(str(layout), layout.ranks) for layout in layouts]


def test_few_nodes_full_and_many_nodes_with_few_ranks():
    assert shown(every_layout(3, 6)) == [
        ("1x1", 1), ("1x2", 2), ("1x4", 4), ("1x6", 6),
        ("2x1", 2), ("2x2", 4), ("2x3", 6), ("2x4", 8), ("2x6", 12),
        ("3x1", 3), ("3x2", 6), ("3x4", 12), ("3x6", 18),
    ]  # fmt: skip


def test_equal_ranks_on_one_node_and_on_more_that_are_filled_in_part():
    found = over_nodes(every_layout(3, 6))
    assert {ranks: [str(one) for one in of_nodes.values()] for ranks, of_nodes in found.items()} == {
        2: ["1x2", "2x1"], 4: ["1x4", "2x2"], 6: ["1x6", "2x3", "3x2"], 12: ["2x6", "3x4"],
    }  # fmt: skip
    # Whole nodes of 20 cores are no power of two.
    assert {1: Layout(20, 20), 2: Layout(20, 10), 4: Layout(20, 5)} == over_nodes(every_layout(4, 20))[20]


def test_what_a_site_states():
    assert shown(stated_layouts(" 1x8  4x2", 4, 8)) == [("1x8", 8), ("4x2", 8)]
    assert stated_layouts("", 4, 8) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1x8 4", r"expected layouts like `1x8 4x2` .*, found '4'"),
        ("0x8", "found '0x8'"),
        ("5x8", "layout 5x8 needs more than the 4 nodes of 8 cores"),
        ("4x9", "layout 4x9 needs more than the 4 nodes of 8 cores"),
    ],
)
def test_what_no_partition_has_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        stated_layouts(text, 4, 8)


def test_nodes_are_filled_one_after_the_other():
    assert [(str(one), one.ranks) for one in filled([150, 1, 4, 6, 9, 4], 3, 4)] == [
        ("1x1", 1), ("1x4", 4), ("2x4", 6), ("3x4", 9),
    ]  # fmt: skip


def test_ranks_without_a_core_are_left_out():
    assert on_cores([Layout(2, 1), Layout(4, 2), Layout(2, 2)], 2) == [Layout(2, 1), Layout(2, 2)]
