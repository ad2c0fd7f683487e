"""Plan, page and command of clauses about outages."""

import json

import pytest

from kappa.app.command.main import main
from reports.acceptance.campaign.layout import CONTRACT
from reports.acceptance.dossier_page import render
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Planning
from reports.acceptance.listing import to_json
from reports.acceptance.outages.log import load_log
from tests.unit.acceptance.outages import CONTRACT_TEXT, verdicts, written
from tests.unit.acceptance.test_months import maintenance, two_nodes_overlap
from tests.unit.acceptance.test_outage_clauses import GOOD


def plans(load, text):
    contract = load(text)
    planning = Planning(contract, None, None, None, None)
    return [clause.plan(planning) for clause in contract.clauses]


def test_plan_states_length_risks_and_a_month(load):
    reliability, availability = plans(load, GOOD)
    text = "\n".join(reliability.lines)
    for figure in ("927.5 h", "38.6 days", "allowed: 5", "9.34 %", "3 interrupts", "7.19 %", "22.1 %", "412.7 h"):
        assert figure in text
    assert (reliability.document["allowed"], reliability.document["unit"]) == (5, "h")
    assert "14 h 24 min" in availability.lines[0]


def both(month):
    maintenance(month)
    two_nodes_overlap(month)
    month.system(300, 301, cause="<script>", agreed=("vendor",))


def test_dossier_shows_times_interrupts_and_disputes(tmp_path):
    verdict = judge(written(tmp_path / "campaign", both))
    page = render(verdict, [], [], "")
    assert "<script>" not in page and "&lt;script&gt;" in page
    reliability, _, availability, _ = verdict.clauses
    section = reliability.clause.section(reliability)
    facts = dict(section.facts)
    assert facts.keys() == {"Period", "Test", "Time", "MTBF", "MTTI", "Availability", "Disputed"}
    assert facts["Disputed"].startswith("1 entry (")
    assert [row[2:5] for row in section.tables[0].rows] == [("system", "<script>", "vendor")]
    assert (len(section.charts), len(availability.clause.section(availability).charts)) == (2, 1)
    classes = {shape.title.split("% ")[1] for shape in section.charts[1].shapes}
    assert classes == {"scheduled", "unscheduled"}
    document = json.loads(to_json(verdict))
    assert document["clauses"][0]["outages"]["test"]["allowed"] == 5
    assert document["clauses"][2]["outages"]["hours"]["scheduled"] == 24


def test_interval_without_an_interrupt_is_one_sided(tmp_path):
    verdict = verdicts(written(tmp_path / "campaign", lambda month: None))["S"]
    assert verdict.value is None and verdict.interval.low is None and "90 %" in verdict.interval.method


@pytest.fixture
def log(tmp_path):
    """Run ``kappa acceptance log`` for a campaign; return its exit status, or 2 for wrong arguments."""
    (tmp_path / "campaign").mkdir()
    (tmp_path / "contract.yaml").write_text(CONTRACT_TEXT)

    def run(*arguments):
        try:
            return main(["acceptance", "log", str(run.folder), *arguments])
        except SystemExit:
            return 2

    run.folder = tmp_path / "campaign"
    return run


DOWN = ("add", "node_interrupt", "--nodes", "n2", "--start", "2026-12-03T03:58Z", "--party")


@pytest.fixture
def begun(log):
    assert log("show") == 2, "there is no contract yet"
    contract = str(log.folder.parent / CONTRACT)
    assert log("--contract", contract, "add", "begin", "--start", "2026-12-01T01:00+01:00", "--party", "buyer") == 0
    assert log(*DOWN, "vendor") == 0
    assert log("agree", "1-2", "--party", "buyer", "--party", "vendor") == 0
    return log


@pytest.mark.parametrize(
    "wrong",
    [
        (*DOWN, "somebody"),
        ("add", "node_interrupt", "--nodes", "n9", "--start", "2026-12-03T03:58Z", "--party", "buyer"),
        ("add", "node_interrupt", "--start", "2026-12-03T03:58Z", "--party", "buyer"),
        ("add", "system_interrupt", "--start", "2026-12-03T03:58Z", "--exclusion", "bad luck", "--party", "buyer"),
        ("add", "system_interrupt", "--start", "2026-12-03T03:58", "--party", "buyer"),
        ("add", "system_interrupt", "--party", "buyer"),
        ("add", "job_interrupt", "--start", "2026-12-03T03:58Z", "--party", "buyer"),
        ("add", "void", "--start", "2026-12-03T03:58Z", "--party", "buyer"),
        ("add", "void", "--supersedes", "77", "--party", "buyer"),
        ("agree", "--party", "buyer"),
        ("agree", "77", "--party", "buyer"),
        ("agree", "1", "--party", "somebody"),
    ],
)
def test_wrong_entry_by_hand_is_refused(begun, wrong):
    lines = load_log(begun.folder).lines
    assert begun(*wrong) == 2
    assert load_log(begun.folder).lines == lines


def test_correction_by_hand_keeps_other_fields(begun):
    done = ("--supersedes", "2", "--end", "2026-12-03T07:00Z", "--attribution", "vendor", "--party", "vendor")
    assert begun("add", "node_interrupt", *done) == 0
    entry = load_log(begun.folder).latest[5]
    assert (entry.nodes, entry.attribution, entry.ends - entry.begins) == (("n2",), "vendor", 3 * 3600 + 120)
    again = ("--supersedes", "5", "--clear", "end", "--clear", "attribution", "--party", "vendor")
    assert begun("add", "node_interrupt", *again) == 0
    entry = load_log(begun.folder).latest[6]
    assert (entry.nodes, entry.end, entry.attribution) == (("n2",), None, None)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ((), ["1", "2", "5"]),
        (("--open",), ["5"]),
        (("--what", "begin", "--what", "void"), ["1"]),
        (("--nodes", "n[2-3]"), ["2"]),
        (("--since", "2026-12-05T00:00Z"), ["1", "2"]),
        (("--since", "2026-12-05T00:00Z", "--what", "system_interrupt"), []),
    ],
)
def test_show_filters_entries(begun, capsys, filters, ids):
    times = ("--start", "2026-12-04T00:00Z", "--end", "2026-12-04T01:00Z")
    assert begun("add", "system_interrupt", *times, "--party", "buyer") == 0
    capsys.readouterr()
    assert begun("show", *filters) == 0
    rows = capsys.readouterr().out.splitlines()[1:-1]
    assert [row.split()[0] for row in rows] == ids
    assert begun("show", *filters, "--json", "-") == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [(entry["id"], entry["agreed"]) for entry in entries] == [
        (id_, [] if id_ == "5" else ["buyer", "vendor"]) for id_ in ids
    ]
