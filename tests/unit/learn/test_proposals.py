"""Proposed references: the patch, and what their bounds find."""

import datetime
import math

import numpy as np
import pytest
import yaml
from reframe.utility.sanity import reference_bounds

from reports.learn.limits import Limits, healthy, learn_limits
from reports.learn.proposals import Proposal, diff, sensitivity_of
from reports.learn.samples import ReferencePath
from tests.power import SHAPES, Plan, learned, share_found


@pytest.fixture
def written(tmp_path):
    """Return a function that gives ReFrame's bounds for a proposal."""
    (tmp_path / "network.yaml").write_text("Some:\n  metric: [1, null, null, us]\n", encoding="utf-8")

    def bounds(limits):
        proposal = Proposal(ReferencePath("network.yaml", ("Some", "metric")), limits, "us", "learned", 20, "")
        patch = diff(tmp_path, [proposal], datetime.date(2026, 11, 21))
        (line,) = (line for line in patch.splitlines() if line.startswith("+  metric:"))
        return reference_bounds(*yaml.safe_load(line[1:])["metric"][:3])

    return bounds


@pytest.mark.parametrize("centre", [0.0, 0.12346, 1.23449, -1.23449, 98765.4])
def test_bounds_are_rounded_outwards(written, centre):
    for reach in np.random.default_rng(1).uniform(0, 0.5, 30) * (abs(centre) or 1.0):
        limits = Limits(centre, centre - reach, centre + reach)
        lower, upper = written(limits)
        assert lower <= limits.lower and upper >= limits.upper


def test_the_largest_value_stays_within_the_bound_of_a_level_of_0(written):
    assert written(Limits(0.0, -math.inf, 0.123449)) == (-math.inf, 0.1235)


def test_a_measured_value_on_the_bound_keeps_it(written):
    """3.3 * (1 + 0.005) is less than 3.3165 in binary, for instance."""
    for share in range(60):
        highest = 33 * (1000 + share) / 10000
        assert written(Limits(3.3, -math.inf, highest))[1] >= highest


@pytest.mark.parametrize("centre", [1.23449, 1.23451, -1.23449, -1.23451])
def test_a_bound_on_the_level_is_one_that_reframe_takes(written, centre):
    """Rounding takes the value past it, and ReFrame wants no positive fraction below, and no negative above."""
    lower, upper = written(Limits(centre, centre, centre))
    assert lower <= centre <= upper


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
    return sensitivity_of(sample, limits or learn_limits(sample, sign, 0.001), 0.001, a_series, a_night)


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
