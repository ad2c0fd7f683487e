import pytest

from kappa.core.fabrics.description import find_fabric
from kappa.core.fabrics.simgrid_platform import aggregators, host_slots, tree_text
from kappa.core.ground.errors import InputError
from tests.unit.fabrics.conftest import SHIPPED, number


def test_ranks_fill_node_by_node(make):
    assert host_slots(make(), 2, 3) == ["n0", "n0", "n0", "n1", "n1", "n1"]


@pytest.mark.parametrize(
    ("nodes", "ranks", "message"),
    [(13, 1, "expected 1 to 12 nodes, found 13"), (0, 1, "found 0"), (1, 5, "expected 1 to 4 ranks per node")],
)
def test_more_ranks_than_it_holds(make, nodes, ranks, message):
    with pytest.raises(InputError, match=message):
        host_slots(make(), nodes, ranks)


@pytest.mark.parametrize("nodes", [1, 2, 5, 6, 7, 12])
def test_a_tree_of_switches_reduces_over_every_node_once(make, nodes):
    fabric = make("tree", lambda d: d.update(in_network={"level_latency_us": number(0.2)}))
    found = aggregators(fabric, nodes)
    children = [child for each in found for child in each.children]
    # All nodes, and all aggregators but the root.
    assert sorted(children) == list(range(nodes + len(found) - 1))
    assert all(child < nodes + place for place, each in enumerate(found) for child in each.children)
    levels = 1 if nodes <= 2 else 2 if nodes <= 6 else 3
    assert found[-1].host.startswith(f"s{levels}.")


def test_every_rank_of_a_node_is_a_child_of_its_switch(make):
    fabric = make("tree", lambda d: d.update(in_network={"level_latency_us": number(0.2)}))
    found = aggregators(fabric, 3, ranks_per_node=2)
    assert [each.children for each in found] == [[0, 1, 2, 3], [4, 5], [6, 7]]
    assert tree_text(found, 6) == "6: 0 1 2 3\n7: 4 5\n8: 6 7\n"


def test_the_tree_goes_around_a_lost_switch():
    fabric = find_fabric(SHIPPED, "edr-sharp")
    assert fabric.variants.degraded
    hosts = {each.host for each in aggregators(fabric, 128, "degraded")}
    assert len(hosts) == 9
    assert not hosts & set(fabric.variants.degraded.switches)


def test_a_fabric_that_reduces_nothing(make):
    with pytest.raises(InputError, match="lacks the key in_network"):
        aggregators(make(), 4)
