"""The time of a restart, failover, reboot or start: from recorded answers, and measured on a replayed Slurm."""

from dataclasses import replace

import msgspec
import pytest

from kappa.core.ground.errors import InputError
from reports.acceptance.campaign.operations import ProbeJob, begin_operation, operation_attempts
from reports.acceptance.judge import judge
from reports.acceptance.kinds import duration as kind
from reports.acceptance.kinds.clause import ClauseOutcome, OperatorStop
from reports.acceptance.kinds.duration import Duration, TimeRecord
from tests.unit.acceptance.operations import FakeBench

# 2026-11-26T19:29:30 UTC.
STOP = 1795721370.0
# Lines of `scontrol show config` of Slurm 22.05.8, recorded on the embedded cluster before and after a restart.
BEFORE = """\
Configuration data as of 2026-11-26T19:29:29
BOOT_TIME               = 2026-11-26T19:16:14
SlurmctldTimeout        = 30 sec
SlurmdTimeout           = 20 sec
"""
AFTER = BEFORE.replace("19:29:29", "19:29:51").replace("19:16:14", "19:29:34")
# slurmctld goes on.
ALIVE = BEFORE.replace("29:29", "29:51")
PING_BACKUP = "Slurmctld(primary) at login is DOWN\nSlurmctld(backup) at node1 is UP\n"
PING_PRIMARY = PING_BACKUP.replace("DOWN", "UP")
# Recorded then: the controller was killed two seconds after it started jobs 8 and 9. It forgot them, started 8 again,
# and gave the id 9 to a new job.
SQUEUE = """\
9|COMPLETED|2026-11-26T19:29:35|2026-11-26T19:29:36|2026-11-26T19:29:36|1|node1|None
10|COMPLETED|2026-11-26T19:29:35|2026-11-26T19:29:36|2026-11-26T19:29:36|1|node2|None
15|COMPLETED|2026-11-26T19:29:37|2026-11-26T19:29:38|2026-11-26T19:29:38|1|node1|None
8|RUNNING|2026-11-26T19:29:28|2026-11-26T19:29:36|2026-11-26T21:35:36|1|node1|None
"""
LOAD = """\
8|RUNNING|2026-11-26T19:29:28|2026-11-26T19:29:28|2026-11-26T21:35:28|1|node1|None
9|RUNNING|2026-11-26T19:29:28|2026-11-26T19:29:28|2026-11-26T21:35:28|1|node1|None
"""
PROBES = (
    ProbeJob(STOP - 1, STOP - 0.5, "10"), ProbeJob(STOP + 1), ProbeJob(STOP + 4, STOP + 5, "9"),
    ProbeJob(STOP + 5, STOP + 5.5, "10"), ProbeJob(STOP + 7, STOP + 7.5, "15"),
)  # fmt: skip
ANSWERS = {"config-after": AFTER, "squeue": SQUEUE}
NOT_ANEW = "the part did not start anew after the stop"
PRIMARY_UP = "the primary controller answers, so no backup took over"
CLAUSE = {"id": "T1", "text": "Back soon.", "mandatory": True}


def clause(of="restart", **terms):
    return msgspec.convert({**CLAUSE, "kind": "duration", "duration": {"of": of, "at_most_s": 60, **terms}}, Duration)


@pytest.fixture
def times(tmp_path):
    """Return the repeat that recorded answers give, with changed answers and a changed record."""

    def read(of="restart", load=(), answers=(), **changes):
        attempt = begin_operation(tmp_path, "T1", 1)
        for name, answer in {**ANSWERS, **dict(answers)}.items():
            attempt.keep(name, answer)
        record = {"began": STOP, "command": ("stop",), "probes": PROBES, "asked": STOP + 21.2, "load": load, **changes}
        attempt.finish(TimeRecord(**record))
        return clause(of, load=len(load)).read(attempt)

    return read


@pytest.mark.parametrize(
    ("load", "squeue", "broken"),
    [
        (("8", "9"), SQUEUE, "lost running jobs: 8 on node1: started again; 9 on node1: forgotten"),
        (("8",), SQUEUE.replace("8|RUNNING", "8|NODE_FAIL"), "lost running jobs: 8 on node1: NODE_FAIL"),
        (("8",), SQUEUE.splitlines()[0] + "\n" + LOAD.splitlines()[0] + "\n", ""),
    ],
)
def test_lost_jobs_of_the_load_break_the_clause(times, load, squeue, broken):
    assert times(load=load, answers={"squeue": squeue, "load-before": LOAD}).broken == broken


NODE = "NodeName=node1 Arch=x86_64 BootTime=2026-11-26T19:29:33 SlurmdStartTime=2026-11-26T19:29:35 Reason=BootTime=x\n"
OLD_JOB = "10|COMPLETED|2026-11-26T19:29:31|2026-11-26T19:29:31|2026-11-26T19:29:31|1|node2|None\n"
# slurmctld goes on. A backup's daemon started long before, and its accepted jobs count.
FAILOVER = {"config-after": ALIVE, "ping-after": PING_BACKUP}
REBOOT = {"config-after": ALIVE, "nodes-after": NODE}
# Only slurmd was restarted.
NO_REBOOT = NODE.replace("26T19:29:33", "21T08:00:00")


@pytest.mark.parametrize(
    ("of", "answers", "changes", "up_s", "value", "job"),
    [
        ("restart", {}, {}, 4, 7, "9"),
        ("restart", {"squeue": OLD_JOB + SQUEUE}, {}, 4, 7, "9"),
        ("restart", {}, {"began": None, "command": ()}, 4.5, 7.5, "9"),
        ("start", {}, {"command": ()}, 4, 7, "9"),
        ("reboot", REBOOT, {"node": "node1"}, 5, 7, "9"),
        ("failover", FAILOVER, {"down": STOP + 2.5}, 2, 7, "9"),
        ("failover", FAILOVER, {"down": STOP + 5.8, "probes": (PROBES[0], *PROBES[4:])}, 5, 9, "15"),
    ],
)
def test_time_ends_with_the_second_of_the_first_new_job(times, of, answers, changes, up_s, value, job):
    repeat = times(of, answers=answers, **changes)
    assert (repeat.figures, repeat.value, repeat.jobs) == ({"up_s": up_s, "lost_jobs": 0}, value, [job])


def test_job_that_slurm_did_not_accept_is_counted(times):
    assert "5 jobs sent, 1 not accepted" in times().facts


@pytest.mark.parametrize(
    ("changes", "answers", "problem"),
    [
        ({"gave_up": "no new job ran within 1 h 0 min"}, {}, "no new job ran within"),
        ({}, {"config-after": ""}, "slurmctld did not answer"),
        ({"asked": STOP + 60}, {}, "clock differs from the clock here by −39 s, more than 3 s"),
        ({}, {"config-after": ALIVE}, NOT_ANEW),
        ({}, {"squeue": SQUEUE.splitlines()[3] + "\n"}, "no new job was seen to run"),
        ({"began": STOP + 60}, {}, NOT_ANEW),
        ({"began": STOP + 5}, {}, "the part started before the stop"),
        ({"began": None, "probes": PROBES[1:]}, {}, "no job was accepted before the stop"),
        ({"began": None}, {"config-after": ALIVE}, "no job was accepted before the stop"),
        ({"load": ("8",)}, {}, "job 8 of the load did not run before the stop"),
        (
            {"load": ("8",)}, {"squeue": SQUEUE.replace("8|RUNNING", "8|CANCELLED"), "load-before": LOAD},
            "job 8 of the load was cancelled",
        ),
        ({"of": "reboot", "node": "node1"}, {}, "Slurm does not tell when the part started"),
        ({"of": "reboot", "node": "node1"}, {"config-after": ALIVE, "nodes-after": NO_REBOOT}, NOT_ANEW),
        ({"of": "failover"}, FAILOVER, PRIMARY_UP),
        ({"of": "failover", "down": STOP + 2.5}, {**FAILOVER, "ping-after": PING_PRIMARY}, PRIMARY_UP),
    ],
)  # fmt: skip
def test_no_time_without_a_measurement(times, changes, answers, problem):
    with pytest.raises(InputError) as error:
        times(answers=answers, **changes)
    assert problem in str(error.value)


@pytest.fixture
def bench(campaign, monkeypatch):
    """slurmctld was restarted, and two jobs of the load ran before."""
    monkeypatch.setattr(kind.time, "time", lambda: STOP)
    load = LOAD.replace("8|", "1|").replace("9|", "2|")
    answers = {"scontrol": [BEFORE, AFTER.replace("29:51", "29:30")], "squeue": [load, SQUEUE], "scancel": [""]}
    return FakeBench(campaign.folder, answers, probes=PROBES)


@pytest.mark.parametrize(
    ("at_most_s", "load", "outcome"),
    [(7, 0, ClauseOutcome.MET), (6.9, 0, ClauseOutcome.NOT_MET), (7, 2, ClauseOutcome.NOT_MET)],
)
def test_measured_campaign_is_judged(campaign, bench, at_most_s, load, outcome):
    campaign.demand({**CLAUSE, "duration": {"of": "restart", "at_most_s": at_most_s, "load": load}})
    assert judge(campaign).clauses[0].problems == ("repeat 1 is not finished",)
    timed = clause(at_most_s=at_most_s, load=load)
    assert timed.measure_stop(bench, OperatorStop(["restart", "it"])) is (outcome is ClauseOutcome.MET)
    verdict = judge(campaign).clauses[0]
    assert (verdict.outcome, verdict.value) == (outcome, 7)
    assert (load == 2) == ("2 on node1: forgotten" in timed.measured(verdict))
    assert bench.commands[-1][:2] == ("scancel", "--quiet"), "the jobs are cancelled"
    with pytest.raises(InputError, match="all 1 repeats are measured"):
        timed.measure_stop(bench, OperatorStop(["restart", "it"]))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"status": 3}, "`restart` ended with status 3; nothing was measured"),
        ({"probes": ()}, "Slurm accepts no job before the stop"),
    ],
)
def test_failed_stop_leaves_an_interrupted_attempt(campaign, bench, changes, problem):
    with pytest.raises(InputError) as error:
        clause().measure_stop(replace(bench, **changes), OperatorStop(["restart"]))
    assert problem in str(error.value)
    assert [attempt.finished for attempt in operation_attempts(campaign.folder, "T1")] == [False]


def test_time_limit_leaves_the_repeat_to_measure(campaign, bench):
    bench.answers["squeue"] = [InputError("slurmctld is down")]
    assert clause().measure_stop(bench, OperatorStop(["restart"])) is None
    assert bench.lines[-1].startswith("T1: repeat 1: no new job ran within")
    bench.answers["squeue"] = [SQUEUE]
    assert clause().measure_stop(bench, OperatorStop(["restart"])), "the repeat is measured again"


@pytest.mark.parametrize(
    ("of", "stop", "problem"),
    [
        ("reboot", OperatorStop(["scontrol", "reboot", "n1"]), "T1: expected --node NODE with the reboot of a node"),
        ("restart", OperatorStop(node="n1"), "T1: expected --node NODE with the reboot of a node, and only then"),
        ("start", OperatorStop(), "T1: expected --since TIME or a COMMAND after `--`"),
    ],
)
def test_unusable_stop_is_refused_before_slurm_is_asked(bench, of, stop, problem):
    with pytest.raises(InputError) as error:
        clause(of).measure_stop(bench, stop)
    assert problem in str(error.value) and not bench.commands


def test_unknown_node_is_named(bench):
    bench.answers["scontrol"] = [NO_REBOOT]
    with pytest.raises(InputError, match="--node n2: Slurm does not tell when it was booted"):
        clause("reboot").measure_stop(bench, OperatorStop(["reboot"], node="n2"))


def test_failover_waits_until_the_primary_is_down(bench):
    bench.answers |= {"scontrol": [PING_PRIMARY, PING_BACKUP, AFTER.replace("29:51", "29:30")], "squeue": [SQUEUE]}
    assert clause("failover").measure_stop(bench, OperatorStop(["scontrol", "takeover"]))
    [attempt] = operation_attempts(bench.campaign, "T1")
    assert attempt.record(TimeRecord).down == STOP
