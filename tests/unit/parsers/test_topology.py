import pytest

from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.topology import leaf_switches


def test_scontrol_gives_the_leaf_and_not_the_spine(recorded):
    found = leaf_switches(recorded("topology/scontrol_three_leaves.txt"))
    assert found == {f"node{number}": f"leaf{(number + 2) // 3}" for number in range(1, 9)}


def test_topology_conf_of_the_manual(recorded):
    found = leaf_switches(recorded("topology/topology_conf.txt"))
    assert len(found) == 18
    assert (found["dev0"], found["dev6"], found["dev17"]) == ("s0", "s1", "s2")


@pytest.mark.parametrize("text", ["", "\n"])
def test_no_topology_is_no_switch(text):
    assert leaf_switches(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm_load_topology: error\n", "SwitchName=NAME"),
        ("SwitchName=s0\n", "with Nodes=LIST"),
        ("SwitchName=s0 Nodes=n[1-\n", "a list of nodes"),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n1\n", "n1 is also on s0"),
        ("SwitchName=s0 Nodes=n1", "cut off"),
    ],
)
def test_anything_else_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        leaf_switches(text)
