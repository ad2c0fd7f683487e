import pytest

from reframe_checks.parsers import stress_ng
from reframe_checks.parsers.errors import ParseError


def test_how_it_ended_on_each_node(recorded):
    nodes = stress_ng.parse(recorded("stress_ng/four_nodes.txt"), expect_nodes=4)
    assert sorted(nodes) == ["node1", "node2", "node3", "node4"]
    assert {told.status for told in nodes.values()} == {0}
    assert nodes["node1"].stressors == ("cpu", "vm", "matrix", "memcpy", "zlib")


def test_a_stressor_that_did_nothing_is_missing():
    assert stress_ng.parse("@stress-ng n1 3 0 \n", expect_nodes=1)["n1"].stressors == ()


@pytest.mark.parametrize(
    "text", [2 * "@stress-ng n1 0 1 cpu\n", "@stress-ng n1 0 2 cpu\n", "@stress-ng n1 256 1 cpu\n", "stress-ng\n"]
)
def test_what_contradicts_is_an_error(text):
    with pytest.raises(ParseError):
        stress_ng.parse(text, expect_nodes=1)


def test_a_node_that_says_nothing_is_an_error(recorded):
    with pytest.raises(ParseError, match="5 nodes"):
        stress_ng.parse(recorded("stress_ng/four_nodes.txt"), expect_nodes=5)
