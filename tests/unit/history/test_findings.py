"""Seeded synthetic series: planted changes are found, and nothing else."""

import numpy as np
import pytest

from reports.history.findings import FindingKind
from reports.history.judgement import judge_series, unsteady
from tests.tiers import long

FALSE_ALARMS = 0.001
SEEDS = range(20)


def noise(seed, n=60, share=0.02):
    return 100 * (1 + share * np.random.default_rng(seed).standard_normal(n))


def levels(seed, *parts):
    """(level, how many values) after one another, with 1 % of noise."""
    return np.concatenate([np.full(count, float(level)) for level, count in parts]) * noise(
        seed, sum(count for _, count in parts), 0.01
    ) / 100  # fmt: skip


def kinds(make):
    return [judge_series(make(seed), FALSE_ALARMS).kind for seed in SEEDS]


def test_a_step_is_found_where_it_is():
    for seed in SEEDS:
        values = noise(seed)
        values[40:] *= 0.9
        finding = judge_series(values, FALSE_ALARMS)
        assert finding.kind is FindingKind.STEP
        assert abs(finding.at - 40) <= 2
        assert finding.change == pytest.approx(-0.1, abs=0.02)


@pytest.mark.parametrize("nights", [2, 3, 4, 5])
def test_a_young_step_is_found_each_night(nights):
    values = noise(1)
    values[-nights:] *= 0.8
    finding = judge_series(values, FALSE_ALARMS)
    assert finding.kind is FindingKind.STEP
    assert abs(finding.at - (60 - nights)) <= 1


def test_a_drift_is_no_step():
    found = kinds(lambda seed: noise(seed) * np.linspace(1, 0.8, 60))
    assert found.count(FindingKind.DRIFT) >= 19
    assert FindingKind.QUIET not in found


def test_a_steady_drift_is_found_in_ten_values():
    finding = judge_series(noise(1, n=10, share=0.002) * np.linspace(1, 0.9, 10), FALSE_ALARMS)
    assert finding.kind is FindingKind.DRIFT


@pytest.mark.parametrize(
    "n, begins, share, loss", [(60, 20, 0.02, 0.2), (260, 200, 0.01, 0.15)], ids=["a third in", "after long"]
)
def test_a_drift_that_begins_late_is_a_drift_from_there(n, begins, share, loss):
    def make(seed):
        return noise(seed, n, share) * np.interp(range(n), (0, begins, n - 1), (1, 1, 1 - loss))

    found = [judge_series(make(seed), FALSE_ALARMS, -1) for seed in SEEDS]
    assert [one.kind for one in found].count(FindingKind.DRIFT) >= 19
    assert abs(np.median([one.at for one in found]) - begins) <= 4
    assert np.median([one.change for one in found]) == pytest.approx(-loss, abs=0.02)


def test_a_late_step_is_no_drift():
    assert set(kinds(lambda seed: levels(seed, (100, 200), (90, 60)))) == {FindingKind.STEP}


def test_a_step_that_drifts_back_a_little_is_still_a_step_worse():
    def make(seed):
        return np.concatenate([levels(seed, (100, 60)), levels(100 + seed, (1, 60)) * np.linspace(90, 93, 60)])

    found = [judge_series(make(seed), FALSE_ALARMS, -1) for seed in SEEDS]
    assert {(one.kind, one.at, one.worse(-1)) for one in found} == {(FindingKind.STEP, 60, True)}


@pytest.mark.parametrize("nights", range(1, 9))
@pytest.mark.parametrize(
    "earlier",
    [[(100, 100), (103, 100)], [(100, 60), (80, 15), (100, 60)], [(100, 60), (50, 40), (100, 40)]],
    ids=["after a step", "after a repair", "after a half"],
)
def test_the_newest_values_are_judged_whatever_was_before(earlier, nights):
    start = sum(count for _, count in earlier)
    for seed in SEEDS:
        finding = judge_series(levels(seed, *earlier, (50, nights)), FALSE_ALARMS, -1)
        assert finding.kind is (FindingKind.OUTLIER if nights == 1 else FindingKind.STEP)
        assert (finding.at, finding.worse(-1)) == (start, True)
        assert finding.change < -0.4


def test_the_newest_value_is_judged_after_a_drift():
    values = np.append(levels(1, (1, 60)) * np.linspace(100, 120, 60), 60)
    finding = judge_series(values, FALSE_ALARMS, -1)
    assert (finding.kind, finding.at, finding.worse(-1)) == (FindingKind.OUTLIER, 60, True)


def test_a_small_recovery_does_not_undo_a_step():
    for seed in SEEDS:
        finding = judge_series(levels(seed, (100, 60), (50, 40), (55, 40)), FALSE_ALARMS, -1)
        assert (finding.kind, finding.at, finding.worse(-1)) == (FindingKind.STEP, 60, True)
        assert finding.change == pytest.approx(-0.45, abs=0.02)


def test_a_full_recovery_undoes_a_step():
    for seed in SEEDS:
        assert not judge_series(levels(seed, (100, 60), (80, 20), (100, 60)), FALSE_ALARMS, -1).worse(-1)


def test_what_came_after_an_old_step_is_judged_without_it():
    old = levels(1, (100, 60), (80, 40))
    assert judge_series(old, FALSE_ALARMS, -1).at == 60
    assert not judge_series(old, FALSE_ALARMS, -1, since=70).changed
    finding = judge_series(np.append(old, levels(2, (40, 2))), FALSE_ALARMS, -1, since=70)
    assert (finding.kind, finding.at, finding.worse(-1)) == (FindingKind.STEP, 100, True)


def test_an_outlier_hides_no_step_from_those_who_ask_for_a_steady_sample():
    finding = unsteady(levels(1, (100, 60), (80, 40), (40, 1)), FALSE_ALARMS)
    assert finding is not None
    assert (finding.kind, finding.at) == (FindingKind.STEP, 60)


def test_the_newest_value_that_stands_out_is_found():
    def make(seed):
        values = noise(seed)
        values[-1] = 70
        return values

    assert kinds(make) == [FindingKind.OUTLIER] * len(SEEDS)


def test_an_outlier_of_the_past_is_none_of_today():
    values = noise(1)
    values[30] = 50
    assert judge_series(values, FALSE_ALARMS).kind is FindingKind.QUIET


def test_two_levels_in_random_order_are_noise():
    def make(seed):
        return noise(seed, share=0.005) * np.random.default_rng(seed).choice([1, 1.3], 60)

    assert set(kinds(make)) == {FindingKind.BIMODAL}


@pytest.mark.parametrize("shape", ["normal", "student", "lognormal"])
def test_false_alarms_keep_to_their_rate(shape):
    """1,000 quiet series at 1 %: more than 20 alarms have a probability below 0.2 % with as many as were asked for."""
    rng = np.random.default_rng(5)
    draws = {"normal": rng.standard_normal, "student": lambda size: rng.standard_t(4, size)}.get(shape)
    values = 100 * (1 + 0.02 * draws((1000, 60))) if draws else 100 * rng.lognormal(0, 0.05, (1000, 60))
    alarms = sum(judge_series(series, 0.01).changed for series in values)
    assert alarms <= 20


@pytest.mark.parametrize("share", [0.02, 0.2, *(pytest.param(share, marks=long) for share in (0.05, 0.1, 0.4))])
@pytest.mark.parametrize("shape", ["exponential", "lognormal", "constant", "uniform"])
def test_false_alarms_keep_to_their_rate_where_most_values_are_zero(shape, share):
    """300 quiet series at 1 %: more than 9 alarms have a probability below 0.2 %."""
    rng = np.random.default_rng(5)
    size = (300, 60)
    rare = {
        "exponential": rng.exponential(1, size),
        "lognormal": rng.lognormal(0, 1, size),
        "constant": np.ones(size),
        "uniform": rng.uniform(0.1, 1, size),
    }[shape]
    values = rare * (rng.random(size) < share)
    assert sum(judge_series(series, 0.01).changed for series in values) <= 9


def test_what_is_rarely_not_zero_is_found_when_it_lasts_or_is_far_out():
    values = np.zeros(60)
    values[[5, 17, 23, 31, 40, 52]] = [0.1, 0.15, 0.1, 0.12, 0.2, 0.1]
    assert not judge_series(np.append(values, 0.3), FALSE_ALARMS).changed
    assert judge_series(np.append(values, 3), FALSE_ALARMS).kind is FindingKind.OUTLIER
    assert judge_series(np.append(values, [0.3, 0.3, 0.3]), FALSE_ALARMS).kind is FindingKind.STEP


def test_the_score_of_a_series_without_noise_is_a_number_to_print():
    assert judge_series(np.append(np.zeros(60), 1), FALSE_ALARMS).z == np.inf


# free_space_min of 24 real runs on the embedded cluster, while a node's /scratch was filled by 4 to 10 MB for each.
FILLING = (
    0.2541, 0.2490, 0.2428, 0.2346, 0.2274, 0.2192, 0.2141, 0.2059, 0.1987, 0.1946, 0.1853, 0.1771,
    0.1679, 0.1627, 0.1524, 0.1422, 0.1370, 0.1329, 0.1288, 0.1227, 0.1134, 0.1072, 0.1011, 0.0929,
)  # fmt: skip


@pytest.mark.parametrize("runs", range(8, 25))
def test_a_real_drift_is_found_early_and_stays_found(runs):
    finding = judge_series(np.array(FILLING[:runs]), FALSE_ALARMS)
    assert (finding.kind, finding.worse(-1)) == (FindingKind.DRIFT, True)


def test_equal_values_are_quiet():
    assert judge_series(np.full(30, 5.0), FALSE_ALARMS).kind is FindingKind.QUIET
    assert judge_series(np.zeros(30), FALSE_ALARMS).kind is FindingKind.QUIET


def test_few_values_are_not_judged():
    assert judge_series(np.array([1.0] * 6 + [9.0]), FALSE_ALARMS).kind is FindingKind.THIN


def test_a_sure_change_of_no_consequence_is_quiet():
    values = noise(1, share=0.001)
    values[30:] *= 0.99
    assert judge_series(values, FALSE_ALARMS).kind is FindingKind.QUIET


@pytest.mark.parametrize("sign, worse", [(1, False), (-1, True), (0, True)])
def test_worse_depends_on_the_metric(sign, worse):
    values = noise(1)
    values[40:] *= 0.8
    assert judge_series(values, FALSE_ALARMS).worse(sign) is worse
