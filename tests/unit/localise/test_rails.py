import numpy as np
import pytest

from reframe_checks.localise.parts import suspects_of_rails

EIGHT = [f"mlx5_{rail}:1" for rail in range(8)]


def figures(nodes, rails, seed=1, scatter=0.03):
    return np.exp(np.random.default_rng(seed).normal(0, scatter, (nodes, rails)))


def named(slowness, rails=EIGHT, least_slowdown=1.25):
    nodes = [f"n{number}" for number in range(len(slowness))]
    found = suspects_of_rails("bandwidth", nodes, rails, slowness, least_slowdown=least_slowdown)
    return [(finding.kind, finding.name, finding.evidence.split(" is ")[0]) for finding in found]


@pytest.mark.parametrize("rails", [2, 3, 8])
@pytest.mark.parametrize("nodes", [2, 3, 8, 512])
def test_healthy_adapters_are_not_named(nodes, rails):
    assert sum(bool(named(figures(nodes, rails, seed), EIGHT[:rails])) for seed in range(20)) <= 1


@pytest.mark.parametrize("rails", [2, 3, 8])
@pytest.mark.parametrize("nodes", [3, 4, 32, 512])
def test_one_slow_adapter_is_named_with_its_node_and_no_other(nodes, rails):
    slowness = figures(nodes, rails)
    slowness[2, 1] *= 2
    assert named(slowness, EIGHT[:rails]) == [("node", "n2", "over mlx5_1:1")]


@pytest.mark.parametrize("rails", [2, 3, 8])
@pytest.mark.parametrize("nodes", [2, 4, 32])
def test_an_adapter_that_is_slow_on_all_nodes_is_the_adapter_and_no_node(nodes, rails):
    slowness = figures(nodes, rails)
    slowness[:, 1] *= 2
    assert named(slowness, EIGHT[:rails]) == [("rail", "mlx5_1:1", "over mlx5_1:1 of all nodes")]


@pytest.mark.parametrize("rails", [2, 3, 8])
def test_a_node_that_is_slow_over_all_its_adapters_is_a_slow_node(rails):
    slowness = figures(16, rails)
    slowness[5] *= 2
    assert named(slowness, EIGHT[:rails]) == [("node", "n5", f"over its {rails} adapters")]


def test_three_faults_at_once_are_told_apart():
    slowness = figures(32, 8)
    slowness[:, 0] *= 4
    slowness[3] *= 2.5
    slowness[9, 6] *= 1.6
    found = named(slowness)
    assert sorted(found) == [
        ("node", "n3", "over its 8 adapters"), ("node", "n9", "over mlx5_6:1"),
        ("rail", "mlx5_0:1", "over mlx5_0:1 of all nodes"),
    ]  # fmt: skip
    assert found[0][1] == "mlx5_0:1"


def test_noise_is_no_fault():
    assert sum(bool(named(figures(32, 8, seed, scatter=0.3))) for seed in range(20)) <= 2


def test_adapters_that_lie_farther_from_the_cores_are_no_fault():
    slowness = figures(32, 8)
    slowness[:, 4:] *= 1.4
    assert named(slowness) == []


def test_what_was_not_measured_comes_first_and_hides_nothing():
    slowness = figures(8, 8)
    slowness[1, 7] = np.nan
    slowness[4, 2] *= 3
    assert named(slowness) == [("node", "n1", "over mlx5_7:1 was not measured"), ("node", "n4", "over mlx5_2:1")]
    slowness[:, 7] = np.nan
    assert [found[2] for found in named(slowness)].count("over mlx5_7:1 was not measured") == 8
