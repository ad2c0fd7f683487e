"""Slurm's answers, recorded on the embedded cluster (Slurm 22.05.8), and the entries that they propose."""

import pytest
from kappa.core.sites.outage_clauses import OutageTerms
from reports.acceptance.outage_log import load_log, writing
from reports.acceptance.outage_proposals import RawPaths, new_in, of_actions, of_boots, of_events, of_jobs, utc

from kappa.core.ground.errors import InputError
from kappa.core.record.actions import Action
from reports.acceptance.campaign.slurm_answers import parse_config, parse_events, parse_jobs, parse_nodes

# node2: slurmd killed; node4: drained by hand, with a bar in the reason; job 1 had all four nodes.
EVENTS = """\
node2|2026-11-26T13:36:25|Unknown|DOWN*|Not responding|root(0)
node4|2026-11-26T13:36:25|2026-11-26T13:37:15|DRAIN|disk|swap, rack 3|root(0)
"""
LATER = """\
node2|2026-11-26T13:36:25|2026-11-26T13:37:40|DOWN*|Not responding|root(0)
node4|2026-11-26T13:36:25|2026-11-26T13:37:15|DRAIN|disk|swap, rack 3|root(0)
"""
JOBS = "1|NODE_FAIL|4|node[1-4]|2026-11-26T13:35:52|2026-11-26T13:36:25\n"
NODES = """\
NodeName=node1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 OS=Linux 6.18.44-fc-v669 #1 SMP PREEMPT_DYNAMIC @0  \
RealMemory=24105 State=IDLE ThreadsPerCore=1 Partitions=cpu,scratch  BootTime=2026-11-26T13:25:14 \
SlurmdStartTime=2026-11-26T13:25:14 LastBusyTime=2026-11-26T13:25:14 CfgTRES=cpu=2,mem=24105M,billing=2
NodeName=node2 Arch=x86_64 CoresPerSocket=2  State=DOWN+NOT_RESPONDING BootTime=2026-11-26T13:25:14 \
SlurmdStartTime=2026-11-26T13:25:14 LastBusyTime=2026-11-26T13:36:25 \
Reason=said BootTime=2020-01-01T00:00:00 [root@2026-11-26T13:36:25]
"""
CONFIG = """\
Configuration data as of 2026-11-26T13:36:25
BOOT_TIME               = 2026-11-26T13:25:13
SlurmdTimeout           = 20 sec
"""
TERMS = OutageTerms(nodes="node[1-4]", least_nodes=3)
RAW = RawPaths({"sacctmgr": "raw/a.txt", "sacct": "raw/b.txt", "scontrol": "raw/c.txt"})
NOTICED = 1795700185  # 13:36:25 UTC


def test_events_are_split_from_both_ends():
    down, drained = parse_events(EVENTS)
    assert (down.node, down.start, down.end, down.state, down.reason, down.user) == (
        "node2", NOTICED, None, "DOWN*", "Not responding", "root(0)",
    )  # fmt: skip
    assert (drained.reason, drained.end) == ("disk|swap, rack 3", NOTICED + 50)


def test_a_failed_job_names_all_of_its_nodes():
    (job,) = parse_jobs(JOBS)
    assert (job.job, job.state, job.nodes, job.end) == ("1", "NODE_FAIL", ("node1", "node2", "node3", "node4"), NOTICED)


def test_what_an_operator_wrote_is_no_boot_time():
    assert [(one.node, one.boot) for one in parse_nodes(NODES)] == [("node1", 1795699514), ("node2", 1795699514)]
    assert (parse_config(CONFIG).started, parse_config(CONFIG).node_timeout_s) == (1795699513, 20)


@pytest.mark.parametrize(
    ("parse", "text", "line"),
    [
        (parse_events, EVENTS + "node2|2026-11-26T13:36:25|Unknown\n", 3),
        (parse_events, EVENTS + "|2026-11-26T13:36:25|Unknown||Cluster Registered TRES|\n", 3),
        (parse_events, "node2|26 Nov 13:36|Unknown|DOWN*|Not responding|root(0)\n", 1),
        (parse_jobs, JOBS + "2|NODE_FAIL|4|node[1-|2026-11-26T13:35:52|2026-11-26T13:36:25\n", 2),
        (parse_jobs, "slurm_load_jobs error\n", 1),
        (parse_nodes, NODES + "Node node9 not found\n", 3),
    ],
)
def test_a_line_that_is_none_is_named(parse, text, line):
    with pytest.raises(InputError, match=f", line {line}: expected"):
        parse(text)


@pytest.mark.parametrize("parse", [parse_events, parse_jobs, parse_nodes])
def test_an_answer_that_is_cut_off_is_refused(parse):
    with pytest.raises(InputError, match="cut off"):
        parse("node2|2026-11-26T13:36:25|Unk")
    assert parse("") == []


def test_events_propose_outages_that_nobody_has_attributed():
    down, drained = of_events(parse_events(EVENTS), TERMS, RAW, {}, 20)
    assert (down.what, down.nodes, down.end, down.attribution) == ("node_interrupt", ("node2",), None, None)
    assert down.evidence == ("sacctmgr:node2@2026-11-26T13:36:25Z", "raw/a.txt:1")
    assert drained.note == "DRAIN disk|swap, rack 3 (root(0))"


def test_an_outage_begins_with_the_last_answer_that_slurms_patience_allows():
    answers = {"node2": [NOTICED - 100, NOTICED - 15, NOTICED - 5000], "node4": [NOTICED - 5]}
    down, drained = of_events(parse_events(EVENTS), TERMS, RAW, answers, 20)
    assert down.start == utc(NOTICED - 15)
    assert drained.start == utc(NOTICED), "a drain is noticed at once"


def test_an_event_that_ends_before_it_begins_stays_open():
    (odd,) = of_events(parse_events("node2|2026-11-26T13:36:25|2026-11-26T12:36:25|DOWN*|x|y\n"), TERMS, RAW, {}, 20)
    assert odd.end is None and "ended before it began" in odd.note


def test_a_job_of_all_nodes_is_an_interrupt_of_the_system():
    (job,) = of_jobs(parse_jobs(JOBS), parse_events(EVENTS), TERMS, RAW)
    assert (job.what, job.nodes, job.start, job.end) == ("job_interrupt", (), utc(NOTICED), utc(NOTICED))


def test_a_job_of_some_nodes_counts_where_no_event_tells_of_them():
    jobs = parse_jobs("7|NODE_FAIL|2|node[1-2]|2026-11-26T13:35:52|2026-11-26T13:36:25\n")
    assert of_jobs(jobs, parse_events(EVENTS), TERMS, RAW) == []
    (job,) = of_jobs(jobs, [], TERMS, RAW)
    assert job.nodes == ("node1", "node2") and "no event says which" in job.note


def test_a_boot_without_an_event_is_proposed():
    before = parse_nodes(NODES)
    booted = NODES.replace(" BootTime=2026-11-26T13:25:14", " BootTime=2026-11-26T15:00:00", 1)
    after = parse_nodes(booted.replace("SlurmdStartTime=2026-11-26T13:25:14", "SlurmdStartTime=2026-11-26T15:01:00", 1))
    (boot,) = of_boots(before, after, [], TERMS, RAW)
    assert (boot.nodes, (boot.end - boot.start).seconds) == (("node1",), 60)
    event = parse_events("node1|2026-11-26T14:59:00|2026-11-26T15:01:00|DOWN*|Not responding|root(0)\n")
    assert of_boots(before, after, event, TERMS, RAW) == []
    assert of_boots([], after, [], TERMS, RAW) == [], "at the first look nothing is known of before"


def test_quarantine_lasts_until_the_node_is_given_back():
    actions = [
        Action(what="drain", node="node3", time=NOTICED, outcome="done"),
        Action(what="drain", node="node4", time=NOTICED, outcome="declined"),
        Action(what="return", node="node3", time=NOTICED + 900, outcome="done"),
    ]
    (found,) = of_actions(actions, TERMS)
    assert (found.source, found.nodes, found.end) == ("quarantine", ("node3",), utc(NOTICED + 900))


def test_what_is_collected_twice_is_there_once_and_gets_its_end(tmp_path):
    with writing(tmp_path) as log:
        first = of_events(parse_events(EVENTS), TERMS, RAW, {}, 20)
        log.append(new_in(log.log, [*first, *first]))
        assert new_in(log.log, first) == []
        later = new_in(log.log, of_events(parse_events(LATER), TERMS, RAW, {}, 20))
        assert [one.supersedes for one in later] == ["1"]
        log.append(later)
        assert new_in(log.log, of_events(parse_events(LATER), TERMS, RAW, {}, 20)) == []
    found = load_log(tmp_path)
    assert sorted(found.latest) == [2, 3] and found.latest[3].end == NOTICED + 75
