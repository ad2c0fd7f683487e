"""When a clause is met, not met, waived or incomplete, and what that makes of the contract."""

import json

import pytest

from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome
from tests.unit.acceptance.conftest import clause
from tests.unit.reports.samples import case, latency

WAIVER = {"reason": "known", "name": "A. Buyer", "date": "2026-11-21"}
PER_NODE = {"usable": {"unit": "", "values": {"node1": 1, "node2": 1}}}
EVERY_NODE = clause(
    selector={"check": "PartitionState", "partition": "cpu", "metric": "usable"},
    statistic={"every_node": 2},
    comparison="at_least",
    threshold={"value": 1, "unit": ""},
    repeats=1,
)


def only(campaign):
    return judge(campaign).clauses[0]


def changed(provenance):
    return latency(provenance={**latency()["provenance"], **provenance})


@pytest.mark.parametrize(
    ("values", "outcome", "acceptance"),
    [
        ([9, 10, 30], ClauseOutcome.MET, Acceptance.ACCEPTED),
        ([9, 10.5, 30], ClauseOutcome.NOT_MET, Acceptance.NOT_ACCEPTED),
        ([1, 1], ClauseOutcome.INCOMPLETE, Acceptance.INCOMPLETE),
        ([], ClauseOutcome.INCOMPLETE, Acceptance.INCOMPLETE),
    ],
)
def test_outcome_and_acceptance(campaign, values, outcome, acceptance):
    verdict = judge(campaign.measure(*values))
    assert (verdict.clauses[0].outcome, verdict.acceptance) == (outcome, acceptance)


def test_only_agreed_repeats_count(campaign):
    assert only(campaign.measure(9, 9, 9, 99, 99, 99, 99)).value == 9


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"value": None}, "not a finite number"),
        ({"value": float("nan"), "result": "pass"}, "not a finite number"),
        ({"perfvalues": {}}, "did not measure latency_8B"),
        ({"perfvalues": {"embedded:cpu:latency_8B": [9, 0, None, None, "ms", "pass"]}}, "the unit is 'ms'"),
        ({"result": "fail", "fail_phase": "sanity", "fail_reason": "wrong sum"}, "failed in phase sanity: wrong sum"),
        ({"result": "skip"}, "no job ran"),
        ({"jobid": None}, "no job ran"),
        ({"result": "abort"}, "is not finished"),
    ],
)
def test_repeat_without_a_value_is_incomplete(campaign, changes, problem):
    campaign.measure(9, 9)
    campaign.add(latency(**{"value": 9, **changes}), repeat=3)
    judged = only(campaign)
    assert judged.outcome is ClauseOutcome.INCOMPLETE
    assert any(problem in line and "repeat 3" in line for line in judged.problems), judged.problems


def test_contract_decides_and_not_the_reference_of_the_site(campaign):
    campaign.demand(clause(threshold={"value": 1000, "unit": "us"}))
    campaign.measure(600, 600, 600, fail_phase="performance")
    assert only(campaign).outcome is ClauseOutcome.MET


def test_selector_of_several_series_is_incomplete(campaign):
    campaign.demand(clause(selector={"family": "network/osu-pt2pt", "metric": "latency_8B"}, repeats=1))
    campaign.add(latency("cpu"))
    campaign.add(latency("gpu"))
    judged = only(campaign)
    assert judged.outcome is ClauseOutcome.INCOMPLETE
    assert "matches 2 series" in judged.problems[0]


def test_selector_of_no_series_has_the_reason_of_the_run(campaign):
    campaign.measure(9, 9, 9)
    selector = {"check": "OsuLatency", "metric": "latency_8B", "parameters": {"placement": "same_node"}}
    campaign.demand(clause(selector=selector))
    assert "matches no series of the run" in only(campaign).problems[0]
    (campaign.folder / "unresolved.json").write_text('{"B1": "the site offers nothing"}')
    assert only(campaign).problems == ("the site offers nothing",)


def test_one_session_counts_once(campaign):
    for repeat in (1, 2, 3):
        campaign.add(latency(), repeat, session="the same")
    assert only(campaign).outcome is ClauseOutcome.INCOMPLETE


def test_attempts_that_do_not_count_are_remarked(campaign):
    campaign.measure(9, 9, 99)
    campaign.add(latency(), repeat=3, number=2)
    campaign.add(None, repeat=3, number=3)
    judged = only(campaign)
    assert [sample.value for sample in judged.samples] == [9, 9, 9]
    assert {"1 finished attempt superseded by a later one", "1 interrupted attempt repeated"} <= {*judged.remarks}


def test_retry_within_a_session_is_no_second_sample(campaign):
    campaign.measure(99, 99, 99)
    path = campaign.attempts()[2].folder / "run-report.json"
    document = json.loads(path.read_text())
    document["runs"].append({"run_index": 1, "testcases": [latency(value=1)]})
    path.write_text(json.dumps(document))
    assert [sample.value for sample in only(campaign).samples] == [99, 99, 99]


def test_other_program_is_remarked(campaign):
    campaign.measure(9, 9)
    campaign.add(changed({"sha256": "0" * 64}), repeat=3)
    assert "not all repeats ran the same program" in only(campaign).remarks


def test_interval_across_the_threshold_is_a_doubt(campaign):
    judged = only(campaign.measure(9, 9, 11))
    assert "the confidence interval crosses the threshold" in judged.remarks
    assert judged.doubts == ("the interval crosses the threshold",)


def test_metric_that_compares_nodes_is_remarked(campaign):
    [remark] = only(campaign.measure(9, 9, 9, relative=["latency_8B"])).remarks
    assert remark.startswith("relative: ")


def test_sample_beside_jobs_of_others_has_a_load(campaign):
    campaign.measure(9, 9)
    campaign.add(changed({"other_jobs": "17"}), repeat=3)
    assert [sample.load for sample in only(campaign).samples] == ["", "", "other jobs on the same nodes: 17"]


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"node1": 1, "node2": 1}, ClauseOutcome.MET),
        ({"node1": 1, "node2": 0}, ClauseOutcome.NOT_MET),
        ({"node1": 1}, ClauseOutcome.INCOMPLETE),
        ({"node1": 1, "node2": 1, "node3": 1}, ClauseOutcome.INCOMPLETE),
    ],
)
def test_every_node(campaign, values, outcome):
    campaign.demand(EVERY_NODE)
    campaign.add(case("PartitionState", per_node={"usable": {"unit": "", "values": values}}))
    assert only(campaign).outcome is outcome


def test_every_node_takes_the_figures_of_nodes_only(campaign):
    campaign.demand({**EVERY_NODE, "selector": {"check": "PartitionState", "metric": "fraction_usable"}})
    campaign.add(case("PartitionState", per_node=PER_NODE))
    assert "per node" in only(campaign).problems[0]


@pytest.mark.parametrize(
    ("clauses", "acceptance"),
    [
        ([clause(), clause(id="B2", threshold={"value": 1, "unit": "us"}, mandatory=False)], Acceptance.ACCEPTED),
        ([clause(), clause(id="B2", threshold={"value": 1, "unit": "us"}, waiver=WAIVER)], Acceptance.ACCEPTED),
        ([clause(), clause(id="B2", repeats=9, waiver=WAIVER)], Acceptance.ACCEPTED),
        ([clause(), clause(id="B2", repeats=9, mandatory=False)], Acceptance.ACCEPTED),
        ([clause(), clause(id="B2", repeats=9)], Acceptance.INCOMPLETE),
        ([clause(threshold={"value": 1, "unit": "us"}, waiver=WAIVER)], Acceptance.INCOMPLETE),
        ([clause(mandatory=False, repeats=9)], Acceptance.INCOMPLETE),
        ([clause(repeats=9), clause(id="B2", threshold={"value": 1, "unit": "us"})], Acceptance.NOT_ACCEPTED),
    ],
)
def test_waivers_and_options(campaign, clauses, acceptance):
    assert judge(campaign.demand(*clauses).measure(9, 9, 9)).acceptance is acceptance


def test_met_clause_needs_no_waiver(campaign):
    assert only(campaign.demand(clause(waiver=WAIVER)).measure(9, 9, 9)).outcome is ClauseOutcome.MET
