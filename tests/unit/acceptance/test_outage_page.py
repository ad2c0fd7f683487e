"""Plan, page and command of clauses about outages."""

import json

import pytest
from reports.acceptance.outage_log import load_log
from reports.acceptance.outage_page import planned_tests, section_of

from kappa.app.command import main as command
from kappa.app.conduct import planning
from reports.acceptance.campaign.layout import CONTRACT
from reports.acceptance.contract import load_contract
from reports.acceptance.dossier_page import Raw, characteristic_page, render
from reports.acceptance.judge import judge
from reports.acceptance.listing import to_json
from tests.unit.acceptance.outages import CONTRACT_TEXT, verdicts, written
from tests.unit.acceptance.test_months import maintenance, two_nodes_overlap
from tests.unit.acceptance.test_outage_clauses import GOOD


@pytest.fixture
def contract(tmp_path):
    path = tmp_path / "acceptance.yaml"
    path.write_text(GOOD)
    return path


def test_a_plan_says_what_thirty_days_cannot_show(contract):
    (test,) = planned_tests(load_contract(contract))
    words = "\n".join(test.lines)
    figures = ("927.5 h", "38.6 days", "allowed: 5", "9.34 %", "22.1 %", "39 days", "413 h", "77.6", "228")
    for figure in figures:
        assert figure in words
    assert [line.count("█") for line in test.plot] == sorted(line.count("█") for line in test.plot)
    assert "least" in test.plot[2] and "promised" in test.plot[6]


def test_a_test_that_thirty_days_hold(tmp_path):
    (tmp_path / CONTRACT).write_text(CONTRACT_TEXT)
    for test in planned_tests(load_contract(tmp_path / CONTRACT)):
        assert any("30 days are enough" in line for line in test.lines)


def test_a_page_of_characteristics_escapes_what_the_contract_says(contract):
    contract.write_text(GOOD.replace("It breaks seldom.", "It <script>alert(1)</script>"))
    page = characteristic_page(load_contract(contract))
    assert "<polyline" in page and "<script>" not in page


def both(month):
    maintenance(month)
    two_nodes_overlap(month)
    month.system(300, 301, cause="<script>", agreed=("vendor",))


def test_the_dossier_shows_times_attributions_and_disputes(tmp_path):
    campaign = written(tmp_path / "campaign", both)
    verdict = judge(campaign)
    page = render(verdict, Raw(0, 0), [], "")
    assert "<script>" not in page and "&lt;script&gt;" in page
    facts = dict(section_of(verdict.clauses[0].clause, verdict.clauses[0].outages, {"2026-W49": ("buyer",)}).facts)
    assert {"Period", "Test", "Time", "MTBF", "MTTI", "Availability", "Exclusions", "Trend"} <= facts.keys()
    assert facts["Attribution"] == "1 scheduled, 3 vendor"
    assert facts["Disputed"].startswith("1 entry (")
    document = json.loads(to_json(verdict))
    assert document["clauses"][0]["outages"]["test"]["allowed"] == 5
    assert document["clauses"][2]["outages"]["hours"]["scheduled"] == 24


def test_the_interval_of_no_interrupt_is_one_sided(tmp_path):
    found = verdicts(written(tmp_path / "campaign", lambda month: None))["S"]
    assert found.value is None and found.interval.low is None and "90 %" in found.interval.method


def test_the_log_by_hand(tmp_path, capsys):
    folder, contract = tmp_path / "campaign", tmp_path / "contract.yaml"
    contract.write_text(CONTRACT_TEXT)

    def log(*arguments):
        return command.main(["acceptance", "log", str(folder), *arguments])

    folder.mkdir()
    assert log("show") == 2, "there is no contract yet"
    begin = ("add", "begin", "--start", "2026-12-01T01:00+01:00", "--party", "buyer")
    assert log("--contract", str(contract), *begin) == 0
    down = ("add", "node_interrupt", "--nodes", "n2", "--start", "2026-12-03T03:58Z", "--party")
    assert log(*down, "vendor") == 0
    assert log("agree", "1-2", "--party", "buyer", "--party", "vendor") == 0
    done = ("--supersedes", "2", "--end", "2026-12-03T07:00Z", "--attribution", "vendor", "--party", "vendor")
    assert log("add", "node_interrupt", *done) == 0
    for wrong in (
        (*down, "somebody"),
        ("add", "node_interrupt", "--nodes", "n9", "--start", "2026-12-03T03:58Z", "--party", "buyer"),
        ("add", "system_interrupt", "--start", "2026-12-03T03:58Z", "--exclusion", "bad luck", "--party", "buyer"),
        ("add", "system_interrupt", "--party", "buyer"),
        ("add", "void", "--supersedes", "2", "--party", "buyer"),
        ("agree", "--party", "buyer"),
        ("agree", "77", "--party", "buyer"),
    ):
        assert log(*wrong) == 2
    found = load_log(folder)
    entry = found.latest[5]
    assert (found.lines, entry.nodes, entry.attribution) == (5, ("n2",), "vendor")
    assert entry.end - entry.start == 3 * 3600 + 120
    capsys.readouterr()
    assert log("show", "--json", "-") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in shown["entries"]] == ["1", "5"] and shown["entries"][1]["agreed"] == []
    again = ("--supersedes", "5", "--clear", "end", "--clear", "attribution", "--party", "vendor")
    assert log("add", "node_interrupt", *again) == 0
    entry = load_log(folder).latest[6]
    assert (entry.nodes, entry.end, entry.attribution) == (("n2",), None, None)


def test_a_time_needs_its_zone(tmp_path, capsys):
    with pytest.raises(SystemExit):
        begin = ["add", "begin", "--start", "2026-12-01T01:00", "--party", "buyer"]
        command.main(["acceptance", "log", str(tmp_path), *begin])
    assert "expected a time with its zone" in capsys.readouterr().err


def test_reframe_lists_no_check_for_a_contract_about_outages(contract):
    assert planning._named(load_contract(contract)) == [f"--name=^({planning.CENSUS})(%|$)"]
