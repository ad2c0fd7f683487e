"""The checks that a node in quarantine must pass, and the decision that it has."""

import json

import pytest

from kappa.core.record.actions import Evidence
from kappa.core.record.load import load_session
from reports.quarantine.evidence import checks_of_test, judge_test
from reports.verdict.state import State
from tests.unit.quarantine.samples import proof
from tests.unit.reports.samples import case, finding, latency, report

EVIDENCE = [proof(check="OsuLatency")]
NODES = ["node1", "node2"]


def measured(value, nodes=NODES, **changes):
    entry = latency(value=value, job_nodelist=nodes, **changes)
    return entry | {"provenance": {**entry["provenance"], "nodelist": nodes}}


@pytest.fixture
def tested(tmp_path):
    def judged(*cases, evidence=EVIDENCE):
        path = tmp_path / "run-report.json"
        path.write_text(json.dumps(report(list(cases))))
        return judge_test("node2", {"cpu": load_session(path)}, evidence)

    return judged


def test_every_check_that_had_named_it_has_measured_it_and_all_is_well(tested):
    assert tested(measured(9.0)).state is State.PASS


def test_a_failure_fails_it_and_is_evidence(tested):
    found = tested(measured(900.0))
    assert (found.state, [one.kind for one in found.evidence]) == (State.FAIL, ["test"])
    assert "latency_8B 900 us, allowed ≤ 500" in found.why[0]


def test_a_failure_that_names_another_node_is_no_result_for_this_one(tested):
    found = tested(measured(900.0, suspects=["node1"], findings=[finding("node1")]))
    assert found.state is State.INCOMPLETE
    assert "names node1, so it does not test this node" in found.why[0]


def test_a_check_that_had_named_it_and_ran_elsewhere_is_missing(tested):
    found = tested(measured(9.0, ["node1", "node3"]))
    assert (found.state, found.why) == (State.INCOMPLETE, ("OsuLatency did not measure node2 on cpu",))


def test_a_check_that_had_named_it_on_another_partition_is_missing(tested):
    other = Evidence("facts", "OsuLatency", "OsuLatency on gpu", "gpu", "")
    assert tested(measured(9.0), evidence=[*EVIDENCE, other]).why == ("OsuLatency did not measure node2 on gpu",)


def test_what_measured_nothing_is_missing(tested):
    assert tested(measured(None)).state is not State.PASS


def test_no_case_at_all_is_no_pass(tested):
    assert tested().state is State.INCOMPLETE
    assert tested(evidence=[]).why == ("no check ran",)


def test_what_slurm_says_of_the_reservation_is_left_out(tested):
    assert tested(measured(9.0), case("PartitionState", result="fail", local=True)).state is State.PASS


def test_a_skipped_neighbour_is_no_pass(tested):
    found = tested(measured(9.0), case("OsuBarrier", "cpu", result="skip", perfvalues=None))
    assert found.state is State.INCOMPLETE


def test_the_checks_that_named_it_and_their_neighbours():
    found = checks_of_test([proof(check="PairSweep"), proof(check="Stream")], "smoke")
    assert list(found) == ["cpu"]
    assert {"PairSweep", "Stream", "NodeLinks", "NodeSweep", "PartitionHealth"} <= set(found["cpu"])
    assert not {"PartitionState", "Fio", "Hpl"} & set(found["cpu"])


def test_a_check_that_named_it_is_in_the_test_whatever_the_mode_and_the_site_leaves_neighbours_out():
    found = checks_of_test([proof(check="Hpl")], "smoke", left_out=["NodeSweep", "Hpl"])["cpu"]
    assert "Hpl" in found and "NodeSweep" not in found


def test_a_check_that_is_no_more_is_asked_for_all_the_same():
    assert "Gone" in checks_of_test([proof(check="Gone")], "smoke")["cpu"]
