"""Statistics and intervals against published and simulated values."""

import random

import pytest

from kappa.core.ground.order_statistics import Statistic, interval_of, value_of

MEDIAN = Statistic("median")


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (MEDIAN, 3.5),
        (Statistic("minimum"), 1),
        (Statistic("maximum"), 6),
        (Statistic("percentile", percentile=25), 2),
        (Statistic("percentile", percentile=99), 6),
        (Statistic("every_node", nodes=2), 1),
    ],
)
def test_values(statistic, expected):
    assert value_of(statistic, [4, 6, 1, 3, 2, 5], at_least=True) == expected


def test_the_worst_of_every_node_depends_on_the_side():
    assert value_of(Statistic("every_node", nodes=2), [1, 9], at_least=False) == 9


@pytest.mark.parametrize(
    ("count", "low", "high", "words"),
    [
        # Conover 1999, table of the binomial distribution: 97.85 % between the 2nd and 9th of 10.
        (10, 2, 9, "97.9 %"),
        (6, 1, 6, "96.9 %"),
        (3, 1, 3, "75 %"),
        (20, 6, 15, "95.9 %"),
    ],
)
def test_interval_of_the_median(count, low, high, words):
    found = interval_of(MEDIAN, [float(number) for number in range(1, count + 1)])
    assert (found.low, found.high) == (low, high)
    assert words in found.method


def test_the_interval_covers_as_often_as_it_says():
    draw = random.Random(7)
    hits = 0
    for _ in range(1000):
        found = interval_of(Statistic("percentile", percentile=75), [draw.expovariate(1) for _ in range(15)])
        hits += found.low <= 1.3862943611198906 <= found.high
    assert hits > 930


def test_a_thousand_samples():
    found = interval_of(MEDIAN, [float(number) for number in range(1000)])
    assert (found.low, found.high) == pytest.approx((468, 530), abs=2)


def test_extremes_state_what_share_of_runs_they_bound():
    # Wilks 1941: 59 samples for 95 % of all runs with 95 % confidence.
    assert "at least 95 %" in interval_of(Statistic("minimum"), [1.0] * 59).method
    assert "at least 94 %" in interval_of(Statistic("minimum"), [1.0] * 58).method
    assert interval_of(Statistic("maximum"), [1.0]).low is None


def test_one_sample_gives_no_interval():
    assert interval_of(MEDIAN, [3.0]).low is None
