"""Result of a check whose job lost a node or was ended by Slurm."""

import os
import types
from contextlib import nullcontext

import pytest
from reframe.core.exceptions import SanityError

from kappa.node.watch import steps
from kappa.node.watch.steps import nodes_down
from reframe_checks.base import hangs, watch
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.evidence import PROVENANCE_FILE
from reframe_checks.base.reframe_internals import forget_resizing
from tests.stand_in import StandIn


def job(state, **more):
    return types.SimpleNamespace(state=state, _state=state, stderr="rfm_job.err", **more)


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
    monkeypatch.setattr(steps, "asked", lambda *_: said)
    assert nodes_down(["node1", "node2", "node3", "node4"]) == ["node2"]
    assert nodes_down([]) == []


def test_a_controller_that_does_not_answer_is_no_nodes_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nodes_down(["node1"]) == []
    (tmp_path / "sinfo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sinfo").chmod(0o755)
    assert nodes_down(["node1"]) == []


@pytest.fixture
def check(tmp_path, monkeypatch):
    """A check whose job has ended in the state ``TIMEOUT``, as far as the hook looks."""
    monkeypatch.setattr(watch, "runs_in_slurm", lambda _: True)
    return StandIn(
        SystemCheck, is_dry_run=lambda: False, job=job("TIMEOUT"), stagedir=str(tmp_path), keep_files=[],
        hint="look at the cable", ended_by_slurm="", lost_nodes=(), provenance={"nodelist": ["node1", "node2"]},
    )  # fmt: skip


def test_what_slurm_ended_is_said_and_no_cable_suggested(check):
    with pytest.raises(SanityError, match="TIMEOUT"):
        check.say_who_hangs()
    assert check.ended_by_slurm == "TIMEOUT"
    assert "cable" not in check.hint


def test_a_job_that_slurm_ended_before_it_wrote_anything_did_not_just_not_start(check, monkeypatch):
    check.job, check.provenance = job("NODE_FAIL", nodelist=["node1"]), {}
    monkeypatch.setattr(watch, "nodes_down", lambda nodes: [])
    with pytest.raises(SanityError, match="Slurm ended the job before it was done: NODE_FAIL"):
        check.read_provenance()


@pytest.mark.parametrize(
    ("state", "unseen", "said"),
    [("COMPLETED", True, "no longer knows the job"), ("FAILED", False, "started the job twice")],
)
def test_a_job_that_the_controller_forgot_is_judged_only_if_it_came_to_its_end(check, tmp_path, state, unseen, said):
    check.job = job(state, end_unseen=unseen, exitcode=1)
    (tmp_path / PROVENANCE_FILE).touch()
    with pytest.raises(SanityError, match=f"{said}, and the job did not reach its end"):
        check.say_who_hangs()
    assert check.ended_by_slurm == "FORGOTTEN" and "cable" not in check.hint
    (tmp_path / hangs.ENDED_FILE).touch()
    with pytest.raises(SanityError, match="not reach its end"):
        check.say_who_hangs()
    check.ended_by_slurm = ""
    (tmp_path / hangs.ENDED_FILE).write_text("3\n")
    check.say_who_hangs()
    assert (check.ended_by_slurm, check.job._exitcode) == ("", 3)


def test_a_job_that_failed_before_it_began_was_not_started_twice(check):
    check.job = job("FAILED", exitcode=1)
    check.say_who_hangs()
    assert check.ended_by_slurm == ""


ASKED_TOO_MUCH = "Unable to create step for job 61: Invalid generic resource (gres) specification"


@pytest.mark.parametrize("place", [".", "nodes/node2"])
@pytest.mark.parametrize(
    ("state", "said", "why"),
    [
        ("COMPLETED", ASKED_TOO_MUCH, ""),
        ("FAILED", ASKED_TOO_MUCH, "Invalid generic"),
        ("COMPLETED", "Unable to create step for job 61: Unable to contact slurm controller (connect failure)", "Una"),
        ("COMPLETED", "Unable to confirm allocation for job 61: Invalid job id specified", "Invalid job id"),
        ("COMPLETED", "Unable to confirm allocation for job 61: Job is pending execution", "Job is pending"),
        ("COMPLETED", "Unable to create step for job 61: Job/step already completing or completed", "Job/step"),
        ("COMPLETED", "SLURM job 61 has expired", "has expired"),
        ("FAILED", "node2: task 1: Exited with exit code 1", ""),
    ],
)
def test_a_step_that_slurm_did_not_start_blames_no_node(check, monkeypatch, tmp_path, place, state, said, why):
    """Also for a part of a job of many nodes: some nodes ended before the controller died."""
    monkeypatch.setattr(watch, "nodes_down", lambda nodes: [])
    check.job = job(state, exitcode=0)
    file = tmp_path / place / "rfm_job.err"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"srun: error: {said}\n")
    with pytest.raises(SanityError, match=f"Slurm did not start a step of the job: {why}") if why else nullcontext():
        check.say_who_hangs()
    assert check.ended_by_slurm == ("NO_STEP" if why else "")


def test_a_step_that_slurm_did_not_start_for_a_node_that_is_down_names_it(check, monkeypatch):
    check.job, check.refused_step = job("FAILED"), lambda: "Required node not available (down, drained or reserved)"
    monkeypatch.setattr(watch, "nodes_down", lambda nodes: nodes[1:])
    with pytest.raises(SanityError, match="hang on node2: Slurm reports it as DOWN"):
        check.say_who_hangs()
    assert check.hung_on == ["node2"]


@pytest.mark.parametrize(
    ("works", "status", "named"),
    [("node2\nnode3\n", "1\n", True), ("node2\n", "0\n", False), ("", "1\n", False), ("node1\n", "1\n", False)],
    ids=["not on the first", "the job passed", "nowhere", "on the first"],
)
def test_a_first_node_without_a_python_that_runs_is_named_if_the_job_failed(check, tmp_path, works, status, named):
    check.job = job("FAILED", exitcode=1, nodelist=["node1", "node2", "node3"])
    (tmp_path / hangs.PYTHONS_FILE).write_text(works)
    (tmp_path / hangs.ENDED_FILE).write_text(status)
    with pytest.raises(SanityError, match="crash on node1: `python3` does not run") if named else nullcontext():
        check.say_who_hangs()
    assert getattr(check, "hung_on", []) == (["node1"] if named else [])


def test_what_ended_well_is_left_to_the_check(check):
    check.job = job("COMPLETED")
    check.say_who_hangs()
    assert (check.hint, check.ended_by_slurm) == ("look at the cable", "")


def test_who_has_the_address_of_another_is_named_alone_and_both_are_done_without(check):
    with pytest.raises(SanityError, match="node2: it has"):
        check.blame("hang", {("node2",): ("address", "it has the address of node1")}, ["node1"])
    assert check.hung_on == ["node1", "node2"]
    assert [(finding.kind, finding.name) for finding in check.findings] == [("node", "node2")]


def test_a_link_is_named_and_neither_of_its_nodes(check):
    with pytest.raises(SanityError, match="node2-node4: "):
        check.blame("hang", {("node2", "node4"): ("link", "long messages do not arrive")})
    assert check.hung_on == ["node2", "node4"]
    assert [(finding.kind, finding.name) for finding in check.findings] == [("link", "node2-node4")]


@pytest.mark.parametrize(("status", "cancelled"), [("1\n", True), ("0\n", False), ("", False)])
def test_a_failed_job_whose_end_slurm_does_not_believe_is_cancelled_some_time_later(check, tmp_path, status, cancelled):
    assert not check.failed_and_not_ended()
    ended = tmp_path / hangs.ENDED_FILE
    ended.write_text(status)
    assert not check.failed_and_not_ended()
    os.utime(ended, (0, 0))
    assert check.failed_and_not_ended() == cancelled
