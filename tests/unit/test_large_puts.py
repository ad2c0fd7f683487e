"""Large puts are measured on one node everywhere, between nodes only if the partition supports them."""

import pytest

from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import LARGE_PUTS
from reframe_checks.network.patterns import ParticleExchange
from tests.stand_in import StandIn


@pytest.mark.parametrize(
    ("check", "puts"),
    [("RandomRing", lambda case: case["way"] == "put"), ("ParticleExchange", lambda case: True)],
)
def test_only_puts_between_nodes_need_the_feature(check, puts):
    cases = catalogue()[check].cases
    assert {case.parameters["scale"] for case in cases} == {"one_node", "each_node", "whole_partition"}
    for case in cases:
        needed = puts(case.parameters) and case.parameters["scale"] != "one_node"
        assert (LARGE_PUTS in case.features) == needed, case.parameters


@pytest.mark.parametrize(
    ("scale", "within", "left_out"), [("one_node", "no", True), ("one_node", "yes", False), ("each_node", "no", False)]
)
def test_a_case_that_puts_nothing_is_none(scale, within, left_out):
    check = StandIn(ParticleExchange, scale=scale, within_nodes=within, valid_systems=["+patterns"])
    check.leave_out_what_puts_nothing()
    assert check.valid_systems == ([] if left_out else ["+patterns"])
