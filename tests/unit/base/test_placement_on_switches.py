"""Required placement of a job on switches before its figures count."""

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base.scaled import PLACEMENT_FILE, TOPOLOGY_FILE
from reframe_checks.network.osu import OsuLatency
from tests.stand_in import StandIn


def require(placement, nodes, topology):
    """``require_placement`` of a job whose two ranks ran on ``nodes``, with this of ``scontrol show topology``."""
    ranks = "".join(f"rank {rank} on {node} cpus 0 end\n" for rank, node in enumerate(nodes))
    output_text = {PLACEMENT_FILE: ranks, TOPOLOGY_FILE: topology}.__getitem__
    check = StandIn(OsuLatency, placement=placement, reports_placement=True, output_text=output_text)
    check.provenance = {"nodelist": list(nodes)}
    check.require_placement()


@pytest.mark.parametrize("file", ["scontrol_three_leaves", "composed_blocks"])
@pytest.mark.parametrize(
    ("placement", "nodes"), [("same_switch", ("node1", "node3")), ("other_switch", ("node3", "node7"))]
)
def test_the_placement_that_was_asked_for(recorded, file, placement, nodes):
    require(placement, nodes, recorded(f"topology/{file}.txt"))


@pytest.mark.parametrize("file", ["scontrol_three_leaves", "composed_blocks"])
@pytest.mark.parametrize(
    ("placement", "nodes"), [("same_switch", ("node3", "node7")), ("other_switch", ("node1", "node3"))]
)
def test_another_placement_is_a_failure_that_names_both_switches(recorded, file, placement, nodes):
    first, second = nodes
    with pytest.raises(SanityError, match=rf"{placement}: expected nodes on .*, found {first} on \w+, {second} on \w+"):
        require(placement, nodes, recorded(f"topology/{file}.txt"))


@pytest.mark.parametrize("placement", ["same_switch", "other_switch"])
def test_without_a_topology_nothing_passes(placement):
    with pytest.raises(SanityError, match=rf"knows no topology.*remove the feature placement_{placement}"):
        require(placement, ("node1", "node2"), "")


def test_a_node_that_the_topology_lacks_is_named(recorded):
    with pytest.raises(SanityError, match="expected a leaf switch with node9"):
        require("other_switch", ("node1", "node9"), recorded("topology/scontrol_three_leaves.txt"))
