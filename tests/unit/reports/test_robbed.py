"""Out-of-bounds metrics during others' load on a shared machine blame no node, unless all re-measurements do."""

import json

import pytest

from kappa.core.record.model import OTHER_NODES, SAME_NODES
from reports.verdict.advice import operator_line
from reports.verdict.confirm import Diagnosis, diagnose, repetitions
from reports.verdict.state import State
from reports.verdict.summary import to_json
from tests.unit.reports.samples import case, finding, judged_again, latency

BAD, GOOD = 900.0, 9.0
NODES, OTHERS = ["node1", "node2"], ["node3", "node4"]
ROBBED = "others used 1.3 of 2 cores (limit 0.3) while it was measured"
TAKEN = {"this machine": {"cores": 1.3, "of_cores": 2, "steal_cores": 0.0, "disk_mb_per_s": 1.0}}
BUSY = {"robbed": ROBBED, "load_by_others": TAKEN}


def measured(value, nodes=NODES, **changes):
    entry = latency(value=value, job_nodelist=nodes, hashcode="abcd1234", partition_size=4)
    entry["provenance"] = {**entry["provenance"], "nodelist": nodes}
    return entry | ({"fail_phase": "performance"} if value > 500 else {}) | changes


def named(*nodes):
    return {"suspects": list(nodes), "findings": [finding(node) for node in nodes]}


def in_one_job(first, second):
    """A case whose job measured twice: (value, what else it recorded) each."""
    (value, recorded), (again, then) = first, second
    return measured(again, **then, first_measurement={"perfvalues": measured(value)["perfvalues"], **recorded})


@pytest.fixture
def judged(tmp_path):
    """judged(cases, same): the verdict on ``cases`` and what was measured again on the same nodes."""

    def judged(*cases, same=None):
        return judged_again(tmp_path, [cases], *([] if same is None else [(SAME_NODES, None, same)]))

    return judged


def the_case(verdict):
    return next(found for found in verdict.cases if found.case.check_class == "OsuLatency")


def test_robbed_whenever_it_was_measured_is_incomplete_and_names_nobody(judged):
    busy = in_one_job((BAD, BUSY | named("node2")), (BAD, BUSY | named("node1")))
    verdict = judged(busy, same=measured(BAD, **BUSY, **named("node2")))
    found = the_case(verdict)
    assert (verdict.state, found.state, verdict.suspects) == (State.INCOMPLETE, State.INCOMPLETE, ())
    assert [(gap.what, gap.detail) for gap in found.gaps] == [("this machine was busy", ROBBED)]
    causes = {gap["where"]: gap["cause"] for gap in json.loads(to_json(verdict))["incomplete"]}
    assert causes.pop(found.case.title) == "busy" and set(causes.values()) <= {""}
    assert [metric.metric.name for metric in found.failed_metrics] == ["latency_8B"]
    assert diagnose(found) is None and not found.unstable


def test_it_is_measured_again_on_the_same_nodes_and_not_on_others(judged):
    cases = judged(in_one_job((BAD, BUSY), (BAD, BUSY))).cases
    assert [again.nodes for again in repetitions(cases, SAME_NODES)] == [tuple(NODES)]
    assert repetitions(cases, OTHER_NODES) == []


def test_one_measurement_in_peace_is_confirmed_by_another(judged):
    once = in_one_job((BAD, BUSY), (BAD, {}))
    cases = judged(once).cases
    assert [again.nodes for again in repetitions(cases, SAME_NODES)] == [tuple(NODES)]
    confirmed = judged(once, same=measured(BAD))
    assert (confirmed.state, diagnose(the_case(confirmed))) == (State.FAIL, Diagnosis.CONFIRMED)


def test_within_bounds_when_it_was_quieter_is_a_pass(judged):
    in_its_job, later = judged(in_one_job((BAD, BUSY), (GOOD, {}))), judged(measured(BAD, **BUSY), same=measured(GOOD))
    for verdict in (in_its_job, later):
        assert (verdict.state, the_case(verdict).state, verdict.unstable) == (State.PASS, State.PASS, ())


def test_within_bounds_beside_a_load_is_a_pass_that_names_nobody(judged):
    verdict = judged(measured(GOOD, **BUSY, **named("node1")))
    assert (verdict.state, verdict.suspects) == (State.PASS, ())


def test_what_each_of_three_measurements_names_is_a_fault_beside_a_load(judged):
    twice = in_one_job((BAD, BUSY | named("node2")), (BAD, BUSY | named("node1", "node2")))
    assert judged(twice).state is State.INCOMPLETE
    verdict = judged(twice, same=measured(BAD, **BUSY, **named("node2")))
    found = the_case(verdict)
    assert (verdict.state, [suspect.node for suspect in verdict.suspects]) == (State.FAIL, ["node2"])
    assert found.suspicion.evidence == f"named by each of 3 measurements, although {ROBBED}"
    assert found.gaps == () and diagnose(found) is Diagnosis.CONFIRMED


def test_three_measurements_far_out_of_bounds_are_a_fault_that_names_nobody(judged):
    """The bound is 500: 6000 is twelve times of it, and each measurement is slow on another node."""
    far = in_one_job((6000.0, BUSY | named("node2")), (6000.0, BUSY | named("node1")))
    assert judged(far).state is State.INCOMPLETE
    verdict = judged(far, same=measured(6000.0, **BUSY, **named("node2")))
    assert (verdict.state, verdict.suspects) == (State.FAIL, ())
    assert diagnose(the_case(verdict)) is Diagnosis.CONFIRMED
    nearer = judged(far, same=measured(BAD, **BUSY, **named("node2")))
    assert (nearer.state, nearer.suspects) == (State.INCOMPLETE, ())


def test_a_steady_metric_is_a_failure_whoever_used_the_machine(judged):
    """Free space: no load takes it away."""
    verdict = judged(measured(BAD, **BUSY, **named("node2"), steady=["latency_8B"]))
    assert (verdict.state, [suspect.node for suspect in verdict.suspects]) == (State.FAIL, ["node2"])
    everywhere = judged(measured(BAD, **BUSY, steady=["latency_8B"]))
    assert (everywhere.state, everywhere.suspects) == (State.FAIL, ())


def test_a_steady_metric_beside_another_fails_and_names_nobody(judged):
    """The other may have named the node, by load."""
    both = measured(BAD, **BUSY, **named("node2"), steady=["latency_8B"])
    both["perfvalues"]["embedded:cpu:latency_1B"] = both["perfvalues"]["embedded:cpu:latency_8B"]
    verdict = judged(both)
    assert (verdict.state, verdict.suspects) == (State.FAIL, ())


def test_a_crash_is_a_failure_whoever_used_the_machine(judged):
    verdict = judged(measured(BAD, **BUSY, fail_phase="sanity"))
    assert (verdict.state, the_case(verdict).suspicion) == (State.FAIL, None)


def test_a_fact_of_a_node_is_its_own_whoever_used_the_machine(judged):
    fact = {"suspects": ["node2"], "findings": [finding("node2", slowdown=None)]}
    verdict = judged(measured(BAD, **BUSY, **fact, fail_phase="sanity"))
    assert (verdict.state, [suspect.node for suspect in verdict.suspects]) == (State.FAIL, ["node2"])


def test_what_a_robbed_measurement_names_is_held_against_no_other_case(judged):
    other = measured(GOOD, **BUSY, **named("node1"))
    crashed = case("PartitionState", "cpu", "campaign", result="fail", fail_phase="sanity", job_nodelist=["node1"])
    verdict = judged(other, crashed)
    assert (verdict.state, verdict.suspects) == (State.FAIL, ())


def test_what_others_used_of_a_node_of_its_own_is_evidence_and_no_excuse(judged):
    load = {"cores": 3.1, "of_cores": 64, "steal_cores": 0.0, "disk_mb_per_s": 0.0}
    idle = {**load, "cores": 0.1}
    verdict = judged(measured(BAD, load_by_others={"node1": idle, "node2": load}))
    assert verdict.state is State.FAIL
    said = operator_line(the_case(verdict))
    assert said.load == "during the measurement, other processes used 3.1 of 64 cores of node2"
    assert said.load in str(said)


def test_jobs_of_others_on_its_nodes_are_told(judged):
    failed = measured(BAD)
    failed["provenance"] = {**failed["provenance"], "other_jobs": "4 17"}
    assert operator_line(the_case(judged(failed))).load == "other jobs on the same nodes: 4, 17"
