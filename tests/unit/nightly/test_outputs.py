"""Dashboard, JUnit XML and Prometheus text."""

import datetime
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from kappa.core.ground.folders import SUITE as REPOSITORY
from reports.history.findings import FindingKind, SeriesFinding
from reports.history.judgement import JudgedSeries
from reports.nightly.alert import Links
from reports.nightly.archive import Archive, months
from reports.nightly.dashboard import render
from reports.nightly.junit import junit
from reports.nightly.message import message
from reports.nightly.night import load_record
from reports.nightly.prometheus import STATES, prometheus
from reports.nightly.summarise import JudgedNight, judge_night, summarise
from reports.show.junit import run_junit
from reports.verdict.state import State
from tests.unit.nightly.samples import failed_night, keep_record, keep_report, night, record
from tests.unit.nightly.test_compare import series, stepped
from tests.unit.reports.samples import SITE, case, complete, judged, latency, report

HOSTILE = '"><script>alert(1)</script>\x1b[31m'


def archive(*nights):
    return Archive(tuple(nights), (), ())


def samples(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_calendar_has_every_day_and_the_worst_night_of_each():
    nights = [night(0), failed_night(0, folder="again"), night(0, folder="and again"), night(20)]
    december, november = months(nights)
    assert (december.title, november.title) == ("December 2026", "November 2026")
    days = {day.date: day for week in november.weeks for day in week if day.date}
    assert len(days) == 30
    first = days[datetime.date(2026, 11, 15)]
    assert (first.night.state, first.runs) == (State.FAIL, 3)
    assert days[datetime.date(2026, 11, 16)].missed


def test_message_and_dashboard_name_what_the_budget_left_out():
    nights = archive(night(0, budget="5", left_out=("Hpl", HOSTILE)))
    told = message("embedded", nights, [])
    assert "Left out by the budget of 5 node-hours: 2 checks, Hpl, " in told
    page = render("embedded", nights, [])
    assert "<p>Left out by the budget of 5 node-hours: 2 checks, Hpl, " in page
    assert "<script>alert" not in told + page
    assert "Left out" not in message("embedded", archive(night(0)), []) + render("embedded", archive(night(0)), [])


def test_the_dashboard_names_a_lost_night():
    assert "Lost night" not in render("embedded", archive(night(0), night(1)), [])
    lost = night(1, ended=None, state=State.INCOMPLETE, gaps=("the night left no report",))
    page = render("embedded", archive(night(0), lost, night(2)), [])
    assert "2026-11-16 in night-00001" in page
    assert "Changed since the night of 2026-11-15" in page


def test_a_night_without_a_page_is_no_link():
    lost = night(1, ended=None, state=State.INCOMPLETE, sessions=(), gaps=("the night left no report",))
    page = render("embedded", archive(night(0), lost), [])
    # In calendar and table.
    assert page.count("../nights/night-00000/report.html") == 2
    assert "../nights/night-00001" not in page
    assert "report of this night" not in page


def test_prometheus_text_is_read_back():
    archived = archive(night(0, covered=("node1",)), failed_night(1, sessions=("session-11",)))
    found = samples(prometheus("embedded", archived, [stepped(5)]))
    site = ("site", "embedded")
    assert found["kappa_night_verdict", site] == 2
    assert found["kappa_night_duration_seconds", site] == 600
    assert found["kappa_node_suspect", ("node", "node1"), site] == 0
    assert found["kappa_node_suspect", ("node", "node2"), site] == 1
    assert found["kappa_node_covered_timestamp_seconds", ("node", "node1"), site] == archived.nights[0].started
    assert found["kappa_history_worse_series", site] == 1
    assert [value for (name, *_), value in found.items() if name == "kappa_value"] == [500]


def test_prometheus_orders_verdicts_from_good_to_bad():
    nights = [night(0), night(0, state=State.INCOMPLETE), failed_night(0)]
    found = [samples(prometheus("embedded", archive(one), [])) for one in nights]
    assert [one["kappa_night_verdict", ("site", "embedded")] for one in found] == [0, 1, 2]


def test_prometheus_has_every_state_and_bound_and_no_list_of_nodes():
    archived = archive(failed_night(1, sessions=("session-11",)))
    one = stepped(5)
    several = [replace(one.series, nodes=nodes, lower=400.0) for nodes in ("node1", "node1,node2", "node3,node4")]
    newest = replace(several[2], times=several[2].times + 1, values=several[2].values + 1)
    found = samples(prometheus("embedded", archived, [replace(one, series=each) for each in (*several[:2], newest)]))
    assert {dict(labels)["state"] for name, *labels in found if name == "kappa_night_cases"} == set(STATES)
    values = {dict(labels)["node"]: value for (name, *labels), value in found.items() if name == "kappa_value"}
    assert values == {"node1": 500, "": 501}
    bounds = [(dict(labels)["side"], value) for (name, *labels), value in found.items() if name == "kappa_bound"]
    assert bounds == [("lower", 400), ("lower", 400)]


def exported():
    text = prometheus("embedded", archive(failed_night(1, sessions=("session-11",))), [stepped(5)])
    return set(re.findall(r"^# TYPE (kappa_[a-z_]+) gauge$", text, re.MULTILINE))


def test_the_dashboard_of_grafana_draws_what_is_exported():
    text = (REPOSITORY / "docs/grafana.json").read_text(encoding="utf-8")
    assert set(re.findall(r"kappa_[a-z_]+", text)) == exported()
    ids = [panel["id"] for panel in json.loads(text)["panels"]]
    assert len(ids) == len(set(ids))


def test_the_nights_are_annotations_with_a_link_to_their_report():
    [nights] = json.loads((REPOSITORY / "docs/grafana.json").read_text(encoding="utf-8"))["annotations"]["list"]
    text = prometheus("embedded", archive(failed_night(1, folder="20261116T020000")), [], Links.of("https://h/k"))
    [labels] = [dict(labels) for name, *labels in samples(text) if name == "kappa_night_info"]
    assert labels["report"] == "https://h/k/nights/20261116T020000/report.html"
    assert (labels["night"], labels["verdict"]) == ("2026-11-16", "FAIL")
    named = set(re.findall(r"{{(\w+)}}", nights["titleFormat"] + nights["textFormat"]))
    assert {"night", "verdict", "report"} == named <= labels.keys()


def test_the_alert_rules_of_grafana_ask_for_what_is_exported():
    document = yaml.safe_load((REPOSITORY / "docs/grafana-alerts.yaml").read_text(encoding="utf-8"))
    assert document["apiVersion"] == 1
    rules = [rule for group in document["groups"] for rule in group["rules"]]
    panels = {panel["id"] for panel in json.loads((REPOSITORY / "docs/grafana.json").read_text("utf-8"))["panels"]}
    assert len({rule["uid"] for rule in rules}) == len(rules) == 5
    for rule in rules:
        question, threshold = rule["data"]
        asked = question["model"]["expr"]
        assert (question["refId"], threshold["model"]["expression"]) == ("A", "A")
        assert rule["condition"] == threshold["refId"] == threshold["model"]["refId"]
        assert threshold["datasourceUid"] == "__expr__" and rule["panelId"] in panels
        metrics = set(re.findall(r"kappa_\w+", asked))
        assert metrics and metrics <= exported()
        # Grafana takes `$labels` in such a file for a variable of its environment.
        assert "$" not in str(rule)
        kept = set(re.findall(r"\w+", " ".join(re.findall(r"(?:by|group_left) \(([^)]*)\)", asked))))
        assert set(re.findall(r"\.Labels\.(\w+)", str(rule["annotations"]))) <= kept


def test_prometheus_shows_no_value_of_an_earlier_night_as_the_newest():
    found = samples(prometheus("embedded", archive(night(40)), [stepped(5)]))
    assert not any(name == "kappa_value" for name, *_ in found)


def test_hostile_names_stay_within_their_label():
    nasty = 'node"}\nkappa_night_verdict{site="other'
    found = samples(prometheus("embedded", archive(failed_night(0, node=nasty)), []))
    assert sum(name == "kappa_night_verdict" for name, *_ in found) == 1


@pytest.mark.parametrize("document", [complete(), report([case("PartitionState"), latency(value=900)])])
def test_junit_counts_what_failed_and_what_is_missing(tmp_path, document):
    keep_record(tmp_path, record(planned=("node1",)))
    keep_report(tmp_path, document)
    kept = load_record(tmp_path)
    suite = ET.fromstring(junit("embedded", summarise(tmp_path, kept, SITE), judge_night(tmp_path, kept, SITE), []))[0]
    tests = suite.findall("testcase")
    assert int(suite.get("tests")) == len(tests)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("errors")) == len(suite.findall("testcase/error")) >= 1
    if document["runs"][0]["testcases"][1]["result"] == "fail":
        assert "latency_8B" in suite.find("testcase/failure").get("message")


def test_junit_of_one_run(tmp_path):
    (suite,) = ET.fromstring(run_junit(judged(report([latency(value=900)]), tmp_path)))
    failed, *missing = suite
    assert (failed.find("failure") is not None, len(missing) > 0) == (True, True)
    assert all(one.find("error").get("type") == "incomplete" for one in missing)
    assert (suite.get("failures"), suite.get("errors")) == ("1", str(len(missing)))


def test_junit_holds_text_that_xml_cannot(tmp_path):
    keep_record(tmp_path, record(cut="\x00 ]]> <b>\ud800".encode("utf-8", "replace").decode()))
    kept = load_record(tmp_path)
    ET.fromstring(junit("embedded", summarise(tmp_path, kept, SITE), judge_night(tmp_path, kept, SITE), []))


def test_junit_tells_what_was_out_of_bounds_at_first(tmp_path):
    twice = latency(first_measurement={"perfvalues": latency(value=900.0)["perfvalues"]})
    keep_record(tmp_path, record())
    keep_report(tmp_path, report([case("PartitionState"), twice], mode="nightly"))
    kept = load_record(tmp_path)
    suite = ET.fromstring(junit("embedded", summarise(tmp_path, kept, SITE), judge_night(tmp_path, kept, SITE), []))[0]
    [said] = suite.findall("testcase/system-out")
    assert said.text.startswith("at first: ")
    assert "latency_8B 900" in said.text
    assert suite.get("failures") == "0"


def test_junit_has_the_history_in_a_suite_of_its_own():
    thin = JudgedSeries(series([1.0]), SeriesFinding(FindingKind.THIN, 1.0, 1.0, 0.0, 0, ()), False)
    nothing = JudgedNight(None, (), (), (), ())
    found = [stepped(5), stepped(5, worse=False), thin]
    tests, past = ET.fromstring(junit("embedded", night(), nothing, found, "damaged"))
    assert [suite.get("tests") for suite in (tests, past)] == ["0", "4"]
    assert [past.get(kind) for kind in ("failures", "errors", "skipped")] == ["1", "1", "1"]
    [failure] = past.findall("testcase/failure")
    assert failure.get("message").startswith("step, worse since 2026-11-")
    assert failure.get("message").endswith("→ 500 MB/s")
    assert "kernel: 6.1 → 6.2" in failure.text


def test_page_shows_the_fault_and_names_the_node():
    fault = failed_night(3)
    page = render("embedded", archive(*(night(n) for n in range(3)), fault), [stepped(3, nights=4)])
    assert "<title>FAIL – nights of embedded – 2026-11-18</title>" in page
    assert page.count('class="night pass"') == 3
    assert page.count('class="night fail last"') == 1
    assert "New suspect: <b>node2</b>" in page
    assert "kernel: 6.1 → 6.2" in page
    assert 'data-trend="0"' in page
    assert "--repeat 20" not in page


def test_page_and_message_show_what_was_done_to_nodes_as_text():
    done = archive(night(0, actions=(f"node2: drained for {HOSTILE}",)))
    page, said = render("embedded", done, []), message("embedded", done, [])
    assert "Nodes drained or resumed" in page and "Nodes drained or resumed" in said
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page
    assert "<script>" not in said and "node2: drained for" in said
    assert "out of service" not in render("embedded", archive(night(0)), []) + message(
        "embedded", archive(night(0)), []
    )


def test_the_page_says_how_to_get_values_enough():
    thin = JudgedSeries(series(np.arange(5.0)), SeriesFinding(FindingKind.THIN, 2, 2, 0, 5), False)
    page = render("embedded", archive(night(0)), [stepped(5), thin])
    assert "1 of them have too few values yet: at least 8 are needed" in page
    assert "kappa validate embedded calibrate --repeat 20" in page and "kappa learn embedded" in page


def test_page_of_one_night_without_figures():
    page = render("embedded", archive(night(0, state=State.INCOMPLETE, gaps=("the night left no report",))), [])
    assert "the night left no report" in page
    assert "A trend needs at least two nights" in page


def test_hostile_text_is_text_on_the_page():
    hostile = failed_night(1, node=HOSTILE, folder=HOSTILE, headline=HOSTILE, gaps=(HOSTILE,), covered=(HOSTILE,))
    one = stepped(5)
    nasty = type(one)(series(one.series.values, metric=HOSTILE, unit=HOSTILE), one.finding, True, (HOSTILE,))
    page = render("embedded", archive(night(0), hostile), [nasty])
    assert "<script>alert" not in page
