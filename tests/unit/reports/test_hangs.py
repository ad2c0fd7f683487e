"""A case with a node that hung: the rest is measured without it, and no other node is blamed."""

import json

import pytest

from kappa.core.record.evidence import RANK_CRASHED
from kappa.core.record.load import load_session
from kappa.core.record.model import REMAINING_NODES
from reports.verdict.confirm import Repetition, explain, repetitions
from reports.verdict.judge import judge
from reports.verdict.state import State
from tests.unit.reports.samples import SITE, case, finding, latency, report

HASH = "abcd1234"


def placed(entry, nodes, **changes):
    entry |= {"job_nodelist": nodes, "hashcode": HASH, "partition_size": 4, **changes}
    return {**entry, "provenance": {**entry["provenance"], "nodelist": nodes}}


def failed(nodes, **changes):
    """A case that failed before it measured anything."""
    entry = latency(value=None, result="fail", fail_phase="sanity", fail_reason="sanity error: no figure")
    return placed(entry, nodes, **changes)


def hung(nodes, on="node2", quantity="hang:"):
    evidence = finding(on, quantity=quantity, score=None, slowdown=None, evidence="rank 1 is stopped")
    return failed(nodes, hung_on=[on], suspects=[on], findings=[evidence])


@pytest.fixture
def judged(tmp_path):
    """judged(cases, again): the verdict; ``again`` was measured without the node."""

    def verdict(cases, again=()):
        documents = {"run-report.json": report([case("PartitionState"), *cases], uuid="u1")}
        if again:
            info = {"confirms": "u1", "purpose": REMAINING_NODES, "nodes": "node2"}
            documents["confirmations/remaining-nodes-1.json"] = report(list(again), uuid="u2", **info)
        (tmp_path / "confirmations").mkdir(exist_ok=True)
        for name, document in documents.items():
            (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
        return judge(load_session(tmp_path), SITE)

    return verdict


def the_case(verdict):
    return next(found for found in verdict.cases if found.case.check_class == "OsuLatency")


def test_it_is_measured_without_the_node(judged):
    cases = judged([hung(["node1", "node2"])]).cases
    assert repetitions(cases, REMAINING_NODES) == [Repetition("cpu", "packaged", ("node2",), (HASH,))]


def test_what_could_not_start_for_want_of_the_node_is_measured_too(judged):
    waited = failed([], fail_phase="run_complete") | {"name": "OsuLatency of the whole partition", "hashcode": "ef"}
    [again] = repetitions(judged([hung(["node1", "node2"]), waited]).cases, REMAINING_NODES)
    assert again.hashcodes == (HASH, "ef")


@pytest.mark.parametrize("other", [latency(), latency(value=900.0), failed(["node1"], ended_by_slurm="TIMEOUT")])
def test_what_was_measured_or_ended_by_slurm_is_not(judged, other):
    assert repetitions(judged([placed(other, ["node1", "node2"])]).cases, REMAINING_NODES) == []


def test_nothing_is_left_of_a_partition_of_one_node(judged):
    alone = hung(["node2"]) | {"partition_size": 1}
    assert repetitions(judged([alone]).cases, REMAINING_NODES) == []


def test_the_node_stays_blamed_whatever_the_others_give(judged):
    left = ["node1", "node3", "node4"]
    fine = judged([hung(["node1", "node2"])], [placed(latency(), left)])
    assert (fine.state, [suspect.node for suspect in fine.suspects]) == (State.FAIL, ["node2"])
    assert explain(the_case(fine)) == "on the remaining nodes node[1,3-4]: within bounds"
    both = judged([hung(["node1", "node2"])], [hung(left, on="node4")])
    assert [suspect.node for suspect in both.suspects] == ["node2", "node4"]
    assert explain(the_case(both)) == "on the remaining nodes node[1,3-4]: FAIL, too"


def test_a_program_that_crashes_on_the_others_too_blames_nobody(judged):
    first, left = hung(["node1", "node2"], quantity=RANK_CRASHED), ["node1", "node3", "node4"]
    fine = judged([first], [placed(latency(), left)])
    assert [suspect.node for suspect in fine.suspects] == ["node2"]
    both = judged([first], [hung(left, on="node4", quantity=RANK_CRASHED)])
    assert (both.state, both.suspects) == (State.FAIL, ())
    assert explain(the_case(both)) == "on the remaining nodes node[1,3-4]: FAIL, too"


def test_what_slurm_ended_blames_no_node_by_elimination(judged):
    passed = placed(latency(), ["node1", "node3"])
    for ended, suspects in (("", ["node2"]), ("TIMEOUT", [])):
        lost = failed(["node1", "node2"], ended_by_slurm=ended)
        verdict = judged([passed, lost])
        assert (verdict.state, [suspect.node for suspect in verdict.suspects]) == (State.FAIL, suspects)


def test_a_slow_node_of_a_measurement_without_a_value_is_not_named(judged):
    slow, wrong = finding("node4", slowdown=3.9), finding("node3", score=None, slowdown=None, evidence="wrong result")
    for findings, suspects in (([slow], []), ([slow, wrong], ["node3"])):
        nodes = [each["name"] for each in findings]
        verdict = judged([failed(["node3", "node4"], suspects=nodes, findings=findings)])
        assert (verdict.state, [suspect.node for suspect in verdict.suspects]) == (State.FAIL, suspects)
