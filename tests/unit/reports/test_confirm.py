"""Re-measured out-of-bounds metrics: in the allocation or on the same nodes, then on others."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.model import OTHER_NODES, SAME_ALLOCATION, SAME_NODES
from reports.verdict.confirm import Diagnosis, Repetition, diagnose, explain, repetitions
from reports.verdict.state import State
from tests.unit.reports.samples import judged_again, latency

BAD, GOOD = 900.0, 9.0
NODES, OTHERS = ["node1", "node2"], ["node3", "node4"]


def measured(value, nodes, **changes):
    entry = latency(value=value, job_nodelist=nodes, hashcode="abcd1234", partition_size=4, **changes)
    entry["provenance"] = {**entry["provenance"], "nodelist": nodes}
    return entry | ({"fail_phase": "performance"} if value > 500 and "fail_phase" not in changes else {})


@pytest.fixture
def campaign(tmp_path):
    """judged(first, same, other): the verdict when the latency case gave these values, ``None`` for not run."""

    def judged(first, same=None, other=None, confirms="u1"):
        again = [(purpose, None, one) for purpose, one in ((SAME_NODES, same), (OTHER_NODES, other)) if one is not None]
        return judged_again(tmp_path, [[first]], *again, confirms=confirms)

    return judged


def the_case(verdict):
    return next(found for found in verdict.cases if found.case.check_class == "OsuLatency")


def test_transient_is_shown_and_blames_nobody(campaign):
    verdict = campaign(measured(BAD, NODES), measured(GOOD, NODES))
    found = the_case(verdict)
    assert (verdict.state, found.state, found.unstable) == (State.PASS, State.PASS, True)
    assert diagnose(found) is Diagnosis.TRANSIENT
    assert [attempt.case.metrics[0].value for attempt in found.repeated] == [BAD]


def test_node_bound(campaign):
    verdict = campaign(measured(BAD, NODES), measured(BAD + 1, NODES), measured(GOOD, OTHERS))
    found = the_case(verdict)
    assert verdict.state is State.FAIL
    assert diagnose(found) is Diagnosis.NODE_BOUND
    assert explain(found) == "node-bound: out of bounds again on node[1-2], within bounds on node[3-4]"
    assert found.suspicion and found.suspicion.nodes == ("node1", "node2")
    assert [suspect.failures for suspect in verdict.suspects] == [1, 1]


def test_system_wide(campaign):
    verdict = campaign(measured(BAD, NODES), measured(BAD, NODES), measured(BAD, OTHERS))
    assert verdict.state is State.FAIL
    assert diagnose(the_case(verdict)) is Diagnosis.SYSTEM_WIDE
    assert the_case(verdict).suspicion is None


def in_one_job(first, second, nodes=NODES):
    """A case whose job measured twice."""
    return measured(second, nodes, first_measurement={"perfvalues": measured(first, nodes)["perfvalues"]})


def test_a_transient_in_the_same_allocation(campaign):
    verdict = campaign(in_one_job(BAD, GOOD))
    found = the_case(verdict)
    assert (verdict.state, found.state, found.unstable) == (State.PASS, State.PASS, True)
    assert diagnose(found) is Diagnosis.TRANSIENT
    assert found.case.purpose == SAME_ALLOCATION
    assert [attempt.case.metrics[0].value for attempt in found.repeated] == [BAD]
    assert repetitions(verdict.cases, SAME_NODES) == []


def test_out_of_bounds_only_when_measured_again_for_a_node_is_measured_once_more(campaign):
    case = in_one_job(GOOD, BAD)
    case["first_measurement"] |= {"suspects": ["node2"]}
    verdict = campaign(case)
    assert (verdict.state, diagnose(the_case(verdict))) == (State.FAIL, Diagnosis.UNCONFIRMED)
    assert len(repetitions(verdict.cases, SAME_NODES)) == 1
    assert campaign(case, measured(GOOD, NODES)).state is State.PASS


def test_a_first_measurement_without_figures_is_refused(campaign):
    with pytest.raises(InputError, match="first_measurement"):
        campaign(measured(GOOD, NODES, first_measurement={"hint": "none"}))


def test_a_second_measurement_without_a_figure_makes_no_transient(campaign):
    verdict = campaign({**in_one_job(BAD, GOOD), "perfvalues": {}})
    assert verdict.state is State.INCOMPLETE
    assert diagnose(the_case(verdict)) is None


def test_the_first_measurement_has_its_own_evidence(campaign):
    case = in_one_job(BAD, GOOD)
    case["first_measurement"] |= {"suspects": ["node2"], "hint": "node node2", "name": 5, "check_class": ["x"]}
    verdict = campaign(case)
    found = the_case(verdict)
    [first] = found.failed_attempts
    assert (first.case.suspects, first.case.hint, first.case.name) == (("node2",), "node node2", found.case.name)
    assert first.suspicion.nodes == ("node2",)
    assert (found.case.suspects, verdict.suspects) == ((), ())


def test_what_is_out_of_bounds_twice_in_its_allocation_is_measured_on_other_nodes_next(campaign):
    first = in_one_job(BAD, BAD + 1)
    cases = campaign(first).cases
    assert diagnose(the_case(campaign(first))) is Diagnosis.CONFIRMED
    assert repetitions(cases, SAME_NODES) == []
    assert [again.nodes for again in repetitions(cases, OTHER_NODES)] == [tuple(NODES)]
    found = the_case(campaign(first, other=measured(GOOD, OTHERS)))
    assert diagnose(found) is Diagnosis.NODE_BOUND
    values = [attempt.case.metrics[0].value for attempt in (*found.other_attempts, found, *found.elsewhere)]
    assert values == [BAD, BAD + 1, GOOD]


def test_a_crash_of_the_second_measurement_is_a_failure(campaign):
    crashed = measured(GOOD, NODES, result="fail", fail_phase="sanity", perfvalues={})
    first = {**crashed, "first_measurement": {"perfvalues": measured(BAD, NODES)["perfvalues"]}}
    found = the_case(campaign(first))
    assert (found.state, diagnose(found)) == (State.FAIL, None)


def test_without_other_nodes_it_is_confirmed(campaign):
    found = the_case(campaign(measured(BAD, NODES), measured(BAD, NODES)))
    assert diagnose(found) is Diagnosis.CONFIRMED


def test_what_did_not_measure_elsewhere_proves_nothing(campaign):
    failed = measured(BAD, [], fail_phase="run", fail_reason="job submission failed", perfvalues={})
    found = the_case(campaign(measured(BAD, NODES), measured(BAD, NODES), failed))
    assert diagnose(found) is Diagnosis.CONFIRMED


def test_a_crash_when_measured_again_is_a_failure(campaign):
    crashed = measured(GOOD, NODES, result="fail", fail_phase="sanity", perfvalues={})
    assert campaign(measured(BAD, NODES), crashed).state is State.FAIL


def test_confirmation_of_another_session_is_left_out(campaign):
    verdict = campaign(measured(BAD, NODES), measured(GOOD, NODES), confirms="u2")
    assert verdict.state is State.FAIL
    assert diagnose(the_case(verdict)) is Diagnosis.UNCONFIRMED


def test_what_to_measure_again(campaign):
    expected = [Repetition("cpu", the_case(campaign(measured(GOOD, NODES))).case.environ, tuple(NODES), ("abcd1234",))]
    assert repetitions(campaign(measured(GOOD, NODES)).cases, SAME_NODES) == []
    assert repetitions(campaign(measured(BAD, NODES)).cases, SAME_NODES) == expected
    assert repetitions(campaign(measured(BAD, NODES), measured(BAD, NODES)).cases, OTHER_NODES) == expected


@pytest.mark.parametrize(
    "first",
    [
        measured(BAD, ["node1", "node2", "node3"]),
        measured(BAD, NODES, result="fail", fail_phase="sanity"),
    ],
    ids=["too few other nodes", "wrong result"],
)
def test_what_is_not_measured_on_other_nodes(campaign, first):
    assert repetitions(campaign(first).cases, OTHER_NODES) == []


def test_a_local_case_is_never_measured_on_other_nodes(campaign):
    first = measured(BAD, ["login"], local=True)
    assert repetitions(campaign(first).cases, SAME_NODES)
    assert repetitions(campaign(first, first).cases, OTHER_NODES) == []


@pytest.mark.parametrize("nodes", [NODES, ["node2", "node3"]], ids=["the same nodes", "one of them"])
def test_only_nodes_of_its_own_are_elsewhere(campaign, nodes):
    for value in (BAD, GOOD):
        found = the_case(campaign(measured(BAD, NODES), measured(BAD, NODES), measured(value, nodes)))
        assert diagnose(found) is Diagnosis.CONFIRMED


def test_a_local_case_that_was_sent_elsewhere_ran_where_it_always_does(campaign):
    found = the_case(campaign(*(measured(BAD, ["login"], local=True) for _ in range(3))))
    assert diagnose(found) is Diagnosis.CONFIRMED


@pytest.mark.parametrize(
    "changes",
    [
        {"result": "abort", "job_nodelist": [], "perfvalues": {}},
        {"result": "fail_deps", "job_nodelist": [], "perfvalues": {}},
        {"result": "skip", "job_nodelist": OTHERS, "perfvalues": {}},
        {"perfvalues": {}, "declared_metrics": []},
        {"perfvalues": {"embedded:cpu:latency_8B": [9, 0, None, None, "us", "pass"]}},
    ],
    ids=["aborted", "skipped with its fixture", "skipped", "another metric", "no reference"],
)
def test_what_did_not_measure_the_metric_elsewhere_is_not_within_bounds(campaign, changes):
    other = measured(GOOD, changes.pop("job_nodelist", OTHERS)) | changes
    found = the_case(campaign(measured(BAD, NODES), measured(BAD, NODES), other))
    assert diagnose(found) is Diagnosis.CONFIRMED


def test_what_is_out_of_bounds_elsewhere_by_another_metric_is_not_system_wide(campaign):
    other = measured(BAD, OTHERS)
    other["perfvalues"] = {"embedded:cpu:bandwidth": [1, 500, -0.1, None, "MB/s", "fail"]}
    found = the_case(campaign(measured(BAD, NODES), measured(BAD, NODES), other))
    assert diagnose(found) is Diagnosis.CONFIRMED


def test_a_confirmation_that_did_not_run_confirms_nothing(campaign):
    aborted = measured(GOOD, [], result="abort", perfvalues={})
    assert diagnose(the_case(campaign(measured(BAD, NODES), aborted))) is Diagnosis.UNCONFIRMED


def test_a_confirmation_that_was_cut_off_leaves_what_was_measured(campaign):
    found = the_case(campaign(measured(BAD, NODES), measured(GOOD, NODES, result="abort", perfvalues={})))
    assert found.case.result == "fail"
    assert found.failed_metrics
