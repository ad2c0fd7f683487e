"""Evidence that adds up over nights, by seeded simulation; ``python -m tests.power`` has the curves."""

import numpy as np
import pytest

from reports.history.adding_up import find_adding_up, likeness, nights_of, scores, sum_limit
from reports.history.judgement import judge_series
from tests.power import DAY_S, Plan, measured, share_found

FALSE_ALARMS = 0.001


def series(rng, nights=60, repeats=1, shift=0.0, slow_nights=5):
    """Standard normal values and their nights, the last ``slow_nights`` worse (lower) by ``shift``."""
    night = np.repeat(np.arange(nights), repeats)
    return rng.standard_normal(len(night)) - shift * (night >= nights - slow_nights), night


def test_five_per_cent_slower_at_a_spread_of_three_is_found_within_five_nights():
    """In 98 % with three repeats and 180 values before; fewer than 53 of 60 have a probability below 0.001."""
    assert share_found(Plan(values=180, repeats=3), 0.05, 5, trials=60)[-1] >= 53 / 60


def test_repeats_add_up():
    one, three = (share_found(Plan(values=60, repeats=repeats), 0.05, 5, trials=40)[-1] for repeats in (1, 3))
    assert one < 0.7
    assert three > 0.8


@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy", "standard_exponential"])
def test_false_alarms_keep_to_their_rate_whatever_the_distribution(draw):
    """2,000 nights at 1 % for a new alarm, which lasts two or three nights: 4 % in all is twice that."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(2000):
        values = getattr(rng, draw)(67)
        alarms += bool(find_adding_up(100 + values, np.arange(67), -1, 0.01))
    assert alarms <= 80


def test_scores_are_of_ranks():
    """No transformation that keeps the order changes them."""
    values = np.random.default_rng(1).standard_normal(50)
    assert scores(np.exp(values[40:]), np.exp(values[:40])) == pytest.approx(scores(values[40:], values[:40]))


def test_repeats_that_are_alike_count_as_one():
    rng = np.random.default_rng(1)
    nights = np.repeat(np.arange(40), 3)
    together = np.repeat(rng.standard_normal(40), 3) + 0.01 * rng.standard_normal(120)
    assert likeness(together, nights) == pytest.approx(3**0.5, abs=0.15)
    assert likeness(rng.standard_normal(120), nights) == 1


def test_what_is_better_is_no_finding_where_one_way_is_worse():
    values, nights = series(np.random.default_rng(1), shift=-3)
    assert not find_adding_up(100 + values, nights, -1, FALSE_ALARMS)
    assert find_adding_up(100 + 2 * values, nights, 0, FALSE_ALARMS)


def test_it_begins_where_it_began():
    values, nights = series(np.random.default_rng(1), nights=100, repeats=3, shift=3)
    (found,) = find_adding_up(100 + 2 * values, nights, -1, FALSE_ALARMS)
    assert abs(found.at - 285) <= 2
    assert (found.before, found.after) == pytest.approx((100, 94), abs=1)


def test_few_values_before_say_nothing():
    values, nights = series(np.random.default_rng(1), nights=26, shift=9)
    assert not find_adding_up(100 + values, nights, -1, FALSE_ALARMS)


def test_a_level_that_few_values_know_takes_more():
    assert sum_limit(20, 0.001) > sum_limit(60, 0.001) > sum_limit(500, 0.001)
    assert sum_limit(60, 0.0001) > sum_limit(60, 0.001)


def test_a_night_ends_half_a_day_after_it_began():
    assert nights_of(np.array([0, 3600, 11 * 3600, DAY_S, DAY_S + 60, 3 * DAY_S])).tolist() == [0, 0, 0, 1, 1, 2]


def test_one_of_three_repeats_that_stands_out_is_no_finding():
    """The two others measured the same again; where all stand out, it is one."""
    (healthy,) = measured(Plan(), np.random.default_rng(1), 1)
    once, always = healthy.values.copy(), healthy.values.copy()
    once[-1] *= 0.7
    always[-3:] *= 0.7
    assert not judge_series(once, FALSE_ALARMS, -1, times=healthy.times).worse(-1)
    assert judge_series(always, FALSE_ALARMS, -1, times=healthy.times).worse(-1)
