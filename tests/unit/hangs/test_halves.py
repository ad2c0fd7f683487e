"""Search of faulty nodes if only groups of nodes can be tried."""

import random

import pytest

from kappa.node.watch.halves import not_working


class Cluster:
    """Nodes; some do not work at all, or not with any other."""

    def __init__(self, count, broken=(), only_alone=(), busy_at_first=()):
        self.nodes = [f"node{number}" for number in range(1, count + 1)]
        self.broken, self.only_alone, self.busy = {*broken}, {*only_alone}, {*busy_at_first}
        self.rounds = self.tried_groups = 0

    def tried(self, groups, patience):
        assert patience in (1, 2)
        self.rounds += 1
        self.tried_groups += len(groups)
        busy = self.busy if patience == 1 else set()
        return [
            not self.broken & {*group} and not busy & {*group} and not (len(group) > 1 and self.only_alone & {*group})
            for group in groups
        ]

    def found(self):
        return sorted(not_working(self.nodes, self.tried))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 64, 500])
def test_each_single_node_is_found(count):
    for number in random.Random(count).sample(range(1, count + 1), min(count, 12)):
        cluster = Cluster(count, broken=[f"node{number}"])
        assert cluster.found() == [f"node{number}"]
        assert cluster.rounds <= count.bit_length() + 1


def test_several_are_found_together():
    cluster = Cluster(500, broken=["node3", "node4", "node77", "node500"])
    assert cluster.found() == ["node3", "node4", "node500", "node77"]


def test_where_all_work_two_groups_are_tried_and_nobody_is_named():
    cluster = Cluster(500)
    assert (cluster.found(), cluster.rounds, cluster.tried_groups) == ([], 1, 2)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_where_none_works_nobody_is_named(count):
    cluster = Cluster(count)
    cluster.broken = {*cluster.nodes}
    assert cluster.found() == []


def test_half_of_a_large_cluster_is_no_fault_of_single_nodes():
    cluster = Cluster(500)
    cluster.broken = {*cluster.nodes[::2]}
    assert cluster.found() == []
    assert cluster.tried_groups < 150


@pytest.mark.parametrize("number", range(1, 9))
def test_a_node_that_works_alone_but_with_no_other(number):
    assert Cluster(8, only_alone=[f"node{number}"]).found() == [f"node{number}"]


def test_of_two_nodes_that_work_alone_nobody_can_be_told():
    assert Cluster(2, only_alone=["node1"]).found() == []


def test_what_works_with_more_patience_is_slow_and_not_named():
    assert Cluster(8, busy_at_first=["node3"]).found() == []
    assert Cluster(8, busy_at_first=["node3"], broken=["node6"]).found() == ["node6"]
