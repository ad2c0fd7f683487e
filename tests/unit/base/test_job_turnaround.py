"""Which nodes JobTurnaround names: those whose prolog or epilog is slower than the others'."""

import os

import pytest
from reframe.utility.sanity import evaluate

from reframe_checks.node import job_turnaround
from reframe_checks.node.job_turnaround import JOB, SECOND, JobTurnaround, completing, excess
from reframe_checks.parsers.node_times import JobStart
from tests.stand_in import StandIn

NODES = ["n1", "n2", "n3", "n4"]


class Turnaround(StandIn):
    """The check without a job: ``late``, node -> seconds by which its first task began late."""

    def __init__(self, late, elapsed_s=0.0, at_allocation=False, completing_s=(), robbed=""):
        super().__init__(JobTurnaround, hint="", provenance={"nodelist": NODES}, robbed=robbed)
        self.completing_s = dict(completing_s)
        first = {node: 100.0 + late.get(node, 0.0) for node in NODES}
        self.told = {JOB: JobStart(elapsed_s, at_allocation), SECOND: dict.fromkeys(NODES, max(first.values()) + 0.25)}
        self.first = first

    def output_text(self, name):
        return name

    def parsed(self, _, text, **__):
        return self.told.get(text, self.first)

    def out_of_bounds(self, _, value):
        return value > 3

    def named(self):
        assert evaluate(self.read_times())
        return [(one.name, one.quantity) for one in self.findings]


@pytest.fixture(autouse=True)
def in_slurm(monkeypatch):
    monkeypatch.setattr(job_turnaround, "runs_in_slurm", lambda _: True)


def test_quick_nodes_are_not_named():
    assert Turnaround({"n2": 0.4, "n3": 2.9}, elapsed_s=1.0).named() == []


@pytest.mark.parametrize("node", NODES[1:])
def test_a_node_whose_first_task_begins_late(node):
    check = Turnaround({node: 8.0})
    assert check.named() == [(node, "prolog")]
    assert excess(check.start_s) == 8.0


def test_the_first_node_by_the_time_until_the_job_script_begins():
    assert Turnaround({}, elapsed_s=8.0).named() == [("n1", "prolog")]
    # Holds for any node.
    assert Turnaround({}, elapsed_s=8.0, at_allocation=True).named() == []


def test_prologs_that_are_slow_everywhere_name_nobody():
    assert Turnaround(dict.fromkeys(NODES[1:], 8.0), elapsed_s=8.0).named() == []
    assert Turnaround(dict.fromkeys(NODES[1:3], 8.0)).named() == [], "half of the nodes"


def test_a_node_that_is_long_completing():
    assert Turnaround({}, completing_s={"n3": 5.0, "n2": 0.5}).named() == [("n3", "epilog")]


@pytest.mark.parametrize(("others", "excused"), [({}, False), ({"n4": 2.5}, True)])
def test_load_excuses_a_node_only_where_others_are_late_too(others, excused):
    check = Turnaround({"n3": 8.0, **others}, robbed="others used 2 of 2 cores")
    assert check.named() == [("n3", "prolog")]
    assert bool(check.robbed) is excused


def test_nodes_are_asked_for_until_none_completes(monkeypatch, tmp_path):
    answers = [["n[2-3]"], ["n3"], []]
    monkeypatch.setattr(job_turnaround, "asked", lambda *_: answers.pop(0))
    monkeypatch.setattr(job_turnaround, "LOOK_EVERY_S", 0.01)
    (tmp_path / "kappa_ended").write_text("0\n")
    os.utime(tmp_path / "kappa_ended", (1e9, 1e9))
    found = completing("7", tmp_path, 60)
    assert list(found) == ["n2", "n3"] and found["n3"] > found["n2"] > 1e6, "since the script ended"


def test_a_controller_that_does_not_answer_makes_no_node_slow(monkeypatch, tmp_path):
    monkeypatch.setattr(job_turnaround, "asked", lambda *_: [])
    assert completing("7", tmp_path, 60) == {}
