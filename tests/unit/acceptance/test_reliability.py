"""Reliability statistics against published figures and the worked examples of docs/acceptance.md."""

import pytest

from reports.acceptance.outages.interrupt_statistics import (
    acceptance,
    availability_interval,
    chance_of,
    demonstration_test,
    fixed_length,
    laplace_trend,
    length_of,
    mean_time,
    promise_kept,
)


def test_length_equals_the_published_example():
    """It documents 231615.79491309822 for 2500/3000 at 20 %/20 %, which is ours one interrupt earlier."""
    assert length_of(84, 2500, 0.2) == pytest.approx(231615.79491309822, rel=1e-15, abs=1e-9)
    assert 1 - acceptance(84, length_of(84, 2500, 0.2), 3000) == pytest.approx(0.2015, abs=5e-5)


def test_both_risks_are_kept_where_the_package_exceeds_one():
    test = demonstration_test(3000, 2500, 0.2, 0.2)
    assert test.allowed == 85
    assert test.length == pytest.approx(234229.8, abs=0.05)
    assert (test.buyer_risk, test.vendor_risk) == (pytest.approx(0.2), pytest.approx(0.1988, abs=5e-5))


@pytest.mark.parametrize(
    ("ratio", "allowed", "length", "vendor"),
    [(1.5, 40, 49.39, 9.65), (2, 14, 20.13, 8.68), (2.5, 8, 13.00, 8.18), (3, 5, 9.27, 9.34), (4, 3, 6.68, 8.88),
     (5, 2, 5.32, 9.25)],
)  # fmt: skip
def test_risks_of_ten_per_cent_give_the_table(ratio, allowed, length, vendor):
    test = demonstration_test(100 * ratio, 100, 0.1, 0.1)
    assert test.allowed == allowed
    assert test.length / 100 == pytest.approx(length, abs=0.006)
    assert 100 * test.vendor_risk == pytest.approx(vendor, abs=0.006)
    assert test.buyer_risk == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize("risks", [(0.05, 0.1), (0.1, 0.05), (0.2, 0.2), (0.3, 0.01)])
@pytest.mark.parametrize("ratio", [1.1, 1.7, 3, 20, 1000])
def test_one_interrupt_fewer_would_exceed_the_vendors_risk(ratio, risks):
    test = demonstration_test(ratio, 1, *risks)
    assert test.vendor_risk <= risks[1]
    if test.allowed:
        fewer = test.allowed - 1
        assert 1 - acceptance(fewer, length_of(fewer, 1, risks[0]), ratio) > risks[1]


def test_near_values_are_refused():
    with pytest.raises(ValueError, match=r"tells 1\.001 from 1"):
        demonstration_test(1.001, 1, 0.1, 0.1)


def test_thirty_days_keep_the_buyers_risk_alone():
    test = fixed_length(720, 300, 100, 0.1)
    assert test.allowed == 3
    assert (test.buyer_risk, test.vendor_risk) == (pytest.approx(0.072, abs=5e-4), pytest.approx(0.221, abs=5e-4))
    assert promise_kept(test, 0.1) == pytest.approx(413, abs=0.5)
    assert fixed_length(32 * 720, 6000, 2000, 0.1).allowed == 6
    assert fixed_length(200, 300, 100, 0.1).allowed == 0


def test_characteristic_of_thirty_days_and_five_interrupts():
    assert [round(100 * acceptance(5, 720, mtbf)) for mtbf in (60, 100, 150, 300)] == [2, 28, 65, 96]
    assert 720 / (length_of(5, 1, 0.1)) == pytest.approx(77.6, abs=0.05)
    assert acceptance(5, 720, 228.4) == pytest.approx(0.9, abs=5e-4)


def test_availability_of_five_outages():
    low, high = availability_interval(720 - 14.4, 14.4, 5)
    assert (round(100 * low, 1), round(100 * high, 1)) == (92.9, 99.5)
    assert availability_interval(720, 0, 0) is None


def test_mean_times_and_their_intervals():
    none = mean_time(720, 0)
    assert (none.value, round(none.low), none.high) == (None, 313, None)
    # Chi-square of 2 and 12 degrees of freedom: 2 * 720 / 23.337 and 2 * 720 / 3.247 (tables).
    five = mean_time(720, 5)
    assert five.value == 144
    assert five.low == pytest.approx(2 * 720 / 23.337, rel=1e-4)
    assert five.high == pytest.approx(2 * 720 / 3.247, rel=1e-3)


def test_trend_is_significant_in_either_direction():
    assert laplace_trend([1, 2, 3], 10) is None
    early, even, late = ([1, 2, 3, 4, 5], [10, 30, 50, 70, 90], [95, 96, 97, 98, 99])
    assert laplace_trend(early, 100) < -3
    assert (laplace_trend(even, 100), chance_of(0)) == (0, 1)
    assert laplace_trend(late, 100) > 3 and chance_of(3) == pytest.approx(0.0027, abs=1e-5)
