"""Results that a site expects and a run lacks."""

import pytest

from kappa.core.sites.derivation import Unexplained
from kappa.core.sites.expected import LeftOut
from reports.verdict.expectations import in_one, selecting
from reports.verdict.state import Gap, State
from tests.unit.reports.samples import EXPECTED, ToldSite, case, judged, latency, report

TWO_NODES, ONE_NODE = "OsuLatency %placement=two_nodes", "OsuLatency %placement=same_node"
PARTITION = {"nodes": 2, "sockets": 0, "numa_domains": 0}
FEATURES = ["scale_one_node", "scale_each_node", "scale_two_nodes", "network"]


def with_census(cases, features=FEATURES, **partition):
    """A report that holds ``OsuLatency`` over two nodes; the census lists ``cases`` of it: name -> features."""
    state = case("PartitionState")
    for check in state["census"]["checks"]:
        check["tags"] = ["nightly"]
        check["cases"] = []
        if check["name"] == "OsuLatency":
            check["cases"] = [
                {"name": name, "features": needs, "places": [["cpu", "packaged"], ["gpu", "packaged"]]}
                for name, needs in cases.items()
            ]
    state["census"]["partitions"] = {"cpu": {**PARTITION, "features": features, **partition}}
    return report([state, latency()])


def expected_gaps(document, tmp_path, **site):
    verdict = judged(document, tmp_path, site=ToldSite(**site))
    assert verdict.state is (State.INCOMPLETE if verdict.gaps else State.PASS)
    return [(gap.what, gap.where) for gap in verdict.gaps]


def left_out(feature, *families):
    return {"left_out": [LeftOut("why not", [feature], [*families], ["cpu"])]}


def test_every_case_that_the_site_offers_is_named_when_it_did_not_run(tmp_path):
    cases = {TWO_NODES: ["scale_two_nodes"], ONE_NODE: ["scale_one_node"]}
    assert expected_gaps(with_census({TWO_NODES: ["scale_two_nodes"]}), tmp_path) == []
    # Nothing is expected of the partition gpu.
    what = "expected in mode nightly, but not run"
    assert expected_gaps(with_census(cases), tmp_path) == [(what, f"{ONE_NODE} on cpu+packaged")]


def test_a_family_may_leave_a_scale_out(tmp_path):
    cases = {TWO_NODES: ["scale_two_nodes"], ONE_NODE: ["scale_one_node"]}
    document = with_census(cases)
    assert expected_gaps(document, tmp_path, **left_out("scale_one_node", "network/osu-pt2pt")) == []
    assert expected_gaps(document, tmp_path, **left_out("scale_one_node", "compute/hpl")) != []


def test_a_scale_that_the_partition_can_run_is_not_dropped_in_silence(tmp_path):
    cases = {TWO_NODES: ["scale_two_nodes"]}
    misspelt = with_census(cases, features=["scale_one_node", "scale_each_node", "scale_two_node"])
    what = "the partition can run a scale that it leaves out"
    assert expected_gaps(misspelt, tmp_path) == [(what, "scale_two_nodes on cpu")]
    assert expected_gaps(misspelt, tmp_path, **left_out("scale_two_nodes")) == []
    # A reason for one family is none for the others.
    assert expected_gaps(misspelt, tmp_path, **left_out("scale_two_nodes", "compute/hpl")) != []


@pytest.mark.parametrize(
    ("partition", "missing"),
    [
        ({"nodes": 1}, []),
        ({"nodes": 3}, ["scale_whole_partition"]),
        ({"sockets": 2, "numa_domains": 2}, ["placement_same_numa", "placement_other_socket"]),
        (
            {"sockets": 2, "numa_domains": 4},
            ["placement_same_numa", "placement_other_numa", "placement_other_socket"],
        ),
    ],
)
def test_what_is_expected_follows_from_nodes_and_topology(partition, missing, tmp_path):
    document = with_census({TWO_NODES: ["scale_two_nodes"]}, **partition)
    assert [where for _, where in expected_gaps(document, tmp_path)] == [f"{feature} on cpu" for feature in missing]


def test_a_mode_that_expects_less_than_it_could_says_so(tmp_path):
    document = with_census({TWO_NODES: ["scale_two_nodes"]})
    offered = {check["family"] for check in document["runs"][0]["testcases"][0]["census"]["checks"] if check["offered"]}
    assert judged(document, tmp_path).breadth == f"expects 2 of {len(offered)} families"
    everything = {family: ("cpu",) for family in offered}
    assert judged(document, tmp_path, site=ToldSite(modes={"nightly": everything})).breadth == ""


def test_a_feature_that_is_lacking_without_a_reason_is_a_gap(tmp_path):
    site = ToldSite()
    site.unexplained = {"nightly": [Unexplained("cpu", ("emt|emt-build",), ("a/b", "c/d", "e/f", "g/h"))]}.get
    [gap] = judged(with_census({TWO_NODES: ["scale_two_nodes"]}), tmp_path, site=site).gaps
    assert gap.what == "a feature is missing without a reason"
    assert gap.place == "emt or emt-build on cpu: for a/b, c/d, e/f, …"
    assert "expected.yaml" in gap.remedy


def test_a_mode_that_names_its_cases_expects_these_alone(tmp_path):
    cases = {TWO_NODES: ["scale_two_nodes"], ONE_NODE: ["scale_one_node"]}
    site = ToldSite(modes={"links": EXPECTED})
    gaps = judged(with_census(cases), tmp_path, site=site, mode="links").gaps
    assert [gap.where for gap in gaps] == [f"{ONE_NODE} on cpu+packaged"]


ABSENT = [Gap("expected", "run it", f"family {number}", absent=True) for number in range(33)]
NOT_RUN = Gap("expected", "run it", "another", "none of its 2 cases ran")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("-n NodeLinks -r", ["-n NodeLinks"]), ("-nNodeLinks --tag=smoke", ["-nNodeLinks", "--tag=smoke"]),
        ("-r --mode=smoke --system=here", []), ("--system here:cpu", ["--system here:cpu"]),
        ("-S a=-n -J nodelist=n1", []), ("--cpu-only -r", ["--cpu-only"]), ("-n 'un", []),
    ],
)  # fmt: skip
def test_what_selects(options, found):
    assert selecting(f"reframe -C settings.py -R {options}") == found


def test_one_reason_for_what_was_not_selected():
    kept, one = in_one([*ABSENT, NOT_RUN], "reframe -r -n NodeLinks", "smoke")
    assert kept == NOT_RUN
    assert one.what == "only a part of mode smoke was selected"
    assert one.place == "-n NodeLinks leaves out 33 expected families, checks or cases"


def test_without_a_selection_each_is_said():
    assert in_one([*ABSENT, NOT_RUN], "reframe -r --mode=smoke", "smoke") == [*ABSENT, NOT_RUN]


def test_a_report_without_a_command_line_selects_nothing():
    assert selecting("") == []
