"""The results of a night, complete or partial, become its summary; missing results never pass."""

import dataclasses
import json

import pytest

from reports.nightly.archive import open_archive, reports_of
from reports.nightly.night import load_night, to_json
from reports.nightly.summarise import summarise
from reports.quarantine.decide import told
from reports.verdict.state import State
from tests.unit.nightly.samples import START, keep_record, keep_report, pinned, record
from tests.unit.quarantine.samples import action
from tests.unit.reports.samples import SITE, case, complete, finding, latency, report

SINGLE = "rotation/cpu/run-report.json"


def gaps(night):
    return " | ".join(night.gaps)


def test_a_whole_night_passes(tmp_path):
    keep_report(tmp_path, complete())
    keep_report(tmp_path, report([pinned(latency(), "node1")]), SINGLE)
    night = summarise(tmp_path, record(planned=("node1",)), SITE)
    assert (night.state, night.gaps, night.covered) == (State.PASS, (), ("node1",))
    assert len(night.sessions) == 2
    assert night.passed[-1].startswith("OsuLatency") and night.passed[-1].endswith(", node1")
    assert set(night.nodes) >= {"node1", "node2"}


def test_a_pass_says_what_the_budget_left_out_and_a_night_without_one_does_not(tmp_path):
    whole = complete()
    told = {**whole["session_info"], "budget": "5", "left_out": "Hpl:BtIo"}
    keep_report(tmp_path, {**whole, "session_info": told})
    night = summarise(tmp_path, record(), SITE)
    assert (night.state, night.budget, night.left_out) == (State.PASS, "5", ("Hpl", "BtIo"))
    assert night.headline.endswith("passed; 2 checks left out by the budget")
    assert night.left_out_by_budget == "Left out by the budget of 5 node-hours: 2 checks, Hpl, BtIo"
    keep_report(tmp_path, whole)
    night = summarise(tmp_path, record(), SITE)
    assert (night.left_out_by_budget, night.headline.endswith("passed")) == ("", True)


def test_a_failure_on_one_of_the_single_nodes_names_it_and_not_the_other(tmp_path):
    keep_report(tmp_path, complete())
    keep_report(tmp_path, report([pinned(latency(), "node1"), pinned(latency(value=900), "node2")]), SINGLE)
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert night.state is State.FAIL
    assert list(night.suspects) == ["node2"]
    assert night.covered == ("node1", "node2")
    assert "node2" in night.problems[0].case


def test_nodes_measured_by_one_job_are_each_covered_but_for_those_that_gave_nothing(tmp_path):
    keep_report(tmp_path, complete())
    keep_report(tmp_path, report([pinned(latency(), node) for node in ("node1", "node2", "node3")]), SINGLE)
    many = latency(
        name="Stream %scale=one_node",
        check_class="Stream",
        parameters={"scale": "one_node"},
        job_nodelist=["node1", "node2", "node3"],
        per_node={"latency_8B": {"unit": "us", "values": {"node1": 5.0, "node2": 6.0}}},
        value=900,
        suspects=["node2"],
    )
    keep_report(tmp_path, report([many]), "rotation/cpu-together-1/run-report.json")
    night = summarise(tmp_path, record(planned=("node1", "node2", "node3")), SITE)
    assert night.covered == ("node1", "node2")
    assert "nodes due in the rotation have no result: node3" in gaps(night)
    assert list(night.suspects) == ["node2"]


def test_a_node_on_which_the_job_of_many_hung_leaves_the_others_uncovered(tmp_path):
    keep_report(tmp_path, complete())
    hung = latency(
        name="Stream %scale=one_node", check_class="Stream", parameters={"scale": "one_node"}, result="fail",
        job_nodelist=["node1", "node2"], suspects=["node2"], hung_on=["node2"], fail_phase="sanity", perfvalues={},
    )  # fmt: skip
    keep_report(tmp_path, report([hung]), "rotation/cpu-together-1/run-report.json")
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert night.covered == ("node2",)
    assert "nodes due in the rotation have no result: node1" in gaps(night)


@pytest.mark.parametrize("together", [True, False])
def test_a_node_is_not_covered_when_the_session_of_a_check_left_no_report(tmp_path, together):
    stream = latency(name="Stream %scale=one_node", check_class="Stream", parameters={"scale": "one_node"})
    keep_report(tmp_path, complete(stream))
    keep_report(tmp_path, report([pinned(latency(), node) for node in ("node1", "node2")]), SINGLE)
    if together:
        many = stream | {"job_nodelist": ["node1", "node2"]}
        keep_report(tmp_path, report([many]), "rotation/cpu-together-1/run-report.json")
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert night.covered == (("node1", "node2") if together else ())
    assert ("nodes due in the rotation have no result: node[1-2]" in gaps(night)) is not together


def test_a_retry_counts_for_its_own_node(tmp_path):
    keep_report(tmp_path, complete())
    first = [pinned(latency(), "node1"), pinned(latency(value=900), "node2")]
    keep_report(tmp_path, report(first, [pinned(latency(value=901), "node2")]), SINGLE)
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert list(night.suspects) == ["node2"]
    assert night.counts["fail"] == 1


def test_a_fault_of_a_single_node_is_told_from_a_transient(tmp_path):
    slow = {"hashcode": "1d0c36f2", "partition_size": 4, "fail_phase": "performance"}
    keep_report(tmp_path, complete())
    pair = [pinned(latency(value=900, **slow), node) for node in ("node1", "node2")]
    keep_report(tmp_path, report(pair, uuid="u1"), SINGLE)
    for purpose, node, value in (
        ("same-nodes", "node1", 9),
        ("same-nodes", "node2", 901),
        ("other-nodes", "node3", 9),
    ):
        entry = pinned(latency(value=value, **slow), node)
        asked = node if purpose == "same-nodes" else "node2"
        again = report([entry | {"display_name": entry["name"]}], confirms="u1", purpose=purpose, nodes=asked)
        keep_report(tmp_path, again, f"rotation/cpu/confirmations/{purpose}-{node}.json")
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert list(night.suspects) == ["node2"]
    assert (night.counts["fail"], night.covered) == (1, ("node1", "node2"))
    [line] = [problem.line for problem in night.problems if problem.state is State.FAIL]
    assert "node-bound: out of bounds again on node2, within bounds on node3" in line


def test_a_night_without_report_is_incomplete(tmp_path):
    tmp_path.mkdir(exist_ok=True)
    night = summarise(tmp_path, record(ended=None), SITE)
    assert night.state is State.INCOMPLETE
    assert "left no report" in gaps(night)
    assert "killed" in gaps(night)


def test_a_report_that_is_damaged_is_incomplete(tmp_path):
    (tmp_path / "run-report.json").write_text('{"runs": [')
    night = summarise(tmp_path, record(), SITE)
    assert night.state is State.INCOMPLETE
    assert "run-report.json" in gaps(night)


def test_a_cut_night_is_incomplete_and_blames_no_case_that_was_running(tmp_path):
    keep_report(tmp_path, report([case("PartitionState"), aborted()]))
    cut = summarise(tmp_path, record(cut="it reached its time limit"), SITE)
    assert cut.state is State.INCOMPLETE
    assert "time limit" in gaps(cut)
    assert "aborted while it ran" in gaps(cut)


def test_a_chain_that_has_ended_is_said(tmp_path):
    keep_report(tmp_path, complete())
    night = summarise(tmp_path, record(unscheduled="sbatch: Slurm is down"), SITE)
    assert night.state is State.INCOMPLETE
    assert night.gaps == ("the next night is not submitted: sbatch: Slurm is down",)


def test_what_was_done_to_nodes_is_kept_and_no_more_suggested(tmp_path):
    slow = latency(value=900, suspects=["node1", "node2"], findings=[finding("node1"), finding("node2")])
    keep_report(tmp_path, complete(slow))
    night = summarise(tmp_path, record(actions=(action("node1"),)), SITE)
    assert night.actions == (told(action("node1")),)
    assert [line.split()[2] for line in night.drain] == ["nodename=node2"]
    assert "out of service" not in gaps(night)


@pytest.mark.parametrize(
    "changes", [{"actions": (action("node1", outcome="failed", said="denied"),)}, {"not_acted": "denied"}]
)
def test_what_could_not_be_done_to_a_node_makes_the_night_incomplete(tmp_path, changes):
    keep_report(tmp_path, complete())
    night = summarise(tmp_path, record(**changes), SITE)
    assert night.state is State.INCOMPLETE
    assert "a node could not be drained or resumed: " in gaps(night) and "denied" in gaps(night)


def test_a_failure_before_the_cut_still_fails(tmp_path):
    keep_report(tmp_path, report([case("PartitionState"), latency(value=900)]))
    assert summarise(tmp_path, record(cut="stopped by SIGTERM"), SITE).state is State.FAIL


def aborted(**changes):
    return latency(result="abort", fail_phase="run", fail_reason="KeyboardInterrupt", perfvalues={}, **changes)


def test_a_failure_that_was_measured_again_when_the_cut_came_still_fails(tmp_path):
    keep_report(tmp_path, report([case("PartitionState"), latency(value=900)], uuid="first"))
    again = report([aborted()], uuid="again", confirms="first", purpose="same-nodes")
    keep_report(tmp_path, again, "confirmations/same-nodes-1.json")
    elsewhere = aborted(job_nodelist=["node8", "node9"], provenance={})
    elsewhere = report([elsewhere], uuid="elsewhere", confirms="first", purpose="other-nodes")
    keep_report(tmp_path, elsewhere, "confirmations/other-nodes-1.json")
    cut = summarise(tmp_path, record(cut="it reached its time limit"), SITE)
    assert cut.state is State.FAIL
    assert "time limit" in gaps(cut)
    assert [problem.state for problem in cut.problems] == [State.FAIL]
    assert not set(cut.suspects) & {"node8", "node9"}


def test_a_single_node_that_failed_before_the_cut_is_still_suspect(tmp_path):
    keep_report(tmp_path, complete())
    first = [pinned(latency(), "node1"), pinned(latency(value=900), "node2")]
    keep_report(tmp_path, report(first, [pinned(aborted(), "node2")]), SINGLE)
    night = summarise(tmp_path, record(planned=("node1", "node2"), cut="stopped by SIGTERM"), SITE)
    assert (night.state, list(night.suspects), night.covered) == (State.FAIL, ["node2"], ("node1", "node2"))


def test_planned_nodes_that_did_not_run_are_incomplete_and_not_covered(tmp_path):
    keep_report(tmp_path, complete())
    keep_report(tmp_path, report([pinned(latency(), "node1"), pinned(latency(result="skip"), "node2")]), SINGLE)
    night = summarise(tmp_path, record(planned=("node1", "node2", "node3")), SITE)
    assert night.state is State.INCOMPLETE
    assert night.covered == ("node1",)
    assert "node[2-3]" in gaps(night)


def test_a_node_that_was_measured_is_covered_though_a_reference_is_missing(tmp_path):
    keep_report(tmp_path, complete())
    measured = {"perfvalues": {"embedded:cpu:latency_8B": [9, 0, None, None, "us", "pass"]}}
    cases = [pinned(latency(**measured), "node1"), pinned(latency(value=None), "node2")]
    keep_report(tmp_path, report(cases), SINGLE)
    night = summarise(tmp_path, record(planned=("node1", "node2")), SITE)
    assert (night.state, night.covered) == (State.INCOMPLETE, ("node1",))
    assert "no reference" in gaps(night)


def test_a_summary_of_an_earlier_version_is_read(tmp_path):
    keep_report(tmp_path, complete())
    night = summarise(tmp_path, record(), SITE)
    later = ("single", "passed")
    known = {key: value for key, value in json.loads(to_json(night)).items() if key not in later}
    (tmp_path / "summary.json").write_text(json.dumps(known), encoding="utf-8")
    assert load_night(tmp_path) == dataclasses.replace(night, **dict.fromkeys(later))


def test_a_summary_survives_its_file(tmp_path):
    keep_report(tmp_path, complete(latency("gpu", value=900)))
    night = summarise(tmp_path, record(), SITE)
    (tmp_path / "summary.json").write_text(to_json(night), encoding="utf-8")
    assert load_night(tmp_path) == night


def test_the_archive_keeps_summaries_and_names_what_is_damaged(tmp_path):
    for number, name in enumerate(("20261115T020000", "20261116T020000")):
        folder = tmp_path / "nights" / name
        keep_record(folder, record(night=f"2026-11-{15 + number}", started=START + number))
        keep_report(folder, complete())
    (tmp_path / "nights/broken").mkdir()
    (tmp_path / "nights/broken/night.json").write_text('{"night": 3}')
    archive = open_archive(tmp_path, SITE)
    assert [night.night for night in archive.nights] == ["2026-11-15", "2026-11-16"]
    assert len(archive.damaged) == 1 and "broken" in archive.damaged[0]
    assert len(reports_of(tmp_path, archive.nights)) == 2
    (tmp_path / "nights/20261115T020000/run-report.json").unlink()
    assert open_archive(tmp_path, SITE).nights == archive.nights


@pytest.mark.parametrize("newer", [False, True], ids=["newest", "an older one"])
def test_only_the_newest_night_may_still_be_running(tmp_path, newer):
    keep_record(tmp_path / "nights/20261115T020000", record(ended=None))
    if newer:
        keep_record(tmp_path / "nights/20261116T020000", record())
    archive = open_archive(tmp_path, SITE, now=START + 60)
    assert bool(archive.running) is not newer
    assert [night.state for night in archive.nights] == ([State.INCOMPLETE] * 2 if newer else [])
    assert len(open_archive(tmp_path, SITE, now=START + 7200).nights) == 1 + newer


@pytest.mark.parametrize("later", [60, 30 * 86400], ids=["within the night", "a month later"])
def test_a_report_that_comes_after_its_conductor_died_is_judged(tmp_path, later):
    folder = tmp_path / "nights/20261115T020000"
    keep_record(folder, record(ended=None))
    keep_record(tmp_path / "nights/20261116T020000", record())
    assert open_archive(tmp_path, SITE, now=START + later).nights[0].sessions == ()
    keep_report(folder, complete(latency("gpu", value=900)))
    assert open_archive(tmp_path, SITE, now=START + later).nights[0].state is State.FAIL
    (folder / "run-report.json").unlink()
    assert open_archive(tmp_path, SITE, now=START + 30 * 86400).nights[0].state is State.FAIL


def test_a_summary_that_cannot_be_kept_is_still_shown(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "nights/20261115T020000"
    keep_record(folder, dataclasses.replace(record()))
    keep_report(folder, complete())
    (folder / "summary.json").mkdir()
    monkeypatch.setattr("pathlib.Path.exists", lambda path: path.name != "summary.json" and path.is_file())
    assert len(open_archive(tmp_path, SITE).nights) == 1
    assert "summary.json" in capsys.readouterr().err
