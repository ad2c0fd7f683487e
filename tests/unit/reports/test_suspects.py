"""Suspect nodes of failed cases, and nodes that a passed check singles out."""

import json
from collections import Counter

from kappa.core.record.model import Case
from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.state import State
from reports.verdict.summary import to_json
from reports.verdict.suspects import drain_suggestions, observations, ranked_evidence
from tests.unit.reports.samples import case, complete, finding, judged, latency, report

BY_FACTS = {"result": "fail", "fail_phase": "sanity", "fail_reason": "the nodes differ"}


def on(*nodes, value=9.0, **changes):
    return latency(
        value=value, name=f"OsuLatency on {'-'.join(nodes)}", job_nodelist=list(nodes), provenance={}, **changes
    )


def suspicion(document, tmp_path, name=None):
    failed = judged(document, tmp_path).cases_in(State.FAIL)
    return next(verdict.suspicion for verdict in failed if name is None or verdict.case.name == name)


def test_the_checks_own_measurement_comes_first(tmp_path):
    document = report([on("node1", "node2", value=900, suspects=["node2"]), on("node2", "node3")])
    found = suspicion(document, tmp_path)
    assert found.nodes == ("node2",)
    assert found.evidence == "named by the check's own measurement"


def test_a_suspect_link_names_both_ends(tmp_path):
    link = finding("node1-node3", kind="link", nodes=["node3", "node1"])
    found = suspicion(report([on("node1", "node2", "node3", value=900, findings=[link])]), tmp_path)
    assert found.nodes == ("node1", "node3")
    assert found.evidence == "link node1-node3: bandwidth slower to all"


def test_another_checks_measurement_names_a_node_that_took_part(tmp_path):
    links = case("NodeLinks", "scratch", suspects=["node2", "node4"], **BY_FACTS)
    found = suspicion(report([on("node1", "node2", value=900), links]), tmp_path)
    assert found.nodes == ("node2",)
    assert "NodeLinks" in found.evidence
    assert suspicion(report([on("node1", "node3", value=900), links]), tmp_path) is None


def test_two_checks_may_name_different_nodes(tmp_path):
    first, second = (
        case("NodeLinks", "scratch", check_class=name, suspects=[node], **BY_FACTS)
        for name, node in (("A", "node1"), ("B", "node2"))
    )
    found = suspicion(report([on("node1", "node2", value=900), first, second]), tmp_path)
    assert found.nodes == ("node1", "node2")
    assert "A, B" in found.evidence


def test_of_as_many_failures_the_node_that_stands_out_more_comes_first(tmp_path):
    cases = [
        case("NodeLinks", "scratch", check_class=name, suspects=[node], **BY_FACTS,
             findings=[finding(node, score=score, slowdown=None)])
        for name, node, score in (("A", "node1", 5.0), ("B", "node2", 80.0))
    ]
    assert [suspect.node for suspect in judged(report(cases), tmp_path).suspects] == ["node2", "node1"]


def test_elimination_names_the_node_of_no_passed_case(tmp_path):
    document = report(
        [on("node1", "node2"), on("node1", "node3", value=900), on("node3", "node4", value=900), on("node2", "node4")]
    )
    found = suspicion(document, tmp_path)
    assert found.nodes == ("node3",)
    assert found.evidence == "not in any of the 2 passed cases of OsuLatency"
    suspects = judged(document, tmp_path).suspects
    assert [(suspect.node, suspect.failures) for suspect in suspects] == [("node3", 2)]


def test_elimination_needs_a_pass_to_compare_with(tmp_path):
    assert suspicion(report([on("node1", "node2", value=900)]), tmp_path) is None
    other = latency("gpu", job_nodelist=["node5"])
    assert suspicion(report([on("node1", "node2", value=900), other]), tmp_path) is None, "another partition"


def test_every_node_passed_elsewhere(tmp_path):
    document = report([on("node1", "node2", value=900), on("node1", "node3"), on("node2", "node4")])
    assert suspicion(document, tmp_path) is None, "a link between two good nodes"


def test_only_the_same_measurement_clears_a_node(tmp_path):
    failed = on("node1", "node2", value=900)
    cleared = on("node1", "node3")
    for change in ({"parameters": {"placement": "same_node"}}, {"environ": "other-mpi"}, {"check_class": "OsuBcast"}):
        document = report([failed, cleared, {**on("node2"), **change}])
        assert suspicion(document, tmp_path).nodes == ("node2",)
    assert suspicion(report([failed, cleared, on("node2")]), tmp_path) is None


def test_a_parameter_of_any_name_makes_another_measurement(tmp_path):
    """One algorithm's failure neither clears nor blames a node of another algorithm."""
    ring = on("n1", "n2", value=900, parameters={"algorithm": "ring"})
    tree = on("n3", "n4", parameters={"algorithm": "tree"})
    assert suspicion(report([ring, tree]), tmp_path) is None
    assert judged(report([ring, tree]), tmp_path).suspects == ()
    cleared = {**tree, "parameters": {"algorithm": "ring"}}
    assert suspicion(report([ring, cleared]), tmp_path).nodes == ("n1", "n2")


def test_a_report_without_structured_parameters_has_them_in_its_names(tmp_path):
    name = "AllReduce %scale=two_nodes %algorithm"
    ring = {**on("n1", "n2", value=900), "name": f"{name}=ring"}
    tree = {**on("n3", "n4"), "name": f"{name}=tree"}
    assert suspicion(report([ring, tree]), tmp_path) is None
    assert suspicion(report([ring, {**tree, "name": ring["name"]}]), tmp_path).nodes == ("n1", "n2")


def test_elimination_is_by_metric(tmp_path):
    both = on("node1", "node2", result="fail")
    both["perfvalues"] = {
        "embedded:cpu:latency_8B": [9, 500, None, 0, "us", "pass"],
        "embedded:cpu:latency_1MiB": [9e6, 500, None, 0, "us", "fail"],
    }
    # Passes in the metric that failed, although it fails in the other.
    helper = on("node1", "node3", result="fail")
    helper["perfvalues"] = {
        "embedded:cpu:latency_8B": [900, 500, None, 0, "us", "fail"],
        "embedded:cpu:latency_1MiB": [9, 500, None, 0, "us", "pass"],
    }
    assert suspicion(report([both, helper]), tmp_path, both["name"]).nodes == ("node2",)


def test_a_failed_sanity_is_cleared_by_whole_passes(tmp_path):
    insane = on("node1", "node2", result="fail", fail_phase="sanity", perfvalues={})
    assert suspicion(report([insane, on("node1", "node3")]), tmp_path).nodes == ("node2",)


def test_the_node_that_failed_before_a_retry_is_kept(tmp_path):
    name = "OsuLatency %nodes=1"
    first = latency(value=900, name=name, job_nodelist=["node7"], provenance={})
    second = latency(name=name, job_nodelist=["node8"], provenance={})
    verdict = judged(report([case("PartitionState"), first], [second]), tmp_path)
    assert verdict.state is State.PASS
    assert [suspect.node for suspect in verdict.suspects] == ["node7"]


def test_what_the_same_nodes_passed_when_measured_again_blames_nobody(tmp_path):
    name = "NodeLinks"
    first = case(name, "scratch", result="fail", suspects=["node7"], job_nodelist=["node7", "node8"], provenance={})
    second = case(name, "scratch", job_nodelist=["node7", "node8"], provenance={})
    assert judged(report([case("PartitionState"), first], [second]), tmp_path).suspects == ()


def test_nodes_that_a_job_measured_count_although_slurms_list_lacks_them(tmp_path):
    passed = on("node1", per_node={"clock": {"unit": "us", "values": {"node1": 0, "node2": 1}}})
    document = report([on("node1", "node2", "node3", value=900), passed])
    assert suspicion(document, tmp_path).nodes == ("node3",)


def test_what_passed_accuses_nobody_and_has_no_part_in_localising_others(tmp_path):
    document = report([on("node3", "node4", value=900), case("NodeLinks", "scratch", suspects=["node4"])])
    assert judged(report([case("NodeLinks", "scratch", suspects=["node4"])]), tmp_path).suspects == ()
    assert judged(document, tmp_path).suspects == () and suspicion(document, tmp_path) is None


def test_a_suspect_comes_with_the_figure_and_what_it_was_compared_with(tmp_path):
    named = latency("gpu", value=900, job_nodelist=["node2"], suspects=["node2"],
                    findings=[finding("node2", evidence="is half the median")])  # fmt: skip
    other = on("node1", "node2", value=900)
    [suspect] = judged(report([named, other]), tmp_path).suspects
    texts = dict(suspect.evidence)
    assert len(texts) == suspect.failures == 2
    assert [text for text in texts.values() if text.endswith("is half the median")]
    measured = [text for text in texts.values() if "900 us, allowed ≤ 500" in text]
    assert measured and "named by the measurement of OsuLatency" in measured[0]


SLOW = finding("node4", kind="node", quantity="slowest core", evidence="2.02 times slower than the median of 4 nodes")


def twice(again=("node4",), **changes):
    """A case within bounds that names node4, and whose job measured again for it."""
    first = {"perfvalues": latency(value=9.0)["perfvalues"], "suspects": ["node4"], "findings": [SLOW]}
    nodes = ["node1", "node2", "node3", "node4"]
    return latency(job_nodelist=nodes, suspects=list(again), findings=[SLOW] if again else [],
                   first_measurement=first, **changes)  # fmt: skip


def test_what_both_measurements_single_out_is_an_observation_and_no_suspect(tmp_path, capsys):
    verdict = judged(complete(twice()), tmp_path)
    assert (verdict.state, verdict.suspects, verdict.unstable) == (State.PASS, (), ())
    [seen] = observations(verdict.cases)
    assert seen.node == "node4"
    assert seen.text.startswith("slowest core 2.02 times slower than the median of 4 nodes; latency_8B 9 us, allowed ≤")
    told = json.loads(to_json(verdict))
    assert [one["node"] for one in told["observations"]] == ["node4"] and told["suspects"] == []
    page = render(verdict)
    show(verdict)
    for text in (page, capsys.readouterr().out):
        assert "Observations" in text and "2.02 times slower" in text
        assert "Suspect" not in text and "scontrol" not in text


def test_what_one_of_two_measurements_singles_out_is_nothing(tmp_path):
    assert observations(judged(report([twice(again=())]), tmp_path).cases) == []
    assert observations(judged(report([latency(suspects=["node4"], findings=[SLOW])]), tmp_path).cases) == []


def test_without_a_finding_the_figure_stands_beside_the_other_nodes(tmp_path):
    figures = {"m": {"unit": "MB/s", "values": {"node1": 10, "node2": 11, "node4": 6}}}
    case = twice(per_node=figures)
    case["findings"] = []
    [seen] = observations(judged(report([case]), tmp_path).cases)
    assert seen.text.startswith("m 6 MB/s, median of 3 nodes 10; ")


def hostile(**changes):
    """A failed case on node1 and node2 whose program's output names another node."""
    named = {"suspects": ["node2", "victim"], "findings": [finding("victim"), finding("node2", score=9.0)]}
    return on("node1", "node2", value=900, **{**named, **changes})


def test_a_name_that_is_no_node_of_the_job_becomes_a_note(tmp_path):
    verdict = judged(report([hostile()]), tmp_path)
    assert [suspect.node for suspect in verdict.suspects] == ["node2"]
    [failed] = verdict.cases_in(State.FAIL)
    assert [one.name for one in failed.case.findings] == ["node2"]
    assert [note for note in failed.case.notes if "victim" in note]
    assert not any("victim" in command for command in drain_suggestions(ranked_evidence(verdict.cases)))


def test_no_way_of_localising_names_a_node_outside_the_job(tmp_path):
    figures = {"m": {"unit": "us", "values": {"node1": 1, "victim": 9}}}
    link = finding("node2-victim", kind="link", nodes=["node2", "victim"])
    names_victim = latency("gpu", value=900, check_class="Other", job_nodelist=["victim"], suspects=["victim"])
    for ways in ({"suspects": ["victim"], "findings": []}, {"suspects": [], "findings": [link]},
                 {"suspects": [], "findings": [], "per_node": figures}):  # fmt: skip
        for others in ([], [on("node1", "node2")], [names_victim]):
            verdict = judged(report([hostile(**ways), *others]), tmp_path)
            of_case = [one.suspicion for one in verdict.cases if one.case.nodes == ("node1", "node2")]
            assert not any(suspicion and "victim" in suspicion.nodes for suspicion in of_case)


def test_a_case_without_known_nodes_has_no_suspect_by_its_output(tmp_path):
    verdict = judged(report([{**hostile(), "job_nodelist": None}]), tmp_path)
    assert verdict.suspects == ()
    assert "node2" in verdict.cases[0].case.notes[-1]


def test_slurms_own_answer_and_a_fabrics_hosts_name_nodes_outside_a_job(tmp_path):
    simulated = {"fabric": "f", "variant": "healthy", "kind": "calibrated", "platform_sha256": "0"}
    for changes in ({"local": True}, {"simulation": simulated}):
        verdict = judged(report([hostile(**changes)]), tmp_path)
        assert {suspect.node for suspect in verdict.suspects} == {"node2", "victim"}


def test_equal_failing_cases_are_compared_in_linear_time(tmp_path, monkeypatch):
    asked = Counter()
    kind = Case.kind.fget
    monkeypatch.setattr(Case, "kind", property(lambda case: asked.update(["kind"]) or kind(case)))
    for number in (20, 40):
        asked.clear()
        judged(report([on("node1", value=900) for _ in range(number)]), tmp_path)
        assert asked["kind"] <= 2 * number
