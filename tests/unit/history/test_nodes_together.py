"""A node against its equals, and all its checks together; ``python -m tests.power`` has the curves."""

from dataclasses import replace

import numpy as np
import pytest

from reports.history.adding_up import find_odd, together, with_equals
from reports.history.findings import FindingKind
from reports.history.judgement import judge_all
from tests.power import SLOW_NODE, NoFacts, Plan, blamed, false_alarms, measured, share_found

NEW_NODES = Plan(nodes=8, values=0)


def test_a_slow_node_without_a_past_is_odd_among_its_equals():
    found = judge_all(NoFacts(), measured(NEW_NODES, np.random.default_rng(1), 6, 0.1), 0.001)
    assert [(one.series.nodes, one.finding.kind) for one in found if one.worse] == [(SLOW_NODE, FindingKind.ODD)]
    assert found[0].verdict == "differs from its equals, worse"
    assert found[0].finding.change == pytest.approx(-0.1, abs=0.03)


def test_sound_nodes_are_never_quite_equal():
    """Nodes that differ by 1 % are none of them odd: of 30 x 8 at a rate of 0.001 / 3."""
    for seed in range(30):
        series = measured(Plan(nodes=8, values=0, differ=0.01), np.random.default_rng(seed), 6)
        assert blamed(series) == set()


def test_what_slows_all_nodes_makes_none_odd():
    series = measured(Plan(nodes=8, values=60), np.random.default_rng(1), 7)
    slower = [replace(one, values=np.where(np.arange(81) >= 60, 0.8, 1) * one.values) for one in series]
    assert not any(find_odd(one, equals, 0.001) for one, equals in with_equals(slower))


def test_three_equals_it_takes():
    series = measured(Plan(nodes=4, values=0), np.random.default_rng(1), 6, 0.2)
    (slow, equals), *_ = with_equals(series)
    assert find_odd(slow, equals, 0.001) is not None
    assert find_odd(slow, equals[:2], 0.001) is None


def test_equals_are_of_the_same_case_on_one_other_node():
    series = measured(Plan(nodes=3, checks=2, values=0), np.random.default_rng(1), 2)
    for one, equals in with_equals(series):
        assert {(other.case, other.metric) for other in equals} == {(one.case, one.metric)}
        assert one.nodes not in {other.nodes for other in equals} and len(equals) == 2


def test_checks_of_a_node_add_up():
    """Three checks, one repeat: 5 % slower at a spread of 3 % is found within five nights, where one check is not."""
    one, three = (share_found(Plan(checks=checks, repeats=1), 0.05, 5, trials=30)[-1] for checks in (1, 3))
    assert one < 0.7
    assert three > 0.8


def test_checks_together_are_a_series_of_relative_speed():
    series = measured(Plan(nodes=2, checks=3, repeats=2), np.random.default_rng(1), 5, 0.1)
    slow, other = together(series)
    assert (slow.nodes, slow.case, slow.metric, slow.sign) == (SLOW_NODE, "3 checks together", "relative speed", -1)
    assert len(slow.values) == 35
    assert np.median(slow.values[:30]) == pytest.approx(1, abs=0.01)
    assert np.median(slow.values[30:]) == pytest.approx(0.9, abs=0.02)
    assert np.median(other.values) == pytest.approx(1, abs=0.01)


def test_a_precise_check_counts_most():
    precise, noisy = (measured(Plan(spread=spread), np.random.default_rng(1), 0)[0] for spread in (0.001, 0.1))
    noisy = noisy.__class__(**{**vars(noisy), "check_class": "Noisy"})
    (found,) = together([precise, noisy])
    assert found.values.std() < 0.002


def test_one_check_is_not_several():
    assert not list(together(measured(Plan(), np.random.default_rng(1), 3)))


def test_a_healthy_site_has_few_false_alarms():
    """32 nodes, a month, judged at a rate of 0.1, at which a month has alarms to count: some 20 are expected. 36 have a
    probability below 0.001, and of 0.76 were there twice as many alarms. ``python -m tests.power`` counts at 0.001.
    """
    assert false_alarms(Plan(nodes=32), 30, np.random.default_rng(3), rate=0.1) < 36
