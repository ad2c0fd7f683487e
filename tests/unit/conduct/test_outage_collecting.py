"""Collecting for the outage log, with answers recorded on the embedded cluster (Slurm 22.05.8)."""

import pytest

from kappa.app.conduct import outage_collecting
from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.outage_collecting import collect
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.record.actions import Action, keep_action
from reports.acceptance.campaign.slurm_answers import parse_config, parse_events, parse_nodes
from reports.acceptance.contract import binding_contract
from reports.acceptance.outages.log import OUTAGES, load_log
from tests.unit.acceptance.outages import BEGIN, written

HOUR_S = 3600
# A node whose slurmd was killed, and one that was drained by hand, with a bar in the reason.
DOWN = "n2|2026-12-01T01:30:00|{}|DOWN*|Not responding|root(0)\n"
DRAINED = "n4|2026-12-01T01:00:00|2026-12-01T01:30:00|DRAIN|disk|swap, rack 3|root(0)\n"
DIED = "7|NODE_FAIL|2026-12-01T01:00:00|2026-12-01T01:00:00|2026-12-01T01:30:00|{}|{}|\n"
NODES = """\
NodeName=n1 Arch=x86_64 State=IDLE BootTime=2026-11-26T13:25:14 SlurmdStartTime=2026-11-26T13:25:14 CfgTRES=cpu=2
NodeName=n2 Arch=x86_64 State=DOWN+NOT_RESPONDING BootTime=2026-11-26T13:25:14 SlurmdStartTime=2026-11-26T13:25:14 \
LastBusyTime=2026-11-26T13:36:25 Reason=said BootTime=2020-01-01T00:00:00 [root@2026-11-26T13:36:25]
"""
CONFIG = """\
Configuration data as of 2026-11-26T13:36:25
BOOT_TIME               = 2026-11-26T13:25:13
SlurmctldTimeout        = 30 sec
"""


class Slurm:
    """Answers as set; ``None`` is a command that fails."""

    def __init__(self):
        self.environment, self.sacct = {}, ("sacct",)
        self.answers = {"sacctmgr": "", "sacct": "", "node": NODES, "config": CONFIG}

    def run(self, command, patience_s=None):
        assert self.environment["TZ"] == "UTC"
        kind = command[0] if command[0] != "scontrol" else "node" if "node" in command else "config"
        if self.answers[kind] is None:
            raise CommandError(f"`{command[0]}` failed")
        return self.answers[kind]


@pytest.fixture
def slurm():
    return Slurm()


@pytest.fixture
def go(tmp_path, monkeypatch, slurm):
    """Collect so many hours after the period began."""
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    folder = written(tmp_path / "campaign", lambda month: None, observed_h=0).folder

    def collect_at(hours):
        monkeypatch.setattr(outage_collecting.time, "time", lambda: BEGIN.timestamp() + hours * HOUR_S)
        collect(folder, binding_contract(folder), slurm)
        return load_log(folder)

    return collect_at


def entries(log, *kinds):
    return [entry for entry in log.latest.values() if entry.what in (kinds or OUTAGES)]


def hours(log, what):
    begin = int(BEGIN.timestamp())
    return [
        ((entry.begins - begin) / HOUR_S, None if entry.ends is None else (entry.ends - begin) / HOUR_S)
        for entry in entries(log, what)
    ]


def test_open_outage_is_appended_once_and_gets_its_end(go, slurm):
    slurm.answers["sacctmgr"] = DOWN.format("Unknown")
    for moment in (2, 3):
        assert hours(go(moment), "node_interrupt") == [(1.5, None)]
    slurm.answers["sacctmgr"] = DOWN.format("2026-12-01T03:30:00")
    log = go(4)
    assert hours(log, "node_interrupt") == [(1.5, 3.5)]
    assert hours(log, "observed") == [(0, 2), (2, 3), (3, 4)]
    assert go(5).lines == log.lines + 1


def test_event_becomes_an_unattributed_entry_with_evidence(go, slurm):
    slurm.answers["sacctmgr"] = DRAINED
    (entry,) = entries(go(2))
    assert (entry.by, entry.source, entry.nodes, entry.attribution) == ("kappa", "sacctmgr", ("n4",), None)
    assert entry.note == "DRAIN disk|swap, rack 3 (root(0))"
    assert entry.evidence[0] == "sacctmgr:n4@2026-12-01T01:00:00Z" and entry.evidence[1].startswith("raw/sacctmgr-")


def test_event_that_ends_before_it_begins_stays_open(go, slurm):
    slurm.answers["sacctmgr"] = DOWN.format("2026-12-01T01:00:00")
    assert hours(go(2), "node_interrupt") == [(1.5, None)]


def test_dead_job_of_all_nodes_is_an_interrupt_of_its_own(go, slurm):
    slurm.answers |= {"sacctmgr": DOWN.format("Unknown"), "sacct": DIED.format(4, "n[1-4]")}
    log = go(2)
    assert hours(log, "job_interrupt") == [(1.5, 1.5)] and len(entries(log)) == 2


@pytest.mark.parametrize(("events", "expected"), [("", [("n1", "n2")]), (DOWN.format("Unknown"), [("n2",)])])
def test_dead_job_of_some_nodes_counts_without_an_event(go, slurm, events, expected):
    slurm.answers |= {"sacctmgr": events, "sacct": DIED.format(2, "n[1-2]")}
    assert [entry.nodes for entry in entries(go(2))] == expected


@pytest.mark.parametrize(("events", "expected"), [("", [("scontrol", 3, 3 + 1 / 60)]), (DOWN, [("sacctmgr", 1.5, 4)])])
def test_boot_counts_without_an_event(go, slurm, events, expected):
    go(2)
    first, second, _ = NODES.split("\n")
    booted = second.replace(" BootTime=2026-11-26T13:25:14", " BootTime=2026-12-01T03:00:00")
    booted = booted.replace("StartTime=2026-11-26T13:25:14", "StartTime=2026-12-01T03:01:00")
    slurm.answers["node"] = f"{first}\n{booted}\n"
    slurm.answers["sacctmgr"] = events.format("2026-12-01T04:00:00")
    log = go(4.5)
    assert [(entries(log)[0].source, *times) for times in hours(log, "node_interrupt")] == expected


def test_quarantine_lasts_until_the_node_is_given_back(go):
    start = BEGIN.timestamp() + HOUR_S
    for action in (
        Action(what="drain", node="n3", time=start, outcome="done"),
        Action(what="drain", node="n4", time=start + 1, outcome="declined"),
        Action(what="return", node="n3", time=start + HOUR_S, outcome="done"),
    ):
        keep_action(results_folder("embedded") / "history", action)
    log = go(3)
    assert [(entry.source, entry.nodes) for entry in entries(log)] == [("quarantine", ("n3",))]
    assert hours(log, "node_interrupt") == [(1, 2)]


@pytest.mark.parametrize("answer", [None, "n2|yesterday|Unknown|DOWN|x|y\n", "n2|2026-12-01T01:30:00"])
@pytest.mark.parametrize("command", ["sacctmgr", "sacct"])
def test_silent_accounting_leaves_time_unobserved_until_it_answers(go, slurm, command, answer):
    whole = slurm.answers[command]
    slurm.answers[command] = answer
    assert hours(go(2), "observed") == []
    slurm.answers[command] = whole
    assert hours(go(3), "observed") == [(0, 3)]


def test_long_gap_is_not_observed(go):
    go(2)
    assert hours(go(40), "not_observed") == [(2, 40)]
    assert hours(go(41), "observed") == [(0, 2), (40, 40), (40, 41)]


def test_clock_set_back_is_not_observed(go):
    go(3)
    log = go(2)
    assert hours(log, "not_observed") == [(2, 3)]
    assert len(log.remarks) == 1


def test_silent_controller_is_a_system_interrupt_until_its_start(go, slurm):
    go(2)
    slurm.answers |= {"config": None, "node": None}
    for moment in (3, 3.5):
        assert hours(go(moment), "system_interrupt") == [(3, None)]
    slurm.answers |= {"config": CONFIG.replace("2026-11-26T13:25:13", "2026-12-01T03:45:00"), "node": NODES}
    for moment in (4, 5):
        assert hours(go(moment), "system_interrupt") == [(3, 3.75)]


def test_controller_start_between_collections_is_an_entry(go, slurm):
    go(2)
    slurm.answers["config"] = CONFIG.replace("2026-11-26T13:25:13", "2026-12-01T02:30:00")
    assert hours(go(3), "system_interrupt") == [(2.5, 2.5)]


def test_every_answer_is_kept_with_its_hash(go, tmp_path):
    (observed,) = entries(go(2), "observed")
    names = {name.partition("-")[0] for name in observed.evidence}
    assert names == {"raw/sacctmgr", "raw/sacct", "raw/scontrol", "raw/config"}
    assert all((tmp_path / "campaign" / name.partition("=")[0]).exists() for name in observed.evidence)


def test_time_before_the_period_is_neither_observed_nor_not(go):
    assert not entries(go(-0.5), "observed", "not_observed")


def test_operator_text_is_no_boot_time():
    assert [(start.node, start.boot) for start in parse_nodes(NODES)] == [("n1", 1795699514), ("n2", 1795699514)]
    assert (parse_config(CONFIG).started, parse_config(CONFIG).failover_s) == (1795699513, 30)


@pytest.mark.parametrize(
    ("parse", "text", "line"),
    [
        (parse_events, DRAINED + "n2|2026-11-26T13:36:25|Unknown\n", 2),
        (parse_events, DRAINED + "|2026-11-26T13:36:25|Unknown||Cluster Registered TRES|\n", 2),
        (parse_events, "n2|26 Nov 13:36|Unknown|DOWN*|Not responding|root(0)\n", 1),
        (parse_events, "n2|Unknown|Unknown|DOWN*|Not responding|root(0)\n", 1),
        (parse_nodes, NODES + "Node node9 not expected\n", 3),
    ],
)
def test_foreign_line_is_refused_with_its_number(parse, text, line):
    with pytest.raises(InputError, match=f", line {line}: expected"):
        parse(text)


@pytest.mark.parametrize("parse", [parse_events, parse_nodes])
def test_answer_that_is_cut_off_is_refused(parse):
    with pytest.raises(InputError, match="cut off"):
        parse("n2|2026-11-26T13:36:25|Unk")
    assert parse("") == []
