"""Outputs of a night for other programs: no name, hint or reason adds a line, label, element or link."""

import re
from xml.etree import ElementTree as ET

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reports.nightly.archive import Archive
from reports.nightly.junit import junit
from reports.nightly.message import message
from reports.nightly.night import load_record
from reports.nightly.prometheus import prometheus
from reports.nightly.summarise import judge_night, summarise
from tests.unit.nightly.samples import failed_night, failure, keep_record, keep_report, night, record
from tests.unit.nightly.test_compare import series, stepped
from tests.unit.reports.samples import SITE, complete, finding, latency

HOSTILE = 'n"} 1\n# owned <b>](http://evil.example)|`id`\\ & ]]>'
CONTROLS = set("\x1b\x07\x9b\x00\x08\u202e")
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x08\u202e\ufffe"  # the last of them XML alone forbids


@pytest.fixture
def judged(tmp_path):
    text = ESCAPES + HOSTILE
    entry = latency(
        value=900, name=f"OsuLatency {text}", hint=text, fail_reason=text, job_nodelist=[text], suspects=[text],
        findings=[finding(text, evidence=text, quantity=text)],
    )  # fmt: skip
    keep_record(tmp_path, record(cut=text))
    keep_report(tmp_path, complete(entry))
    kept = load_record(tmp_path)
    return summarise(tmp_path, kept, SITE), judge_night(tmp_path, kept, SITE)


def test_prometheus_has_the_same_lines_with_any_name(judged):
    one = stepped(5)
    nasty = type(one)(series(one.series.values, metric=HOSTILE, unit=HOSTILE, case=HOSTILE), one.finding, True, ())
    found, _ = judged
    text = prometheus("embedded", Archive((failed_night(0, node=HOSTILE, sessions=("session-11",)),), (), ()), [nasty])
    plain = prometheus("embedded", Archive((failed_night(0, node="n", sessions=("session-11",)),), (), ()), [one])
    assert len(text.splitlines()) == len(plain.splitlines())
    families = list(text_string_to_metric_families(text))
    assert HOSTILE in [sample.labels.get("node") for family in families for sample in family.samples]
    whole = prometheus("embedded", Archive((found,), (), ()), [])
    assert len(list(text_string_to_metric_families(whole))) == whole.count("# TYPE")
    assert not set(text + whole) & CONTROLS


def test_junit_has_the_same_elements_with_any_name(judged):
    one = stepped(5)
    hostile = series(one.series.values, case=HOSTILE, unit=ESCAPES, nodes=HOSTILE)
    nasty = type(one)(hostile, one.finding, True, (ESCAPES,))
    text = junit("embedded", *judged, [nasty], ESCAPES)
    assert {element.tag for element in ET.fromstring(text).iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error",
    }  # fmt: skip
    assert "owned" in text
    assert not set(text) & CONTROLS


def test_the_message_has_no_link_heading_or_command_of_a_report(judged):
    found, _ = judged
    hostile = failed_night(
        1, node=HOSTILE, problems=(failure(HOSTILE, HOSTILE),), gaps=(HOSTILE,), headline=HOSTILE, covered=(HOSTILE,)
    )
    for one in (found, hostile):
        text = message("embedded", Archive((night(0), one), (), (HOSTILE,)), [])
        lines = [line for line in text.splitlines() if not line.startswith("    ")]
        assert not [line for line in text.splitlines() if line.startswith("# owned")], text
        prose = re.sub(r"\\.", "", "\n".join(lines))
        for meaning in ("](", "<b>", "`id`", "http://"):
            assert meaning not in prose, prose
        assert not set(text) & CONTROLS
