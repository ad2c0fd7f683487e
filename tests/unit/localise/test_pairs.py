"""Planted faults are named, and nothing else."""

import time

import numpy as np
import pytest

from reframe_checks.localise.pairs import clear_pairs, fit, one_direction, suspects_of_pairs
from tests.unit.localise.simulated import Cluster


def named(cluster, least_slowdown=1.2):
    found = suspects_of_pairs(
        "latency", cluster.nodes, cluster.slowness, least_slowdown=least_slowdown, switch_of=cluster.switch_of
    )
    return [(finding.kind, finding.name) for finding in found]


def test_a_thousand_nodes_with_every_kind_of_fault(capsys):
    cluster = Cluster(1000, seed=1)
    cluster.slow_node(500, 2.0)
    cluster.slow_node(17, 1.4)
    cluster.slow_node(777, 1.3)
    cluster.slow_link(40, 41, 2.0)
    cluster.slow_link(3, 900, 1.5)
    cluster.slow_switch(7, 1.5)
    cluster.slow_uplink(30, 1.6)
    cluster.lose(5, 6)
    start = time.perf_counter()
    found = suspects_of_pairs(
        "latency", cluster.nodes, cluster.slowness, least_slowdown=1.2, switch_of=cluster.switch_of
    )
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\n1000 nodes, 499500 pairs: solved in {seconds:.2f} s")
        for finding in found:
            score = "" if finding.score is None else f"{finding.score:.1f}"
            print(f"{score:>8}  {finding.kind} {finding.name}: {finding.evidence}")
    assert (found[0].name, found[0].evidence) == ("n0005-n0006", "not measured")
    assert {(finding.kind, finding.name) for finding in found[1:]} == {
        ("node", "n0500"), ("node", "n0017"), ("node", "n0777"), ("link", "n0040-n0041"), ("link", "n0003-n0900"),
        ("switch", "s07"), ("switch", "s30"),
    }  # fmt: skip
    evidence = {finding.name: finding.evidence for finding in found}
    assert "uplinks" in evidence["s30"]
    assert "uplinks" not in evidence["s07"]
    slowdown = {finding.name: finding.slowdown for finding in found}
    assert slowdown["n0500"] == pytest.approx(2.0, rel=0.02)
    assert slowdown["s07"] == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("nodes", [3, 4, 8, 60])
def test_healthy_nodes_are_not_named(nodes):
    # At most one name in a hundred runs is expected; a slowdown has to be there as well.
    wrong = sum(bool(named(Cluster(nodes, seed))) for seed in range(50))
    assert wrong <= 2


@pytest.mark.parametrize("nodes", [4, 5, 8, 60])
def test_one_slow_node_is_a_node_and_one_slow_link_a_link(nodes):
    for seed in range(10):
        of_node, of_link = Cluster(nodes, seed), Cluster(nodes, seed)
        of_node.slow_node(1, 2.0)
        of_link.slow_link(1, 2, 2.5)
        assert named(of_node, 1.4) == [("node", "n0001")]
        assert named(of_link, 1.5) == [("link", "n0001-n0002")]


def test_one_slow_node_of_a_small_switch_is_no_switch():
    cluster = Cluster(8, seed=3, per_switch=2)
    cluster.slow_node(0, 4.0)
    assert named(cluster) == [("node", "n0000")]


def two_switches(seed, per_switch):
    return Cluster(2 * per_switch, seed, per_switch=per_switch)


@pytest.mark.parametrize("per_switch", [2, 4, 30])
@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (lambda cluster: cluster.slow_switch(1, 3.0), [("switch", "s01")]),
        # Each pair takes as long as its slower node, not as both together.
        (lambda cluster: cluster.slow_to_and_within(1, 20.0), [("switch", "s01")]),
        # The path between both counts for neither.
        (lambda cluster: cluster.slow_uplink(1, 20.0), []),
        (lambda cluster: cluster.slow_node(0, 3.0), [("node", "n0000")]),
    ],
    ids=["a switch", "the senders of a switch", "the way between both", "a node"],
)
def test_what_is_slow_with_two_switches(per_switch, plant, expected):
    for seed in range(10):
        cluster = two_switches(seed, per_switch)
        plant(cluster)
        assert named(cluster, 2.0) == expected


@pytest.mark.parametrize("per_switch", [2, 4, 30])
@pytest.mark.parametrize("other", [0, -1])
def test_one_slow_link_with_two_switches_is_a_link(per_switch, other):
    for seed in range(10):
        cluster = two_switches(seed, per_switch)
        first, second = sorted((1, other % (2 * per_switch)))
        cluster.slow_link(first, second, 5.0)
        assert named(cluster, 2.0) == [("link", f"n{first:04d}-n{second:04d}")]


@pytest.mark.parametrize("per_switch", [2, 4, 30])
def test_two_healthy_switches_are_not_named(per_switch):
    wrong = sum(bool(named(two_switches(seed, per_switch))) for seed in range(50))
    assert wrong <= 2


def test_without_topology_the_nodes_of_a_switch_are_named():
    cluster = Cluster(60, seed=4, per_switch=10)
    cluster.slow_switch(2, 2.0)
    found = suspects_of_pairs("latency", cluster.nodes, cluster.slowness, least_slowdown=1.5)
    assert {finding.name for finding in found if finding.kind == "node"} == {f"n{n:04d}" for n in range(20, 30)}


def test_a_node_that_none_reached_is_named_once():
    cluster = Cluster(8, seed=5)
    for other in (0, 1, 2, 4, 5, 6, 7):
        cluster.lose(3, other)
    assert named(cluster) == [("node", "n0003")]


def test_two_nodes_cannot_be_told_apart():
    assert named(Cluster(2, seed=6)) == []
    with pytest.raises(ValueError, match="three nodes"):
        fit(np.zeros((2, 2)))


def test_nothing_measured_names_every_node():
    found = suspects_of_pairs("latency", ["a", "b", "c"], np.full((3, 3), np.nan), least_slowdown=1.2)
    assert [finding.name for finding in found] == ["a", "b", "c"]


def test_equal_figures_have_no_effect():
    fitted = fit(np.log(np.full((5, 5), 3.0)))
    assert fitted.typical == pytest.approx(np.log(3.0))
    assert np.abs(fitted.node).max() < 1e-9


def test_slow_only_under_load_becomes_typical():
    slowness = np.array([[np.nan, 1.0, 1.2], [1.0, np.nan, 9.0], [1.2, 9.0, np.nan]])
    cleared, pairs = clear_pairs(slowness, {(1, 2): 0.5, (0, 1): 0.1}, least_slowdown=2)
    assert pairs == [(1, 2)]
    assert cleared[1, 2] == cleared[2, 1] == 1.2  # the median pair, not better
    assert cleared[0, 1] == 1.0


def test_what_is_slow_alone_stays_slow():
    slowness = np.array([[np.nan, 1.0, 1.2], [1.0, np.nan, 9.0], [1.2, 9.0, np.nan]])
    cleared, pairs = clear_pairs(slowness, {(1, 2): 8.0}, least_slowdown=2)
    assert pairs == []
    assert cleared[1, 2] == 8.0


def test_slow_direction():
    bandwidth = np.full((4, 4), 700.0)
    bandwidth[1] = 24.0
    np.fill_diagonal(bandwidth, np.nan)
    assert one_direction(bandwidth, 1, least_ratio=2) == "when it sends"
    assert one_direction(bandwidth.T, 1, least_ratio=2) == "when it receives"
    assert one_direction(bandwidth, 0, least_ratio=2) == ""
