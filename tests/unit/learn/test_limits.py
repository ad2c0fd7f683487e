"""Limits that a sample warrants, and samples with two levels."""

import math

import numpy as np
import pytest

from reports.learn.limits import RefusedError, healthy, learn_limits, two_levels
from tests.tiers import few_or_many


def learned(values, sign, false_alarms):
    return learn_limits(healthy(values), sign, false_alarms)


def noise(seed=1, n=60, share=0.02):
    return 100 * (1 + share * np.random.default_rng(seed).standard_normal(n))


def test_the_centre_is_the_median_and_the_bounds_hold_what_was_measured():
    values = noise()
    limits = learned(values, 0, 0.001)
    assert limits.centre == np.median(values)
    assert limits.lower <= values.min() and limits.upper >= values.max()
    assert (limits.lower, limits.upper) == pytest.approx((92, 108), abs=3)


@pytest.mark.parametrize("outlier", [50, 1000])
def test_an_outlier_moves_neither_centre_nor_bounds(outlier):
    values = noise(share=0.01)
    without = learned(np.delete(values, 30), 0, 0.001)
    values[30] = outlier
    assert learned(values, 0, 0.001) == without
    assert len(healthy(values).values) == 59


def test_a_metric_of_few_digits_has_noise():
    """More than half of the values are the same: their MAD is 0."""
    values = np.array([9.0, 10.0, 10.0, 10.0, 11.0] * 12)
    limits = learned(values, 0, 0.001)
    assert (limits.lower, limits.upper) == (pytest.approx(7, abs=0.5), pytest.approx(13, abs=0.5))
    assert len(healthy(values).values) == 60


@pytest.mark.parametrize("sign, finite", [(1, (False, True)), (-1, (True, False)), (0, (True, True))])
def test_only_the_worse_side_is_bounded(sign, finite):
    limits = learned(noise(), sign, 0.001)
    assert (math.isfinite(limits.lower), math.isfinite(limits.upper)) == finite


def test_new_healthy_values_keep_to_the_bounds():
    """At a rate of 1 %, at most 2 % of 200 x 100 values are out of bounds."""
    out = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = 100 + 2 * rng.standard_normal(140)
        try:
            limits = learned(values[:40], 0, 0.01)
        except RefusedError:
            continue
        out += int(np.sum((values[40:] < limits.lower) | (values[40:] > limits.upper)))
    assert out <= 400


@pytest.mark.parametrize(
    "values, why",
    [
        (noise(n=19), "19 values, at least 20 needed"),
        (noise() * np.linspace(1, 0.8, 60), "the level drifts from"),
        (noise() * np.where(np.arange(60) < 30, 1, 0.8), "the level changed"),
        (noise(share=0.005) * np.random.default_rng(2).choice([1, 1.3], 60), "two levels"),
        (np.concatenate([np.zeros(29), [3.0]]), "at least half of the values are 0"),
        (np.where(np.arange(60) % 15, noise(), [20 + number for number in range(60)]), "4 of 60 values are outliers"),
        (np.where(np.arange(60) % 20, noise(), 50 + noise(2, share=0.005) / 100), "two levels, 51 and 9"),
        (np.random.default_rng(1).normal(100, 60, 60).clip(1), "as large as the level"),
    ],
    ids=["thin", "drift", "step", "bimodal", "zero", "outliers", "rare level", "noisy"],
)
def test_a_sample_that_is_no_reference_is_refused(values, why):
    with pytest.raises(RefusedError, match=why):
        learned(values, -1, 0.001)


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
