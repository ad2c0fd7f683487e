"""The nodes that a confirmed finding names."""

import json

import pytest

from kappa.core.record.load import load_session
from kappa.core.record.model import OTHER_NODES, SAME_NODES
from kappa.core.vocabulary.rules import EVIDENCE
from reports.quarantine.evidence import named_nodes
from reports.verdict.judge import judge
from tests.unit.reports.samples import SITE, case, finding, latency, report

BAD, GOOD = 900.0, 9.0
PAIR, OTHERS = ["node1", "node2"], ["node3", "node4"]
LINK = finding("node1-node2", kind="link", nodes=PAIR)


def measured(value, nodes=PAIR, **changes):
    entry = latency(value=value, job_nodelist=nodes, hashcode="abcd1234", partition_size=4)
    entry["provenance"] = {**entry["provenance"], "nodelist": nodes}
    return entry | ({"fail_phase": "performance"} if value > 500 else {}) | changes


def names(*nodes):
    return {"suspects": list(nodes), "findings": [finding(node) for node in nodes]}


@pytest.fixture
def named(tmp_path):
    """named(first, same, other): kind of evidence by node when the case gave this, and again on these nodes."""

    def found(first, same=None, other=None, kinds=tuple(EVIDENCE)):
        session = report([case("PartitionState"), first], uuid="u1")
        (tmp_path / "run-report.json").write_text(json.dumps(session))
        (tmp_path / "confirmations").mkdir()
        for purpose, again in ((SAME_NODES, same), (OTHER_NODES, other)):
            if again is not None:
                document = report([again], uuid=f"u-{purpose}", confirms="u1", purpose=purpose)
                (tmp_path / f"confirmations/{purpose}-1.json").write_text(json.dumps(document))
        evidence = named_nodes(judge(load_session(tmp_path), SITE).cases, kinds)
        return {node: [one.kind for one in found] for node, found in evidence.items()}

    return found


def test_what_passes_names_nobody(named):
    assert named(measured(GOOD)) == {}


def test_one_node_that_is_bad_again_and_others_are_not(named):
    assert named(measured(BAD, ["node1"]), measured(BAD, ["node1"]), measured(GOOD, ["node3"])) == {
        "node1": ["node-bound"]
    }


def test_of_two_nodes_without_a_comparison_neither_is_named(named):
    assert named(measured(BAD), measured(BAD), measured(GOOD, OTHERS)) == {}


def test_of_two_nodes_the_one_that_each_comparison_names(named):
    assert named(measured(BAD, **names("node2")), measured(BAD, **names("node2")), measured(GOOD, OTHERS)) == {
        "node2": ["node-bound"]
    }


def test_without_others_to_compare_with_the_check_itself_has_to_name_it(named):
    assert named(measured(BAD, **names("node2")), measured(BAD, **names("node2"))) == {"node2": ["confirmed"]}


def test_one_node_without_others_to_compare_with_is_not_named(named):
    assert named(measured(BAD, ["node1"]), measured(BAD, ["node1"])) == {}


def test_a_node_that_the_second_measurement_does_not_name_is_not_named(named):
    assert named(measured(BAD, **names("node1", "node2")), measured(BAD, **names("node2"))) == {"node2": ["confirmed"]}


def test_two_measurements_that_name_different_nodes_name_none(named):
    assert named(measured(BAD, **names("node1")), measured(BAD, **names("node2"))) == {}


def test_both_ends_of_a_link_are_not_named(named):
    link = {"suspects": [], "findings": [LINK]}
    assert named(measured(BAD, **link), measured(BAD, **link)) == {}


def test_what_was_measured_once_names_nobody(named):
    assert named(measured(BAD, **names("node2"))) == {}


def test_a_transient_names_nobody(named):
    assert named(measured(BAD, **names("node2")), measured(GOOD)) == {}


def test_what_is_bad_on_other_nodes_too_names_nobody(named):
    assert named(measured(BAD, **names("node2")), measured(BAD, **names("node2")), measured(BAD, OTHERS)) == {}


def test_a_fact_needs_no_second_look(named):
    fact = {"suspects": ["node2"], "findings": [finding("node2", slowdown=None)]}
    assert named(measured(BAD, fail_phase="sanity", **fact)) == {"node2": ["facts"]}


def test_a_speed_beside_a_failure_that_nothing_re_measures_names_nobody(named):
    assert named(measured(BAD, fail_phase="sanity", **names("node2"))) == {}


def test_a_failure_that_names_nobody(named):
    assert named(measured(BAD, fail_phase="sanity")) == {}


@pytest.mark.parametrize("how", ["hang:", "crash:"])
def test_a_hang_with_the_node_that_the_check_names(named, how):
    hung = {"suspects": ["node2"], "findings": [finding(quantity=how, score=None, slowdown=None)]}
    assert named(measured(BAD, fail_phase="sanity", **hung)) == {"node2": ["hang"]}


def test_what_slurm_says_of_a_node_is_no_finding(named):
    assert named(measured(BAD, fail_phase="sanity", local=True, **names("node2"))) == {}


def test_only_the_kinds_that_the_site_wants(named):
    assert named(measured(BAD, fail_phase="sanity", **names("node2")), kinds=["confirmed"]) == {}


def test_a_name_in_a_programs_output_that_is_not_in_the_job_is_no_evidence(named):
    assert named(measured(BAD, fail_phase="sanity", suspects=["victim"])) == {}


def test_a_figure_of_a_node_that_is_not_in_the_job_is_no_evidence(named):
    assert named(measured(BAD, **names("victim")), measured(BAD, **names("victim"))) == {}
