import pytest

from tests.fault_campaign.cluster import CampaignError
from tests.fault_campaign.outcomes import (
    NUMBERS,
    CampaignFolder,
    Settings,
    read_verdict,
    together,
)
from tests.unit.tools.fault_campaign.samples import outcome

SETTINGS = Settings(7, ("slow link", "full disk"))


def case(check, state="pass", unstable=False, diagnosis=None, suspects=()):
    return {
        "check_class": check, "name": check, "state": state, "unstable": unstable, "diagnosis": diagnosis,
        "suspects": suspects,
    }  # fmt: skip


def test_what_a_verdict_says():
    found = read_verdict(
        {
            "verdict": "FAIL",
            "cases": [
                case("NodeLinks", "fail", diagnosis="system-wide"),
                case("PartitionHealth", unstable=True, diagnosis="transient"),
                case("NodeScratch", diagnosis="not measured again"),
            ],
            "suspects": [{"node": "node3"}, {"node": "node1"}],
            "observations": [{"node": "node4"}],
            "incomplete": [{"what": "not run", "where": "Fio"}, {"what": "no census", "where": None}],
        }
    )
    assert found == {
        "verdict": "FAIL",
        "checks": ("NodeLinks", "NodeScratch", "PartitionHealth"),
        "failed": ("NodeLinks",),
        "unstable": ("PartitionHealth",),
        "suspects": ("node3", "node1"),
        "observed": ("node4",),
        "incomplete": ("not run Fio", "no census"),
        "diagnoses": (("NodeLinks", "system-wide"), ("PartitionHealth", "transient")),
        "blamed": {"NodeLinks": []},
    }


def test_what_each_failed_check_points_at():
    cases = [
        case("NodeLinks", "fail", suspects=["node3"]),
        case("NodeLinks", "fail", suspects=["node1"]),
        case("NodeScratch", "fail"),
        case("PartitionHealth", suspects=["node2"]),
    ]
    verdict = {"verdict": "FAIL", "cases": cases, "suspects": [], "observations": [], "incomplete": []}
    assert read_verdict(verdict)["blamed"] == {"NodeLinks": ["node1", "node3"], "NodeScratch": []}


def test_a_run_without_verdict_detects_nothing():
    found = outcome(kind="slow link", node="node2", **read_verdict(None))
    assert (found.judged, found.detected) == (False, False)


@pytest.mark.parametrize(
    ("suspects", "first", "alone"),
    [
        (("node2",), True, True),
        (("node2", "node1"), True, False),
        (("node1", "node2"), False, False),
        ((), False, False),
    ],
)
def test_right_node(suspects, first, alone):
    found = outcome(kind="slow link", node="node2", suspects=suspects)
    assert (found.named_first, found.named_alone) == (first, alone)


def test_incomplete_counts_as_detected():
    assert outcome(kind="slow link", node="node2", verdict="INCOMPLETE").detected


def test_goes_on_with_what_was_done(tmp_path):
    state = CampaignFolder(tmp_path)
    state.begin(SETTINGS)
    rounds = [outcome(0), outcome(1, "slow link", "node2", diagnoses=(("NodeLinks", "transient"),))]
    for each in rounds:
        state.add(each)
    again = CampaignFolder(tmp_path)
    again.begin(SETTINGS)
    assert again.outcomes() == rounds


@pytest.mark.parametrize("other", [Settings(8, SETTINGS.kinds), Settings(7, ("slow link",))])
def test_another_campaign_is_not_mixed_in(tmp_path, other):
    CampaignFolder(tmp_path).begin(SETTINGS)
    with pytest.raises(CampaignError, match="another campaign"):
        CampaignFolder(tmp_path).begin(other)


def test_damaged_line_is_named(tmp_path):
    state = CampaignFolder(tmp_path)
    state.add(outcome(0))
    with (tmp_path / "rounds.jsonl").open("a") as file:
        file.write('{"number": 1}\n')
    with pytest.raises(CampaignError, match=r"rounds\.jsonl, line 2"):
        state.outcomes()


def test_the_rounds_of_several_campaigns_are_told_apart(tmp_path):
    states = [CampaignFolder(tmp_path / name) for name in ("first", "second")]
    for state, node in zip(states, ("node1", "node2"), strict=True):
        state.add(outcome(0, "slow link", node))
    assert [(one.number, one.node) for one in together(states)] == [(0, "node1"), (NUMBERS, "node2")]


def test_no_campaign_yet(tmp_path):
    with pytest.raises(CampaignError, match=r"campaign\.json"):
        CampaignFolder(tmp_path).settings()
