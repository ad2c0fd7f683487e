import pytest

from reframe_checks.parsers import sinfo
from reframe_checks.parsers.errors import ParseError


def test_states_flags_and_reasons(recorded):
    nodes = {node.name: node for node in sinfo.parse(recorded("sinfo/composed_four_nodes.txt"))}
    assert [node.usable for node in nodes.values()] == [True, False, True, False]
    assert nodes["node2"].flags == "*"
    assert nodes["node4"].reason == "bad DIMM | see ticket"


def test_a_node_that_does_not_respond_is_not_usable():
    assert not sinfo.parse("node1|idle*|none\n")[0].usable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output, found none"),
        ("slurm_load_partitions: Unable to contact slurm controller\n", "line 1: expected NODE"),
        ("node1|idle|none\nnode1|idle|none\n", "line 2: expected one line for node1"),
        ("node1|id\n", "line 1: expected NODE"),
        ("node1|idle|none\nnode2|idle|no", "line 2: expected a line end: the output is cut off"),
        ("node1|happy|none\n", "a node state of Slurm, found 'happy'"),
    ],
)
def test_damaged_output_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        sinfo.parse(text)
