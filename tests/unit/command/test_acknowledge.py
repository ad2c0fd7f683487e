"""``kappa node ack``: what can be acknowledged, for how long, and where it is shown; it changes no verdict."""

import datetime
import json
import re
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.record.acknowledgements import (
    FILE,
    Acknowledgement,
    Acknowledgements,
    NamedFinding,
    acknowledge,
    acknowledgements_near,
    load_acknowledgements,
)
from reports.history.listing import of_series, show, to_document
from reports.show.history_page import render
from reports.verdict.named_findings import findings_of
from reports.verdict.stored import judge_report
from tests.unit.nightly.samples import START, keep_record, keep_report, pinned, record
from tests.unit.nightly.test_compare import stepped
from tests.unit.reports.samples import complete, latency, report

TODAY = datetime.date.today()
FUTURE = f"{TODAY + datetime.timedelta(days=9)}"
WHY = "cable <b>ordered</b> | ticket 4711"
DONE, FAIL, ERROR = 0, 1, 2


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two nights of the embedded site; in the second a case fails on node2."""
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    for number, value in enumerate((5, 900)):
        folder = tmp_path / f"nights/2026111{5 + number}T020000"
        nodes = ("node1", "node2")
        keep_record(folder, record(night=f"2026-11-{15 + number}", started=START + 86400 * number, planned=nodes))
        main_report = complete()
        main_report["session_info"]["uuid"] = f"session-{number}"
        keep_report(folder, main_report)
        turn = report([pinned(latency(), "node1"), pinned(latency(value=value), "node2")], uuid=f"turn-{number}")
        keep_report(folder, turn, "rotation/cpu/run-report.json")
    assert nightly() == FAIL
    return tmp_path


def nightly():
    return main(["night", "report", "embedded"])


def ack(*words):
    return main(["node", "ack", "embedded", *words])


def ack_until(finding, until=FUTURE, *more):
    return ack(finding, f"--until={until}", f"--reason={WHY}", "--by=ada", *more)


def outputs(results):
    return {path.name: path.read_text() for path in (results / "nightly").iterdir() if path.suffix}


def metrics(text, name):
    return dict(re.findall(rf"^{name}\{{(.*)\}} ([0-9.e+]+)$", text, re.MULTILINE))


def test_an_acknowledged_node_is_shown_wherever_it_is_and_the_verdict_stays(results, capsys):
    before = outputs(results)
    assert WHY not in "".join(before.values())
    assert ack_until("node2") == DONE
    assert nightly() == FAIL
    found = outputs(results)
    document = json.loads(found["alert.json"])
    known = {"until": FUTURE, "by": "ada", "reason": WHY}
    assert {one["finding"]: one["acknowledged"] for one in document["findings"]}["node2"] == known
    assert document["verdict"] == "FAIL"
    assert f"until {FUTURE} by ada: cable \\<b\\>ordered" in found["message.md"]
    assert f"until {FUTURE} by ada: cable &lt;b&gt;ordered" in found["index.html"]
    said = [one.text for one in ET.fromstring(found["junit.xml"]).iter("system-out")]
    assert [WHY in one for one in said] == [True]
    assert ET.fromstring(found["junit.xml"])[0].get("failures") == "1"
    flags = metrics(found["embedded.prom"], "kappa_finding_acknowledged")
    assert len(flags) == 2 and set(flags.values()) == {"1.0"}
    assert metrics(before["embedded.prom"], "kappa_night_verdict") == metrics(
        found["embedded.prom"], "kappa_night_verdict"
    )


def test_a_run_shows_it_on_terminal_page_and_in_files(results, tmp_path, capsys):
    run = results / "nights/20261116T020000/rotation/cpu/run-report.json"
    ack_until("node2")
    capsys.readouterr()
    assert main(["show", str(run), f"--json={tmp_path / 'v.json'}"]) == FAIL
    told = capsys.readouterr().out
    # Beside the suspect, whose table folds it, and below the failure.
    assert told.count(f"acknowledged until {FUTURE}") == 2
    assert f"acknowledged until {FUTURE} by ada: {WHY}\n" in told
    verdict = json.loads((tmp_path / "v.json").read_text())
    assert verdict["suspects"][0]["acknowledged"]["reason"] == WHY
    assert [one["acknowledged"] is None for one in verdict["cases"]].count(False) == 1
    assert main(["show", str(run), "--format=junit", "-o", str(tmp_path / "j.xml")]) == FAIL
    assert WHY in ET.parse(tmp_path / "j.xml").find(".//system-out").text
    assert main(["show", "--format=page", str(run), "-o", str(tmp_path / "page.html")]) == DONE
    page = (tmp_path / "page.html").read_text()
    assert page.count("by ada: cable &lt;b&gt;ordered") == 2 and "<b>ordered" not in page


def test_the_history_shows_it_beside_the_series(capsys):
    slow = stepped(6)
    name = of_series(slow).name
    told = Acknowledgement(
        kind="series", finding=name, until=datetime.date.fromisoformat(FUTURE), reason=WHY, by="ada", time=0.0
    )
    known = Acknowledgements({("series", name): told}, TODAY)
    show([slow], acknowledged=known)
    assert f"acknowledged until {FUTURE} by ada: {WHY}\n" in capsys.readouterr().out
    assert "by ada: cable &lt;b&gt;ordered" in render("embedded", [slow], acknowledged=known)
    (series,) = to_document("embedded", [slow], known)["series"]
    assert series["acknowledged"] == {"until": FUTURE, "by": "ada", "reason": WHY}


def test_a_case_is_acknowledged_by_its_title_and_its_node_is_not(results):
    run = results / "nights/20261116T020000/rotation/cpu/run-report.json"
    node, case = findings_of(judge_report(run))
    assert (node.name, case.kind, case.nodes) == ("node2", "case", ("node2",))
    assert ack_until(case.name) == DONE
    known = judge_report(run).acknowledged
    assert known.of(case) and not known.of(node)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node22", f"--until={FUTURE}", "--reason=x"), "did you mean 'node2'?"),
        (("node", f"--until={FUTURE}", "--reason=x"), "there is no finding 'node'"),
        (("node2", "--remove"), "nothing is acknowledged"),
        (("node2",), "--until DATE --reason TEXT"),
        (("node2", f"--until={FUTURE}"), "--until DATE --reason TEXT"),
        (("--remove",), "name the finding"),
        ((f"--until={FUTURE}",), "name the finding"),
    ],
)
def test_what_is_not_found_is_refused_with_the_nearest(results, capsys, words, said):
    assert ack(*words) == ERROR
    assert said in capsys.readouterr().err
    assert not (results / FILE).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node2", f"--until={TODAY - datetime.timedelta(days=1)}", "--reason=x"), "from today on"),
        (("node2", "--until=9999-12-31", "--reason=x"), "from today on"),
        (("node2", "--until=friday", "--reason=x"), "expected a day"),
        (("node2", f"--until={FUTURE}", "--reason= \n"), "expected 1 to 300 characters"),
        (("node2", f"--until={FUTURE}", f"--reason={'x' * 301}"), "expected 1 to 300 characters"),
    ],
)
def test_an_acknowledgement_has_an_end_and_a_reason(results, capsys, words, said):
    with pytest.raises(SystemExit, match="2"):
        ack(*words)
    assert said in capsys.readouterr().err


def test_it_is_renewed_and_taken_back_and_the_file_only_grows(results, capsys):
    assert ack_until("node2", f"{TODAY}") == DONE
    assert ack_until("node2") == DONE
    first = (results / FILE).read_text()
    assert f"{load_acknowledgements(results).of_node('node2').until}" == FUTURE
    assert ack("node2", "--remove") == DONE
    assert (results / FILE).read_text().startswith(first)
    assert len((results / FILE).read_text().splitlines()) == 3
    assert load_acknowledgements(results).of_node("node2") is None
    assert nightly() == FAIL
    assert WHY not in "".join(outputs(results).values())


def test_the_list_has_what_is_found_and_what_is_acknowledged(results, capsys):
    ack_until("node2")
    acknowledge(results, given("case", "Hpl on cpu", TODAY - datetime.timedelta(days=2)))
    acknowledge(results, given("node", "node9", TODAY))
    capsys.readouterr()
    assert ack() == DONE
    told = capsys.readouterr().out
    assert f"node    node2\n        acknowledged until {FUTURE} by ada: {WHY}\n" in told
    assert "Hpl on cpu (expired)" in told and "node9 (not found any more)" in told
    assert told.endswith("2 found, 2 of them acknowledged\n")


def given(kind, finding, until=TODAY):
    return Acknowledgement(kind=kind, finding=finding, until=until, reason="x", by="ada", time=START)


def test_a_failure_counts_as_acknowledged_if_all_its_nodes_are(tmp_path):
    acknowledge(tmp_path, given("node", "a", TODAY + datetime.timedelta(days=3)))
    both = NamedFinding("case", "Hpl", ("a", "b"))
    assert load_acknowledgements(tmp_path).of(both) is None
    acknowledge(tmp_path, given("node", "b"))
    known = load_acknowledgements(tmp_path)
    # The one that ends first.
    assert known.of(both).finding == "b"
    assert known.of(NamedFinding("case", "Hpl")) is None
    assert load_acknowledgements(tmp_path, TODAY + datetime.timedelta(days=1)).of(both) is None


def test_no_line_is_lost_when_many_acknowledge_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: acknowledge(tmp_path, given("node", f"n{number}")), range(24)))
    assert len(load_acknowledgements(tmp_path).applying) == 24


@pytest.mark.parametrize("line", ["no JSON", "[]", '{"kind": "rack"}', '{"kind": "node", "finding": 3}'])
def test_a_damaged_file_is_named_hides_no_verdict_and_acknowledges_nothing(results, capsys, line):
    ack_until("node2")
    with (results / FILE).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(InputError, match=r"acknowledged\.jsonl: line 2"):
        load_acknowledgements(results)
    assert nightly() == FAIL
    found = outputs(results)
    assert "no finding counts as acknowledged" in found["message.md"]
    assert set(metrics(found["embedded.prom"], "kappa_finding_acknowledged").values()) == {"0.0"}
    run = results / "nights/20261116T020000/rotation/cpu/run-report.json"
    capsys.readouterr()
    assert main(["show", str(run)]) == FAIL
    assert "no acknowledgement is shown" in capsys.readouterr().err
    assert ack_until("node2") == ERROR


def test_a_reason_without_words_in_the_file_is_refused(tmp_path):
    (tmp_path / FILE).write_text(
        '{"kind":"node","finding":"a","until":"2026-12-01","reason":" ","by":"x","time":1.0}\n'
    )
    with pytest.raises(InputError, match="expected why"):
        load_acknowledgements(tmp_path)


def test_a_run_elsewhere_has_none(tmp_path):
    assert not acknowledgements_near(tmp_path / "runs/x/run-report.json").newest
