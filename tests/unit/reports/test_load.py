import json
import math
import os

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.runs import find_report
from tests.unit.reports.samples import DATA, case, cases_of, complete, latency, loaded, recorded, report, with_metric


def write(folder, text, name="run-report.json"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_report_loads(path):
    session = load_session(path)
    assert sum(map(len, session.runs)) == len(cases_of(recorded(path.stem)))


def test_a_case_as_recorded():
    session = load_session(DATA / "campaign.json")
    assert (session.mode, session.systems, len(session.runs)) == ("nightly", ("embedded",), 1)
    found = next(entry for entry in session.runs[0] if entry.name.startswith("OsuLatency %placement=two_nodes"))
    assert (found.check_class, found.family, found.variant) == ("OsuLatency", "network/osu-pt2pt", "two_nodes")
    assert found.nodes == ("node1", "node2")
    assert found.output.endswith("/rfm_job.out")
    assert [metric.name for metric in found.metrics] == ["latency_8B", "latency_1MiB"]
    assert found.metrics[0].source.source == "theoretical"
    assert found.curves["latency"].gated == {"8": "latency_8B", "1048576": "latency_1MiB"}
    assert found.provenance.hostname == "node1"
    census = next(entry.census for entry in session.runs[0] if entry.census)
    assert {check.name: check.missing for check in census.checks}["GpuInventory"] == ("nvidia",)


def test_output_of_a_failed_case_stays_in_the_stage_folder():
    session = load_session(DATA / "outcomes.json")
    outputs = {entry.name: entry.output for entry in session.runs[0]}
    assert outputs["TooSlow"] == "/results/stage/bench/cpu/packaged/TooSlow/rfm_job.out"
    assert outputs["NoReference"] == "/results/output/bench/cpu/packaged/NoReference/rfm_job.out"
    assert outputs["Skipped"] is None


def test_a_foreign_check_may_use_the_names_of_kappas_variables(tmp_path):
    assert recorded("outcomes")["runs"][0]["testcases"][-1]["hint"] == 3
    foreign = {"name": "Foreign", "system": "s", "partition": None, "result": "pass", "curves": 7, "census": []}
    found = loaded(report([foreign]), tmp_path).runs[0][0]
    assert (found.check_class, found.hint, found.metrics, found.partition) == (None, "", (), "")


def test_what_reframe_could_not_set_is_absent(tmp_path):
    found = loaded(report([latency(curves="<undefined>", hint="<undefined>")]), tmp_path).runs[0][0]
    assert (found.curves, found.hint) == ({}, "")


def test_numbers_beyond_a_double_are_infinite(tmp_path):
    document = json.dumps(with_metric(12345)).replace("12345", "9" * 5000)
    metric = load_session(write(tmp_path, document)).runs[0][1].metrics[0]
    assert metric.value == math.inf


@pytest.mark.parametrize("value", ["12", True, [1], {"a": 1}])
def test_what_is_no_number_is_no_value(value, tmp_path):
    metric = loaded(with_metric(value), tmp_path).runs[0][1].metrics[0]
    assert metric.value is None
    assert metric.raw == str(value)


def test_nodes_that_the_job_recorded_count_too(tmp_path):
    entry = latency(job_nodelist=["node1"], provenance={"nodelist": ["node1", "node2"]})
    found = loaded(report([entry]), tmp_path).runs[0][0]
    assert found.nodes == ("node1", "node2")
    entry["per_node"] = {"clock": {"unit": "us", "values": {"node3": 0}}}
    assert loaded(report([entry]), tmp_path).runs[0][0].involved == {"node1", "node2", "node3"}


def test_hostile_strings_are_clean_everywhere(tmp_path):
    hostile = "\x1b[2J<script>alert(1)</script>\ud800"
    entry = latency(name=hostile, hint=hostile, job_nodelist=[hostile], fail_reason=hostile)
    found = loaded(report([entry], user=hostile), tmp_path)
    clean = "<script>alert(1)</script>"
    assert found.user == found.runs[0][0].name == found.runs[0][0].hint == found.runs[0][0].fail_reason == clean
    assert clean in found.runs[0][0].nodes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not valid JSON"),
        (json.dumps(complete(), indent=1)[:5000], r"line \d+: not valid JSON .* is the file complete"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", r"the document: expected object, found \[\]"),
        ("{}", "'session_info' is a required property"),
        ('{"session_info": {}, "runs": 3}', "runs: expected array, found 3"),
        ('{"session_info": {}, "runs": [{}]}', r"runs\[0\]: 'testcases' is a required property"),
        ('{"session_info": {"mode": 1}, "runs": []}', "session_info.mode: expected string or null, found 1"),
        ('{"a": 1, "a": 2}', "has a key twice"),
        ('"\\ud800 \x1b[31m"', "not valid JSON"),
    ],
    ids=range(10),
)
def test_a_broken_report_is_an_error_that_names_file_and_key(text, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        load_session(path)
    assert str(path) in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"perfvalues": {"embedded:cpu:x": [1, 2]}}, r"runs\[0\].testcases\[0\].perfvalues\['embedded:cpu:x'\]"),
        ({"perfvalues": {"x": [1, "2", None, None, "us"]}}, r"perfvalues.x\[1\]: expected number or null, found '2'"),
        ({"job_nodelist": "node1"}, "job_nodelist: expected array or null"),
        ({"suspects": "node1"}, "suspects: expected array, found 'node1'"),
        ({"curves": {"c": {"x": "Size"}}}, r"curves.c: 'x_unit' is a required property"),
        ({"per_node": {"m": {"unit": "us", "values": {"n": "1"}}}}, "per_node.m.values.n: expected number"),
        ({"matrices": {"m": {"unit": "us", "nodes": ["a", "b"]}}}, "matrices.m: 'values' is a required property"),
        ({"matrices": {"m": {"unit": "us", "nodes": ["a", "a"], "values": []}}}, "m: expected each of the nodes once"),
        ({"matrices": {"m": {"unit": "us", "nodes": ["a"], "values": []}}}, "matrices.m: expected 1 lists of 1"),
        ({"matrices": {"m": {"unit": "us", "nodes": ["a"], "values": [1]}}}, r"m.values\[0\]: expected array, found 1"),
        ({"matrices": {"m": {"unit": "us", "nodes": ["a"], "values": [["x"]]}}}, "expected number or null, found 'x'"),
        ({"findings": [{"kind": "rack"}]}, r"findings\[0\]"),
        ({"reference_sources": {"m": {"source": "vendor"}}}, "reference_sources.m: 'date' is a required property"),
        ({"census": {"checks": [], "not_loaded": "none"}}, "census.not_loaded: expected array, found 'none'"),
        ({"result": None}, "'result' is a required property"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_case_of_the_wrong_shape_is_an_error_that_names_the_key(changes, message, tmp_path):
    with pytest.raises(InputError, match=message):
        loaded(report([latency(**changes)]), tmp_path)


def test_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_session(tmp_path / "none.json")
    (tmp_path / "latin1.json").write_bytes(b'"\xe9"')
    with pytest.raises(InputError, match="not valid JSON"):
        load_session(tmp_path / "latin1.json")


def test_a_folder_stands_for_its_newest_report(tmp_path):
    names = ["run-report-1.json", "report-2.json", "run-report-0.json"]
    for age, name in enumerate(names):
        os.utime(write(tmp_path, "{}", name), (1000 - age, 1000 - age))
    os.utime(write(tmp_path, "{}", "other.json"), (2000, 2000))
    assert find_report(tmp_path).name == "run-report-1.json"
    with pytest.raises(InputError, match=r"no run-report\*.json or report\*.json in this folder"):
        find_report(tmp_path.parent)


def test_a_line_of_many_megabytes_loads(tmp_path):
    found = loaded(report([case("Hpl", fail_reason="x" * 20_000_000)]), tmp_path)
    assert len(found.runs[0][0].fail_reason) == 20_000_000
