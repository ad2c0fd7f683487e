"""The simulation of histories, few of them; ``python -m tests.outage_simulation`` has a thousand of each."""

from scipy import stats

from reports.acceptance.outages.interrupt_statistics import demonstration_test
from tests.outage_simulation import LEAST_H, LENGTH_H, PROMISED_H, RISK, bursts, simulate, steady
from tests.tiers import few_or_many


def test_the_simulated_contract_has_the_test_of_thirty_days():
    test = demonstration_test(PROMISED_H, LEAST_H, RISK, RISK)
    assert test.allowed == 5 and abs(test.length - LENGTH_H) < 0.5


@few_or_many("count", 60, 400)
def test_as_many_err_as_both_risks_say(count):
    low, high = stats.binom.interval(0.9999, count, RISK)
    for good in (True, False):
        assert low <= simulate("steady", steady, good, count, seed=5).wrong <= high


def test_merging_keeps_a_good_machine_with_bursts():
    merged = simulate("bursts", bursts, True, 60, seed=5)
    apart = simulate("bursts", bursts, True, 60, seed=5, merge_s=0)
    assert merged.wrong < apart.wrong
