"""A bound finds what it says it finds, and heavy tails are no alarms."""

import numpy as np
import pytest

from reports.learn.limits import healthy, learn_limits
from reports.learn.sight import sight
from tests.power.bounds import learned
from tests.power.nights import SHAPES, Plan, share_found

NORMAL, T3, T2, SKEWED = SHAPES


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("values", [20, 60])
def test_what_it_says_of_a_run_is_found(shape, values):
    """By 95 % of new values on average; half of the samples of 20 are worth no more than 90 %."""
    found = learned(Plan(values=values, repeats=1, shape=shape), (), trials=30)
    assert found.kept == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("shape, most", [(NORMAL, 0.001), (T3, 0.008), (T2, 0.012), (SKEWED, 0.001)])
def test_healthy_values_with_heavy_tails_are_seldom_out_of_bounds(shape, most):
    """3 to 5 % of them were, by the MAD and Student's t."""
    assert learned(Plan(repeats=1, shape=shape), (), trials=40).false <= most


def test_what_it_says_of_a_week_is_found():
    """In 95 % at least; fewer than 34 of 40 have a probability below 0.005."""
    plan = Plan(values=180, repeats=3)
    stated = learned(plan, (), trials=20).stated_week
    assert 0.035 < stated < 0.055
    assert share_found(plan, stated, 7, trials=40)[-1] >= 34 / 40


def of(values, sign=-1, a_series=60, a_night=1.0, limits=None):
    sample = healthy(np.asarray(values, float))
    return sight(sample, limits or learn_limits(sample, sign, 0.001), 0.001, a_series, a_night)


def noise(n=60, share=0.03):
    return 100 * (1 + share * np.random.default_rng(1).standard_normal(n))


def test_more_values_and_more_repeats_see_more():
    assert of(noise(20), a_series=20).in_a_run > of(noise(200), a_series=200).in_a_run
    assert of(noise()).in_a_week > of(noise(), a_night=3.0).in_a_week
    assert of(noise(share=0.06)).in_a_run > 1.5 * of(noise()).in_a_run


def test_with_few_values_of_a_node_a_week_sees_no_more_than_a_run():
    seen = of(noise(), a_series=10)
    assert seen.in_a_week == seen.in_a_run


def test_of_two_sides_it_is_the_one_that_sees_less():
    both = of(noise(), sign=0)
    assert both.in_a_run >= max(of(noise(), sign=1).in_a_run, of(noise(), sign=-1).in_a_run)


def test_a_level_that_is_not_above_0_has_no_slow_down():
    assert of(noise() - 200, sign=0) is None
