"""Attempts of a case: repeated, placed on nodes, and re-measured."""

import pytest

from kappa.core.record.model import OTHER_NODES, SAME_NODES
from reports.verdict.confirm import Diagnosis, diagnose, repetitions
from reports.verdict.state import State
from tests.unit.nightly.samples import pinned
from tests.unit.reports.samples import judged_again, latency

BAD, GOOD = 900.0, 9.0
BASE = {"hashcode": "1d0c36f2", "partition_size": 4, "fail_phase": "performance"}


def on(node, value, **changes):
    """The case as ``--distribute`` runs it on ``node``."""
    return pinned(latency(value=value, **BASE), node, **changes)


def alone(node, value, **changes):
    """Return the case on ``node`` as if it had been selected alone."""
    entry = on(node, value)
    return entry | {"display_name": entry["name"]} | changes


def repeated(number, value):
    """The case as ``--repeat`` runs it."""
    entry = alone("node1", value)
    return entry | {"display_name": f"{entry['name']} %.repeat_no={number}"}


@pytest.fixture
def judged(tmp_path):
    """judged(runs, (purpose, asked nodes, case)…): the verdict on runs and what was measured again."""

    return lambda runs, *again: judged_again(tmp_path, runs, *again)


def of(verdict):
    return [found for found in verdict.cases if found.case.check_class == "OsuLatency"]


def diagnoses(verdict):
    return [diagnose(found) for found in of(verdict)]


@pytest.mark.parametrize("asked", ["node1", None], ids=["told", "not told"])
def test_a_confirmation_is_of_the_repeat_that_failed(judged, asked):
    runs = [[repeated(0, GOOD), repeated(1, BAD)]]
    fine = judged(runs, (SAME_NODES, asked, alone("node1", GOOD)))
    assert (fine.state, diagnoses(fine)) == (State.PASS, [None, Diagnosis.TRANSIENT])
    bad = judged(runs, (SAME_NODES, asked, alone("node1", BAD)))
    assert [found.state for found in of(bad)] == [State.PASS, State.FAIL]
    assert diagnoses(bad) == [None, Diagnosis.CONFIRMED]


def test_a_retry_is_of_the_repeat_that_failed(judged):
    verdict = judged([[repeated(0, GOOD), repeated(1, BAD)], [repeated(1, GOOD)]])
    assert [found.unstable for found in of(verdict)] == [False, True]


def test_a_repeat_that_crashed_is_not_pardoned_by_another_that_is_confirmed(judged):
    crashed = repeated(0, GOOD) | {"result": "fail", "fail_phase": "sanity", "perfvalues": {}}
    verdict = judged([[crashed, repeated(1, BAD)]], (SAME_NODES, "node1", alone("node1", GOOD)))
    assert [found.state for found in of(verdict)] == [State.FAIL, State.PASS]


def test_a_pinned_case_is_selected_without_its_node(judged):
    [again] = repetitions(judged([[on("node1", GOOD), on("node2", BAD)]]).cases, SAME_NODES)
    # `reframe -L` shows this for OsuLatency %placement=two_nodes; the report has the name of the case on its node.
    assert (again.nodes, again.hashcodes) == (("node2",), ("ec43997d",))


def test_a_case_whose_variable_was_set_by_an_option_is_not_measured_without_it(judged):
    entry = alone("node1", BAD)
    entry["display_name"] += " %.iterations=5"
    assert repetitions(judged([[entry]]).cases, SAME_NODES) == []


def test_a_pinned_case_is_node_bound(judged):
    verdict = judged(
        [[on("node1", GOOD), on("node2", BAD)]],
        (SAME_NODES, "node2", alone("node2", BAD)),
        (OTHER_NODES, "node2", alone("node3", GOOD)),
    )
    assert diagnoses(verdict) == [None, Diagnosis.NODE_BOUND]
    assert [found.pinned for found in of(verdict)] == ["node1", "node2"]
    assert [suspect.node for suspect in verdict.suspects] == ["node2"]


def test_each_pinned_case_has_its_own_confirmation(judged):
    verdict = judged(
        [[on("node1", BAD), on("node2", BAD)]],
        (SAME_NODES, "node1", alone("node1", GOOD)),
        (SAME_NODES, "node2", alone("node2", BAD)),
    )
    assert diagnoses(verdict) == [Diagnosis.TRANSIENT, Diagnosis.CONFIRMED]


def test_other_nodes_are_those_where_the_same_is_within_bounds(judged):
    two = judged([[on("node1", BAD), on("node2", BAD), on("node3", GOOD)]])
    assert [again.nodes for again in repetitions(two.cases, OTHER_NODES)] == [("node1", "node2")]
    everywhere = judged([[on(f"node{number}", BAD) for number in (1, 2, 3, 4)]])
    assert [len(again.nodes) for again in repetitions(everywhere.cases, OTHER_NODES)] == [1, 1, 1, 1]


def test_one_measurement_elsewhere_is_for_all_that_avoided_the_same_nodes(judged):
    again = [(SAME_NODES, node, alone(node, BAD)) for node in ("node1", "node2")]
    verdict = judged([[on("node1", BAD), on("node2", BAD)]], *again, (OTHER_NODES, "node1:node2", alone("node3", GOOD)))
    assert diagnoses(verdict) == [Diagnosis.NODE_BOUND] * 2
