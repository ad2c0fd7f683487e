import pytest

from kappa.core.ground.errors import InputError
from kappa.core.vocabulary.node_states import nodes_of_partitions
from reframe_checks.parsers import slurm
from reframe_checks.parsers.text import ParseError


def test_states_flags_and_reasons(recorded):
    nodes = {node.name: node for node in slurm.node_states(recorded("sinfo/composed_four_nodes.txt"))}
    assert [node.usable for node in nodes.values()] == [True, False, True, False]
    assert nodes["node2"].flags == "*"
    assert nodes["node4"].reason == "bad DIMM | see ticket"


def test_a_node_that_does_not_respond_is_not_usable():
    assert not slurm.node_states("node1|idle*|none\n")[0].usable


def test_every_state_of_any_version_is_known(recorded):
    nodes = slurm.node_states(recorded("sinfo/composed_all_states.txt"))
    assert {node.state for node in nodes if node.usable} == {
        "idle", "mixed", "allocated", "completing", "planned", "reserved", "blocked", "cloud", "dynamic_future",
        "dynamic_norm", "power_down", "power_up", "powered_down", "powering_down", "powering_up", "cancel_reboot",
        "resume", "undrain",
    }  # fmt: skip
    assert {node.flags for node in nodes} == {"", *"*~#!%$@^-+"}
    assert not any(node.condition.unknown for node in nodes)


def test_an_unknown_state_marks_its_node_and_no_other():
    first, second = slurm.node_states("node1|happy*|none\nnode2|idle|none\n")
    assert (first.state, first.flags, first.usable, first.condition.unknown) == ("happy", "*", False, ("happy",))
    assert second.usable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output, found none"),
        ("slurm_load_partitions: Unable to contact slurm controller\n", "line 1: expected NODE"),
        ("node1|idle|none\nnode1|idle|none\n", "line 2: expected one line for node1"),
        ("node1|id\n", "line 1: expected NODE"),
        ("node1|idle|none\nnode2|idle|no", "line 2: expected a line end: the output is cut off"),
        ("node1||none\n", "line 1: expected NODE"),
    ],
)
def test_damaged_output_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        slurm.node_states(text)


def test_the_nodes_of_every_partition(recorded):
    lines = nodes_of_partitions(recorded("sinfo/four_nodes_of_three_partitions.txt"))
    assert sorted((partition, node.name) for partition, node in lines) == [
        *(("cpu", f"node{number}") for number in (1, 2)),
        *(("gpu", f"node{number}") for number in (3, 4)),
        *(("scratch", f"node{number}") for number in (1, 2, 3, 4)),
    ]
    drained = next(node for partition, node in lines if (partition, node.name) == ("cpu", "node2"))
    assert (drained.state, drained.flags, drained.usable) == ("drained", "$", False)
    assert "triad | 2.0 times slower" in drained.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node1|idle|none\n", "line 1: expected PARTITION"),
        ("a b|node1|idle|none\n", "line 1: expected PARTITION"),
        ("cpu|node1|idle|none\ncpu|node1|idle|none\n", "line 2: expected one line for node1 in cpu"),
        ("cpu|node1|idle|none\ngpu|node1|drained|fan\n", "line 2: expected node1 in the same state"),
    ],
)
def test_damaged_output_of_all_is_an_error(text, message):
    with pytest.raises(InputError, match=message):
        nodes_of_partitions(text)
