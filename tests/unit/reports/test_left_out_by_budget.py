"""Cases left out by a budget are named and do not make a verdict INCOMPLETE; other missing cases do."""

import json

import pytest

from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.state import State
from reports.verdict.summary import to_json
from tests.unit.reports.samples import ToldSite, case, judged, latency, report

PT2PT = "network/osu-pt2pt"


def of_night(*cases, left_out, others=()):
    """A report of a night without ``left_out``; the census has ``OsuLatency`` and ``others`` of its family."""
    state = case("PartitionState")
    for check in state["census"]["checks"]:
        check["tags"] = ["nightly"] if check["name"] in ("OsuLatency", "PartitionState", *others) else []
    return report([state, *cases], budget="5", left_out=left_out)


def test_a_family_that_was_left_out_whole_is_no_gap(tmp_path):
    verdict = judged(of_night(left_out="OsuLatency"), tmp_path)
    assert (verdict.state, verdict.gaps) == (State.PASS, ())
    assert [(one.check, one.family) for one in verdict.left_by_budget] == [("OsuLatency", PT2PT)]


def test_a_family_that_should_have_run_is_still_a_gap(tmp_path):
    verdict = judged(of_night(left_out="Hpl"), tmp_path)
    assert verdict.state is State.INCOMPLETE
    assert any(PT2PT in gap.where for gap in verdict.gaps)
    # The budget left out one check of this family; the other should have run.
    both = of_night(left_out="OsuLatency", others=["OsuBandwidth"])
    assert any(PT2PT in gap.where for gap in judged(both, tmp_path).gaps)


def test_without_a_budget_nothing_is_left_out(tmp_path):
    document = of_night(left_out="")
    assert judged(document, tmp_path).left_by_budget == ()
    assert judged(document, tmp_path).state is State.INCOMPLETE


def test_a_failure_beside_it_stays_one(tmp_path):
    failed = latency(result="fail", fail_phase="sanity", fail_reason="no")
    assert judged(of_night(failed, left_out="Hpl:BtIo"), tmp_path).state is State.FAIL


def test_it_is_said_on_terminal_page_and_to_machines(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    verdict = judged(of_night(latency(), left_out="Hpl:BtIo"), tmp_path)
    assert verdict.state is State.PASS
    show(verdict)
    assert "left out by the budget of 5 node-hours: 2 checks, Hpl, BtIo" in capsys.readouterr().out
    document = json.loads(to_json(verdict))
    assert document["budget_node_hours"] == 5
    assert [one["check"] for one in document["left_out_by_budget"]] == ["Hpl", "BtIo"]
    page = render(verdict)
    assert "Left out by the budget" in page
    assert "5 node-hours" in page


def test_a_family_of_which_the_mode_takes_some_cases_of_one_check_alone(tmp_path):
    site = ToldSite(modes={"links": {PT2PT: ("cpu",), "node/partition-state": ("cpu",)}})
    document = of_night(left_out="OsuLatency", others=["OsuBandwidth"])
    assert judged(document, tmp_path, site=site, mode="links").state is State.PASS


@pytest.mark.parametrize("mode", ["nightly", "smoke"])
def test_a_site_that_expects_no_more_is_not_asked_for_more(tmp_path, mode):
    site = ToldSite(modes={mode: {"node/partition-state": ("cpu",)}})
    assert judged(of_night(left_out="OsuLatency"), tmp_path, site=site, mode=mode).state is State.PASS
