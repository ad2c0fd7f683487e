"""Power and false refusals of the judgement that a sample has two levels, over seeded samples of 20 to 60 values."""

import numpy as np
import pytest

from reports.learn.limits import RefusedError, healthy
from reports.learn.modes import two_levels
from tests.tiers import few_or_many

TRIALS = few_or_many("trials", 40, 200)
SIZES = (20, 60)


def two(apart, share=0.5):
    """A second level, so many standard deviations below and with this share of the values."""
    return lambda rng, n: 100 + rng.standard_normal(n) - apart * (rng.random(n) < share)


HEALTHY = {
    "normal": lambda rng, n: rng.normal(100, 3, n),
    "skewed to the right": lambda rng, n: 100 + 5 * rng.gamma(4, 1, n),
    "skewed to the left": lambda rng, n: 200 - 5 * rng.gamma(4, 1, n),
    "lognormal": lambda rng, n: 100 * rng.lognormal(0, 0.25, n),
    "heavy tails": lambda rng, n: 100 + 2 * rng.standard_t(5, n),
    "written with few digits": lambda rng, n: np.round(rng.normal(10, 1, n)),
}


def refused(make, n, trials):
    """The share of samples that are refused, for whatever reason."""
    count = 0
    for seed in range(trials):
        try:
            healthy(make(np.random.default_rng(seed), n))
        except RefusedError:
            count += 1
    return count / trials


@TRIALS
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shape", HEALTHY)
def test_healthy_samples_are_seldom_refused(shape, n, trials):
    assert refused(HEALTHY[shape], n, trials) <= 0.05


@TRIALS
@pytest.mark.parametrize("apart, n, least", [(4, 20, 0.3), (4, 60, 0.9), (5, 20, 0.65), (5, 60, 0.97), (8, 20, 0.9)])
def test_two_levels_of_equal_weight_are_refused(apart, n, least, trials):
    assert refused(two(apart), n, trials) >= least


@few_or_many("trials", 100, 200)
@pytest.mark.parametrize("n, least", [(20, 0.4), (60, 0.93)])
def test_a_rare_level_is_refused_once_it_has_two_values(n, least, trials):
    assert refused(two(20, 0.08), n, trials) >= least


def test_the_levels_are_named():
    low, high = two_levels(two(6)(np.random.default_rng(1), 60))
    assert (low, high) == pytest.approx((94, 100), abs=0.7)


@pytest.mark.parametrize(
    "values",
    [np.full(30, 7.0), np.repeat([100.0, 101.0], 15)],
    ids=["all equal", "too close to matter"],
)
def test_there_is_one_level(values):
    assert two_levels(values) is None


def test_two_levels_without_noise_are_two():
    assert two_levels(np.repeat([100.0, 110.0], 15)) == pytest.approx((100, 110))
