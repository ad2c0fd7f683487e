"""Collecting for the outage log: Slurm answers, answers late, or does not answer."""

import pytest
from reports.acceptance.outage_log import LOG, load_log, writing

from kappa.app.conduct import outage_collecting
from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.outage_collecting import collect
from reports.acceptance.campaign.folder import Campaign
from tests.unit.acceptance.outages import BEGIN, Month, written
from tests.unit.acceptance.test_outage_proposals import CONFIG, NODES

HOUR_S = 3600
DOWN = "n2|2026-12-01T01:30:00|{}|DOWN*|Not responding|root(0)\n"


class Slurm:
    """Answers as told; ``None`` is a command that fails."""

    def __init__(self):
        self.environment, self.sacct = {}, ("sacct",)
        self.answers = {
            "sacctmgr": DOWN.format("Unknown"), "sacct": "", "completed": "", "node": "", "config": CONFIG,
        }  # fmt: skip

    def run(self, command, patience_s=None):
        assert self.environment["TZ"] == "UTC"
        kind = command[0] if command[0] != "scontrol" else "node" if "node" in command else "config"
        kind = "completed" if "CD" in command else kind
        if self.answers[kind] is None:
            raise CommandError(f"`{command[0]}` failed")
        return self.answers[kind]

    def said(self, command):
        return self.answers["config"]


@pytest.fixture
def slurm():
    return Slurm()


@pytest.fixture
def go(tmp_path, monkeypatch, slurm):
    """Collect so many hours after the period began."""
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    campaign = Campaign(tmp_path / "campaign")
    written(tmp_path / "campaign", lambda month: None)
    (campaign.folder / LOG).unlink()
    with writing(campaign.folder) as writer:
        Month(writer).add("begin", 0, recorded=-1)

    def collect_at(hours):
        monkeypatch.setattr(outage_collecting.time, "time", lambda: BEGIN.timestamp() + hours * HOUR_S)
        collect(campaign.folder, campaign.contract, slurm)
        return load_log(campaign.folder)

    return collect_at


def of(log, what):
    begin = int(BEGIN.timestamp())
    return [
        ((one.start - begin) / HOUR_S, None if one.end is None else (one.end - begin) / HOUR_S)
        for one in log.latest.values()
        if one.what == what
    ]


def test_an_outage_is_there_once_and_gets_its_end(go, slurm):
    assert of(go(2), "node_interrupt") == [(1.5, None)]
    assert of(go(3), "node_interrupt") == [(1.5, None)]
    slurm.answers["sacctmgr"] = DOWN.format("2026-12-01T03:30:00")
    log = go(4)
    assert of(log, "node_interrupt") == [(1.5, 3.5)]
    assert of(log, "observed") == [(0, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("answer", [None, "n2|yesterday|Unknown|DOWN|x|y\n", "n2|2026-12-01T01:30:00"])
@pytest.mark.parametrize("command", ["sacctmgr", "sacct", "completed"])
def test_without_the_accounting_nothing_is_observed_until_it_answers(go, slurm, command, answer):
    whole = slurm.answers[command]
    slurm.answers[command] = answer
    assert of(go(2), "observed") == []
    slurm.answers[command] = whole
    assert of(go(3), "observed") == [(0, 3)]


@pytest.mark.parametrize(("end", "hours"), [("01:20:00", 1.5 - 1 / 6), ("01:10:00", 1.5), ("01:40:00", 1.5)])
def test_an_outage_begins_with_the_last_job_that_completed_there(go, slurm, end, hours):
    slurm.answers["config"] = CONFIG.replace("SlurmdTimeout           = 20 sec", "SlurmdTimeout           = 450 sec")
    slurm.answers["completed"] = f"7|COMPLETED|2|n[1-2]|2026-12-01T01:00:00|2026-12-01T{end}\n"
    ((start, last),) = of(go(2), "node_interrupt")
    assert (start, last) == (pytest.approx(hours), None)


def test_a_gap_is_an_entry(go):
    go(2)
    log = go(40)
    assert of(log, "not_observed") == [(2, 40)]
    assert of(go(41), "observed") == [(0, 2), (40, 40), (40, 41)]


def test_a_clock_that_was_set_back_makes_nothing_observed(go):
    go(3)
    log = go(2)
    assert of(log, "not_observed") == [(2, 3)]
    assert any("a clock was set back" in remark for remark in log.remarks)


def test_a_controller_that_does_not_answer_is_an_interrupt_of_the_system(go, slurm):
    go(2)
    slurm.answers |= {"config": None, "node": None}
    assert of(go(3), "system_interrupt") == [(3, None)]
    assert of(go(3.5), "system_interrupt") == [(3, None)]
    slurm.answers |= {"config": CONFIG.replace("2026-11-26T13:25:13", "2026-12-01T03:45:00"), "node": NODES}
    log = go(4)
    assert of(log, "system_interrupt") == [(3, 3.75)]
    assert of(go(5), "system_interrupt") == [(3, 3.75)]


def test_a_controller_that_was_started_between_is_told_of(go, slurm):
    go(2)
    slurm.answers["config"] = CONFIG.replace("2026-11-26T13:25:13", "2026-12-01T02:30:00")
    assert of(go(3), "system_interrupt") == [(2.5, 2.5)]


def test_every_answer_is_kept_and_named_with_its_hash(go, tmp_path):
    log = go(2)
    (observed,) = [one for one in log.latest.values() if one.what == "observed"]
    assert {one.partition("-")[0] for one in observed.evidence} == {
        "raw/sacctmgr", "raw/sacct", "raw/completed", "raw/scontrol", "raw/config",
    }  # fmt: skip
    assert all((tmp_path / "campaign" / one.partition("=")[0]).exists() for one in observed.evidence)


def test_before_the_period_nothing_is_observed(go):
    log = go(-0.5)
    assert of(log, "observed") == of(log, "not_observed") == []
