"""What the check itself makes of a job whose node is lost, or that Slurm has ended."""

import types

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base import hang_watch
from reframe_checks.base.hang_watch import HangWatch, nodes_down
from reframe_checks.base.reframe_internals import forget_resizing


def job(state):
    return types.SimpleNamespace(state=state, _state=state)


@pytest.mark.parametrize(
    ("state", "left"), [("RESIZING,RUNNING", "RUNNING"), ("RESIZING,COMPLETED", "COMPLETED"), ("RESIZING", "RUNNING")]
)
def test_a_job_that_lost_a_node_is_in_the_state_of_the_rest(state, left):
    shrunk = job(state)
    forget_resizing(shrunk)
    assert shrunk._state == left


def test_other_states_are_left_alone():
    for state in ("COMPLETED", "RUNNING", None):
        whole = job(state)
        forget_resizing(whole)
        assert whole._state == state


def test_only_what_slurm_has_given_up_is_down(monkeypatch):
    said = ["node1 mixed", "node2 down*", "node2 down*", "node3 mixed*", "node4 draining", ""]
    monkeypatch.setattr(hang_watch, "asked", lambda *_: said)
    assert nodes_down(["node1", "node2", "node3", "node4"]) == ["node2"]


def test_a_controller_that_does_not_answer_is_no_nodes_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nodes_down(["node1"]) == []
    (tmp_path / "sinfo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sinfo").chmod(0o755)
    assert nodes_down(["node1"]) == []


@pytest.fixture
def check(tmp_path, monkeypatch):
    """A check whose job has ended in the state ``TIMEOUT``, as far as the hook looks."""
    monkeypatch.setattr(hang_watch, "runs_in_slurm", lambda _: True)
    return types.SimpleNamespace(
        is_dry_run=lambda: False, job=job("TIMEOUT"), stagedir=str(tmp_path), keep_files=[], hint="look at the cable",
        ended_by_slurm="", _lost_nodes=(), provenance={"nodelist": ["node1", "node2"]},
    )  # fmt: skip


def test_what_slurm_ended_is_said_and_no_cable_suggested(check):
    with pytest.raises(SanityError, match="TIMEOUT"):
        HangWatch.say_who_hangs(check)
    assert check.ended_by_slurm == "TIMEOUT"
    assert "cable" not in check.hint


def test_what_ended_well_is_left_to_the_check(check):
    check.job = job("COMPLETED")
    HangWatch.say_who_hangs(check)
    assert (check.hint, check.ended_by_slurm) == ("look at the cable", "")
