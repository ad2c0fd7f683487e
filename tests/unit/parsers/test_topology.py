import pytest

from reframe_checks.parsers import slurm
from reframe_checks.parsers.slurm import leaf_switches, leaves_of
from reframe_checks.parsers.text import ParseError


def test_scontrol_gives_the_leaf_and_not_the_spine(recorded):
    found = leaf_switches(recorded("topology/scontrol_three_leaves.txt"))
    assert found == {f"node{number}": f"leaf{(number + 2) // 3}" for number in range(1, 9)}


def test_topology_conf_of_the_manual(recorded):
    found = leaf_switches(recorded("topology/topology_conf.txt"))
    assert len(found) == 18
    assert (found["dev0"], found["dev6"], found["dev17"]) == ("s0", "s1", "s2")


def test_a_leaf_without_nodes_is_none_of_any_node(recorded):
    assert leaf_switches(recorded("topology/composed_emptied_leaf.txt")) == {"node1": "leaf1", "node2": "leaf1"}
    assert leaf_switches("BlockName=b0 BlockIndex=0 Nodes= BlockSize=4\n") == {}


def test_a_block_is_a_leaf_and_a_block_of_blocks_is_none(recorded):
    found = leaf_switches(recorded("topology/composed_blocks.txt"))
    assert found == {f"node{number}": f"block{(number + 3) // 4}" for number in range(1, 9)}


def test_sizes_of_blocks_are_no_block():
    assert leaf_switches("BlockName=b1 Nodes=n[1-2]\nBlockSizes=2,4\n") == {"n1": "b1", "n2": "b1"}


@pytest.mark.parametrize("text", ["", "\n"])
def test_no_topology_is_no_switch(text):
    assert leaf_switches(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm_load_topology: error\n", "SwitchName=NAME"),
        ("SwitchName=s0\n", "with Nodes=LIST"),
        ("BlockName=b0 BlockIndex=0 BlockSize=4\n", "BlockName=NAME Nodes=LIST"),
        ("SwitchName=s0 Nodes=n[1-\n", "a list of 1 to 100,000 nodes"),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n1\n", "n1 is also on s0"),
        ("SwitchName=s0 Nodes=n1", "cut off"),
        ("SwitchName=s0 Level=0 Node n1 Nodes=n1\n", "KEY=VALUE"),
        ("SwitchName=s0 Nodes=n1 Nodes=n2\n", "each key once"),
        ("SwitchName=s0 BlockName=b0 Nodes=n1\n", "SwitchName=NAME"),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s0 Nodes=n1\n", "line 2: expected s0 once"),
        ("SwitchName=s0 Nodes=node[1-999999999]\n", "line 1: expected a list of 1 to 100,000 nodes"),
        ("SwitchName=s0 Nodes=n[1-[2-3]]\n", "line 1: expected a list of 1 to"),
        ("SwitchName=s9 Switches=s[1-999999999]\n", "a list of 1 to 100,000 nodes"),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s9 Switches=s[0-1]\n", "line 2: expected a line that describes s1, too"),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s9 Nodes=n[1-2] Switches=s0\n", "the nodes of s0, no others; n2 is"),
    ],
)
def test_anything_else_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        leaf_switches(text)


def test_the_names_of_all_lines_together_are_bounded(monkeypatch):
    monkeypatch.setattr(slurm, "MAX_LISTED", 5)
    with pytest.raises(ParseError, match="line 2: expected at most 5 names"):
        leaf_switches("SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=m[1-3]\n")


@pytest.mark.parametrize("text", ["", "SwitchName=s0 Nodes=n1\n"])
def test_a_node_without_a_leaf_is_named(text):
    with pytest.raises(ParseError, match="expected a leaf switch with n2"):
        leaves_of(text, ["n2"])
