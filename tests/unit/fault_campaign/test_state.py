import json

import pytest

from tests.fault_campaign.cluster import CampaignError
from tests.fault_campaign.state import NUMBERS, Settings, State, together
from tests.unit.fault_campaign.samples import outcome

SETTINGS = Settings(7, ("slow link", "full disk"))


def test_goes_on_with_what_was_done(tmp_path):
    state = State(tmp_path)
    state.begin(SETTINGS)
    rounds = [outcome(0), outcome(1, "slow link", "node2")]
    for each in rounds:
        state.add(each)
    again = State(tmp_path)
    again.begin(SETTINGS)
    assert again.outcomes() == rounds


@pytest.mark.parametrize("other", [Settings(8, SETTINGS.kinds), Settings(7, ("slow link",))])
def test_another_campaign_is_not_mixed_in(tmp_path, other):
    State(tmp_path).begin(SETTINGS)
    with pytest.raises(CampaignError, match="another campaign"):
        State(tmp_path).begin(other)


def test_damaged_line_is_named(tmp_path):
    state = State(tmp_path)
    state.add(outcome(0))
    with (tmp_path / "rounds.jsonl").open("a") as file:
        file.write('{"number": 1}\n')
    with pytest.raises(CampaignError, match=r"rounds\.jsonl, line 2"):
        state.outcomes()


def test_what_each_check_blamed_is_read_from_the_verdict_of_the_round(tmp_path):
    state = State(tmp_path)
    state.add(outcome(3, "slow link", "node2"))
    state.add(outcome(4, "slow link", "node2", report="runs/2/run-report.json"))
    state.add(outcome(5, "slow link", "node2", report=""))
    verdict = tmp_path / "results/runs/1/verdict.json"
    verdict.parent.mkdir(parents=True)
    verdict.write_text(
        '{"cases": [{"check_class": "NodeLinks", "name": "NodeLinks", "state": "fail", "suspects": ["node2"]}]}'
    )
    assert state.blamed() == {3: {"NodeLinks": {"node2"}}}
    verdict.write_text("{}")
    with pytest.raises(CampaignError, match=r"runs/1/verdict\.json: expected a verdict"):
        state.blamed()


def test_the_rounds_of_several_campaigns_are_told_apart(tmp_path):
    states = [State(tmp_path / name) for name in ("first", "second")]
    for state, node in zip(states, ("node1", "node2"), strict=True):
        state.add(outcome(0, "slow link", node, report="runs/1/run-report.json"))
        verdict = state.results / "runs/1/verdict.json"
        verdict.parent.mkdir(parents=True)
        case = {"check_class": "NodeLinks", "name": "NodeLinks", "state": "fail", "suspects": [node]}
        verdict.write_text(json.dumps({"cases": [case]}))
    outcomes, blamed = together(states)
    assert [(one.number, one.node) for one in outcomes] == [(0, "node1"), (NUMBERS, "node2")]
    assert blamed == {0: {"NodeLinks": {"node1"}}, NUMBERS: {"NodeLinks": {"node2"}}}


def test_one_campaign_at_a_time(tmp_path):
    first = State(tmp_path)
    first.lock()
    with pytest.raises(CampaignError, match="another campaign runs"):
        State(tmp_path).lock()


def test_no_campaign_yet(tmp_path):
    with pytest.raises(CampaignError, match=r"campaign\.json"):
        State(tmp_path).settings()
