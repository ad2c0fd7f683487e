"""The journal of a session: complete lines, from which a report is made."""

import json

import pytest

from kappa.core.record import journal
from kappa.core.record.journal import Journal, report_of


def line(number, name, run=0):
    return json.dumps({"number": number, "run": run, "case": {"name": name}})


def test_the_last_word_on_a_case_counts_and_its_runs_are_apart():
    text = "\n".join([json.dumps({"session_info": {"uuid": "u"}}), line(0, "A"), line(0, "A'"), line(1, "B", run=1)])
    report = report_of(text, "killed")
    assert report["session_info"] == {"uuid": "u", "cut": "killed"}
    assert [[case["name"] for case in run["testcases"]] for run in report["runs"]] == [["A'"], ["B"]]


@pytest.mark.parametrize(
    "text", ["", "{}", '{"number": 0, "run"', "[]\n7\nnull", '{"number": "x", "run": 0, "case": {}}']
)
def test_what_tells_of_no_case_is_no_report(text):
    assert report_of(text, "killed") is None


def test_what_a_full_disk_refuses_comes_with_the_next_line(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    path.touch()
    kept = Journal(path)
    write = journal.os.write
    monkeypatch.setattr(journal.os, "write", lambda handle, content: write(handle, content[:2]))
    kept.add("first")
    assert path.read_text() == ""
    monkeypatch.setattr(journal.os, "write", write)
    kept.add("second")
    assert path.read_text() == "first\nsecond\n"
