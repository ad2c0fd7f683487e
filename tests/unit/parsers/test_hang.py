"""Reports of a job's watch, and a check's result from them."""

import hashlib
import json
import pathlib
from typing import get_args

import pytest

from reframe_checks.base.hangs import REASONS, said
from reframe_checks.parsers.job_scripts import SAID_REASONS, BlamedNode, hang
from reframe_checks.parsers.text import ParseError

DATA = pathlib.Path(__file__).parents[2] / "data/hang"
RECORDED = (DATA / "stopped_rank.json").read_text()
STOPPED = {
    "pid": 317, "program": "pair_sweep", "rank": 2, "state": "T", "phase": "latency with node1", "stands_s": 19.3,
}  # fmt: skip


def changed(**changes):
    """The recorded text with other values, and the SHA-256 that belongs to it."""
    line = json.dumps({**json.loads(RECORDED.splitlines()[0]), **changes}, sort_keys=True)
    return f"{line}\nsha256={hashlib.sha256(line.encode()).hexdigest()}\n"


def test_a_stopped_rank():
    found = hang(RECORDED)
    assert (found.how, found.after_s, found.nodes) == ("hang", 21.7, ("node1", "node2", "node3", "node4"))
    assert found.named == (BlamedNode(node="node3", reason="stopped", cpu_s=0.46, **STOPPED),)


def test_a_node_on_which_mpi_does_not_start():
    assert hang((DATA / "no_mpi.json").read_text()).named == (BlamedNode(node="node2", reason="mpi"),)


def test_a_node_on_which_a_program_cannot_be_loaded():
    [found] = hang((DATA / "crashed.json").read_text()).named
    assert (found.node, found.reason, found.pid) == ("node3", "crashed", None)
    assert said(found).endswith("libaio.so.1: file too short")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2}, {"how": "slow"}, {"named": []}, {"nodes": ["node1"]},
        {"named": [{"node": "node3", "reason": "guessed"}]}, {"named": [{"node": "node3", "reason": "stopped"}]},
        {"named": [{"node": "node9", "reason": "lost"}]}, {"after_s": -1},
        {"named": [{"node": "node3", "reason": "crashed"}]},
    ],
)  # fmt: skip
def test_what_no_watch_writes_is_refused(changes):
    assert hang(changed())
    with pytest.raises(ParseError):
        hang(changed(**changes))


def test_every_reason_has_its_words_and_its_hint():
    texts = {
        reason: said(BlamedNode(node="node3", reason=reason, said=reason * (reason in SAID_REASONS), **STOPPED))
        for reason in get_args(BlamedNode.__annotations__["reason"])
    }
    assert texts.keys() == REASONS.keys()
    assert len({*texts.values()}) == len(texts)
    where = "in the phase 'latency with node1', for 19 s"
    assert texts["stopped"] == f"rank 2 of pair_sweep (process 317) is stopped (state T) {where}"
    waiting = BlamedNode(node="node3", reason="blocked", waits="openat of /home/x", **{**STOPPED, "state": "S"})
    assert "(state S), in openat of /home/x" in said(waiting)
    assert texts["mpi"].endswith(f"; rank 2 of pair_sweep (process 317) makes no progress {where}")
    assert not any("cable" in text for text in (*texts.values(), *(hint for _, hint in REASONS.values())))
