"""Jobs whose first node is lost are found by one question for all jobs."""

from kappa.node.watch import steps
from reframe_checks.base import hangs

SQUEUE = ["11 node1", "12 node2", "13 node1", "14"]


def test_one_question_serves_all_jobs(monkeypatch):
    asked = []

    def answer(*command):
        asked.append(command[0])
        return SQUEUE if command[0] == "squeue" else ["node1 down*", "node2 mixed", "node1 down*"]

    for module in (hangs, steps):
        monkeypatch.setattr(module, "asked", answer)
    found = hangs.FirstNodes()
    assert [found.lost(job) for job in ("11", "12", "13", "14", "15")] == ["node1", "", "node1", "", ""]
    assert asked == ["squeue", "sinfo"]
    monkeypatch.setattr(hangs, "ASK_EVERY_S", 0)
    assert found.lost("12") == "" and asked == ["squeue", "sinfo"] * 2


def test_a_controller_that_does_not_answer_costs_no_job(monkeypatch):
    monkeypatch.setattr(hangs, "asked", lambda *_: [])
    assert hangs.FirstNodes().lost("11") == ""
