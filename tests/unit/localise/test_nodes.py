import numpy as np
import pytest

from reframe_checks.localise.finding import suspects_of_nodes


def speeds(count, seed, noise=0.03):
    values = 100 * np.exp(np.random.default_rng(seed).normal(0, noise, count))
    return {f"n{number}": float(value) for number, value in enumerate(values)}


@pytest.mark.parametrize("count", [3, 8, 1000])
def test_healthy_nodes_are_not_named(count):
    assert sum(bool(suspects_of_nodes("triad", speeds(count, seed), least_slowdown=1.1)) for seed in range(50)) <= 2


@pytest.mark.parametrize("count", [3, 8, 1000])
def test_slow_nodes_are_ranked(count):
    figures = speeds(count, seed=7) | {"slow": 70.0} | ({"slower": 50.0} if count > 3 else {})
    found = suspects_of_nodes("triad", figures, least_slowdown=1.15)
    assert [finding.name for finding in found] == (["slower", "slow"] if count > 3 else ["slow"])
    assert found[-1].slowdown == pytest.approx(100 / 70, rel=0.1)


def test_a_small_difference_of_equal_nodes_is_no_fault():
    figures = {f"n{number}": 100.0 for number in range(20)} | {"other": 95.0}
    assert suspects_of_nodes("triad", figures, least_slowdown=1.1) == []


def test_noise_is_no_fault():
    assert suspects_of_nodes("triad", speeds(20, seed=8, noise=0.5), least_slowdown=1.1) == []
