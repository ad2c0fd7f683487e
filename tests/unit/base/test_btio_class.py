"""BT-IO's class is one for all scales, or the site's for each."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ReframeError

from reframe_checks.storage.btio import BtIo


def chosen(problem_class, scale):
    partition = SimpleNamespace(fullname="site:cpu")
    check = SimpleNamespace(
        problem_class=problem_class, scale=scale, check_class="BtIo", current_partition=partition,
        stated=lambda key, value: BtIo.stated(check, key, value),
    )  # fmt: skip
    BtIo.choose_class(check)
    return check.problem_class


def test_a_class_for_all_scales_or_for_each():
    assert chosen("W", "two_nodes") == "W"
    assert chosen({"one_node": "C", "two_nodes": "D"}, "two_nodes") == "D"


def test_a_scale_without_a_class_is_named():
    with pytest.raises(ReframeError, match=r"site:cpu: .* must give extras/tuning/BtIo/problem_class/whole_partition"):
        chosen({"one_node": "C"}, "whole_partition")
