import json

import pytest

from tests.fault_campaign.outcome import Outcome, blamed_by_check, read_verdict
from tests.unit.fault_campaign.samples import outcome


def case(check, state="pass", unstable=False, diagnosis=None):
    line = f"{check}: bad" if state == "fail" else None
    return {
        "check_class": check, "name": check, "state": state, "unstable": unstable, "operator_line": line,
        "diagnosis": diagnosis,
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
        "reasons": ("NodeLinks: bad",),
        "diagnoses": (("NodeLinks", "system-wide"), ("PartitionHealth", "transient")),
    }


def test_what_each_failed_check_points_at():
    cases = [
        case("NodeLinks", "fail") | {"suspects": ["node3"]},
        case("NodeLinks", "fail") | {"suspects": ["node1"]},
        case("NodeScratch", "fail") | {"suspects": []},
        case("PartitionHealth") | {"suspects": ["node2"]},
    ]
    assert blamed_by_check({"cases": cases}) == {"NodeLinks": {"node3", "node1"}, "NodeScratch": set()}


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


def test_json_and_back():
    found = outcome(kind="slow link", node="node2", unstable=("NodeLinks",), diagnoses=(("NodeLinks", "transient"),))
    assert Outcome.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_diagnoses_of_the_first_campaigns_are_in_the_texts():
    lines = (
        "PartitionState on scratch+packaged: fraction_usable 0.75, allowed = 1 | suspect node1 (named by the check's "
        "own measurement) | system-wide: again so on vm, out of bounds, too, on vm | `scontrol show node NODE`",
        "PairSweep %scale=each_node on scratch+packaged: worst_loss 1.2 % | suspect node4 | confirmed, no other nodes "
        "to compare with | node node4: packet loss",
        "NodeSweep %scale=each_node on scratch+packaged: run: job blocked | no job ran | is it node-bound?",
    )
    record = outcome(kind="slow link", node="node2", reasons=lines, unstable=("NodeScratch",)).to_json()
    del record["diagnoses"]
    assert Outcome.from_json(record).diagnoses == (
        ("NodeScratch", "transient"),
        ("PairSweep", "confirmed, no other nodes to compare with"),
        ("PartitionState", "system-wide"),
    )
