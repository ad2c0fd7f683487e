import pytest

from tests.fault_campaign.outcome import Outcome, blamed_by_check, read_verdict
from tests.unit.fault_campaign.samples import outcome


def case(check, state="pass", unstable=False):
    line = f"{check}: bad" if state == "fail" else None
    return {"check_class": check, "name": check, "state": state, "unstable": unstable, "operator_line": line}


def test_what_a_verdict_says():
    found = read_verdict(
        {
            "verdict": "FAIL",
            "cases": [case("NodeLinks", "fail"), case("PartitionHealth", unstable=True)],
            "suspects": [{"node": "node3"}, {"node": "node1"}],
            "incomplete": [{"what": "not run", "where": "Fio"}, {"what": "no census", "where": None}],
        }
    )
    assert found == {
        "verdict": "FAIL",
        "checks": ("NodeLinks", "PartitionHealth"),
        "failed": ("NodeLinks",),
        "unstable": ("PartitionHealth",),
        "suspects": ("node3", "node1"),
        "incomplete": ("not run Fio", "no census"),
        "reasons": ("NodeLinks: bad",),
    }


def test_what_each_failed_check_points_at():
    cases = [
        case("NodeLinks", "fail") | {"suspects": ["node3"]},
        case("NodeLinks", "fail") | {"suspects": ["node1"]},
        case("NodeScratch", "fail") | {"suspects": []},
        case("PartitionHealth") | {"suspects": ["node2"]},
    ]
    assert blamed_by_check({"cases": cases}) == {"NodeLinks": {"node3", "node1"}, "NodeScratch": set()}


def test_a_run_without_verdict_is_not_a_pass():
    assert outcome(**read_verdict(None)).detected


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


def test_json_and_back():
    found = outcome(kind="slow link", node="node2", unstable=("NodeLinks",))
    assert Outcome.from_json(found.to_json()) == found
