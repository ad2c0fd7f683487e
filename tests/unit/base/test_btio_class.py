"""BT-IO's class is one for all scales, or the site's for each."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ReframeError

from reframe_checks.storage.btio import CLASSES, BtIo
from tests.stand_in import StandIn


def chosen(problem_class, scale, most_gib=0):
    partition = SimpleNamespace(fullname="site:cpu")
    check = StandIn(
        BtIo, problem_class=problem_class, scale=scale, check_class="BtIo", current_partition=partition,
        most_gib=most_gib, repeats=3, subtype="full",
    )  # fmt: skip
    check.choose_class()
    return check.problem_class


def test_a_class_for_all_scales_or_for_each():
    assert chosen("W", "two_nodes") == "W"
    assert chosen({"one_node": "C", "two_nodes": "D"}, "two_nodes") == "D"


def test_a_scale_without_a_class_is_named():
    with pytest.raises(ReframeError, match=r"site:cpu: .* must give extras/tuning/BtIo/problem_class/whole_partition"):
        chosen({"one_node": "C"}, "whole_partition")


@pytest.mark.parametrize(("most_gib", "found"), [(0, "D"), (1000, "D"), (24, "C"), (19, "B"), (1, "W")])
def test_a_class_that_writes_more_than_it_may_gives_way(most_gib, found):
    assert chosen("D", "one_node", most_gib) == found


def test_no_class_grows_and_an_unknown_one_is_named():
    assert chosen("W", "one_node", 1000) == "W"
    with pytest.raises(ReframeError, match="problem_class: expected one of S, W, A, B, C, D, E, found 'X'"):
        chosen("X", "one_node")


def test_bytes_and_operations_of_a_class_are_those_that_npb_prints():
    """Class W on four ranks: 22.12 MB, and 0.72 s at 10764.98 Mop/s (tests/data/btio/full_four_ranks.txt)."""
    assert CLASSES["W"].written_bytes == pytest.approx(22.12e6, rel=1e-3)
    assert CLASSES["W"].gflop == pytest.approx(0.72 * 10.76498, rel=0.01)
