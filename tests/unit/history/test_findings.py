"""Seeded synthetic series: what is planted is found, what is not planted is not."""

import numpy as np
import pytest

from reports.history.findings import Kind, judge_series

FALSE_ALARMS = 0.001
SEEDS = range(20)


def noise(seed, n=60, share=0.02):
    return 100 * (1 + share * np.random.default_rng(seed).standard_normal(n))


def kinds(make):
    return [judge_series(make(seed), FALSE_ALARMS).kind for seed in SEEDS]


def test_a_step_is_found_where_it_is():
    for seed in SEEDS:
        values = noise(seed)
        values[40:] *= 0.9
        finding = judge_series(values, FALSE_ALARMS)
        assert finding.kind is Kind.STEP
        assert abs(finding.at - 40) <= 2
        assert finding.change == pytest.approx(-0.1, abs=0.02)


@pytest.mark.parametrize("nights", [2, 3, 4, 5])
def test_a_young_step_is_found_each_night(nights):
    values = noise(1)
    values[-nights:] *= 0.8
    finding = judge_series(values, FALSE_ALARMS)
    assert finding.kind is Kind.STEP
    assert abs(finding.at - (60 - nights)) <= 1


def test_a_drift_is_no_step():
    found = kinds(lambda seed: noise(seed) * np.linspace(1, 0.8, 60))
    assert found.count(Kind.DRIFT) >= 19
    assert Kind.QUIET not in found


def test_a_steady_drift_is_found_in_ten_values():
    finding = judge_series(noise(1, n=10, share=0.002) * np.linspace(1, 0.9, 10), FALSE_ALARMS)
    assert finding.kind is Kind.DRIFT


def test_a_drift_that_begins_late_is_found():
    finding = judge_series(noise(1) * np.interp(range(60), (0, 20, 59), (1, 1, 0.8)), FALSE_ALARMS)
    assert finding.kind in (Kind.DRIFT, Kind.STEP)
    assert finding.change < -0.05


def test_the_newest_value_that_stands_out_is_found():
    def make(seed):
        values = noise(seed)
        values[-1] = 70
        return values

    assert kinds(make) == [Kind.OUTLIER] * len(SEEDS)


def test_an_outlier_of_the_past_is_none_of_today():
    values = noise(1)
    values[30] = 50
    assert judge_series(values, FALSE_ALARMS).kind is Kind.QUIET


def test_two_levels_in_random_order_are_noise():
    def make(seed):
        return noise(seed, share=0.005) * np.random.default_rng(seed).choice([1, 1.3], 60)

    assert set(kinds(make)) == {Kind.BIMODAL}


@pytest.mark.parametrize("shape", ["normal", "student", "lognormal"])
def test_false_alarms_keep_to_their_rate(shape):
    """1,000 quiet series at 1 %: more than 20 alarms have a probability below 0.2 % with as many as were asked for."""
    rng = np.random.default_rng(5)
    draws = {"normal": rng.standard_normal, "student": lambda size: rng.standard_t(4, size)}.get(shape)
    values = 100 * (1 + 0.02 * draws((1000, 60))) if draws else 100 * rng.lognormal(0, 0.05, (1000, 60))
    alarms = sum(judge_series(series, 0.01).changed for series in values)
    assert alarms <= 20


# free_space_min of 24 real runs on the embedded cluster, while a node's /scratch was filled by 4 to 10 MB for each.
FILLING = (
    0.2541, 0.2490, 0.2428, 0.2346, 0.2274, 0.2192, 0.2141, 0.2059, 0.1987, 0.1946, 0.1853, 0.1771,
    0.1679, 0.1627, 0.1524, 0.1422, 0.1370, 0.1329, 0.1288, 0.1227, 0.1134, 0.1072, 0.1011, 0.0929,
)  # fmt: skip


@pytest.mark.parametrize("runs", range(8, 25))
def test_a_real_drift_is_found_early_and_stays_found(runs):
    finding = judge_series(np.array(FILLING[:runs]), FALSE_ALARMS)
    assert (finding.kind, finding.worse(-1)) == (Kind.DRIFT, True)


def test_equal_values_are_quiet():
    assert judge_series(np.full(30, 5.0), FALSE_ALARMS).kind is Kind.QUIET
    assert judge_series(np.zeros(30), FALSE_ALARMS).kind is Kind.QUIET


def test_few_values_are_not_judged():
    assert judge_series(np.array([1.0] * 6 + [9.0]), FALSE_ALARMS).kind is Kind.THIN


def test_a_sure_change_of_no_consequence_is_quiet():
    values = noise(1, share=0.001)
    values[30:] *= 0.99
    assert judge_series(values, FALSE_ALARMS).kind is Kind.QUIET


@pytest.mark.parametrize("sign, worse", [(1, False), (-1, True), (0, True)])
def test_worse_depends_on_the_metric(sign, worse):
    values = noise(1)
    values[40:] *= 0.8
    assert judge_series(values, FALSE_ALARMS).worse(sign) is worse
