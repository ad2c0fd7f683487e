"""``SharedSemantics`` names a node that is in every failure, else the target; recorded output of four nodes."""

import hashlib
import json

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.parsers.text import ParseError
from reframe_checks.storage.shared_semantics import PROMISES, SharedSemantics, node_in_all, parse
from tests.stand_in import StandIn

NODES = ["n1", "n2", "n3"]


def output(nodes=NODES, slowest_s=0.01, **failures):
    record = {"nodes": nodes, "failures": {**{test: [] for test in PROMISES}, **failures}, "slowest_s": slowest_s}
    text = json.dumps(record)
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()}\n"


def judged(text, **given):
    check = StandIn(
        SharedSemantics, target="shared", not_promised="", notes=[], output_text=lambda: text,
        parsed=lambda parse, text: parse(text),
    )  # fmt: skip
    vars(check).update(given)
    try:
        check.judge_promises().evaluate()
    except SanityError as err:
        return check.findings, str(err)
    return check.findings, ""


def test_kept_promises_pass_with_the_slowest_change(recorded):
    found = parse(recorded("semantics/four_nodes.txt"))
    assert len(found.nodes) == 4 and 0 < found.slowest_s < 5
    assert judged(recorded("semantics/four_nodes.txt")) == ([], "")


@pytest.mark.parametrize(
    ("failures", "nodes", "node"),
    [
        ([["n1", "n2", "x"], ["n2", "n3", "x"]], NODES, "n2"),
        ([["n2", "n2", "x"], ["n1", "n2", "x"]], NODES, "n2"),
        ([["n1", "n2", "x"]], NODES, ""),
        ([["n1", "n2", "x"], ["n2", "n3", "x"], ["n1", "n3", "x"]], NODES, ""),
        # Each node that comes first fails.
        ([["n1", "n1", "x"], ["n2", "n2", "x"], ["n3", "n3", "x"]], NODES, ""),
        ([["n1", "n1", "x"]], ["n1", "n2"], ""),
    ],
)
def test_node_in_every_failure_is_named(failures, nodes, node):
    assert node_in_all(failures, nodes) == node


def test_finding_is_of_the_node_or_of_the_target():
    [finding], said = judged(output(flock=[["n1", "n2", "both hold"], ["n2", "n3", "both hold"]]))
    assert (finding.kind, finding.name, finding.quantity) == ("node", "n2", "flock")
    assert "n1 and n2: both hold" in said
    full = [[node, node, "write: No space left on device"] for node in NODES]
    [finding], said = judged(output(visible=full, append=full))
    assert (finding.kind, finding.name, finding.nodes) == ("target", "shared", ())
    assert "n1: write: No space left" in said


def test_a_promise_that_the_site_excepts_is_only_noted():
    lost = output(append=[["n2", "n1", "3 of 200 lines were lost"]])
    assert judged(lost)[1]
    assert judged(lost, not_promised="append rename") == ([], "")
    assert judged(lost, not_promised="rename")[1]


@pytest.mark.parametrize("text", [output(nodes=["n1", "n1"]), output(flock=[["n1", "n9", "x"]]), output(more=[])])
def test_contradictory_output_is_refused(text):
    with pytest.raises(ParseError):
        parse(text)
