"""The time of a restart, failover, reboot or start: from recorded answers; some answers give no measurement."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.operation_clauses import OperationTime
from reports.acceptance.campaign.job_rows import parse_jobs
from reports.acceptance.campaign.operations import ProbeJob, TimeRecord, begin_operation
from reports.acceptance.campaign.slurm_answers import parse_config, parse_nodes
from reports.acceptance.duration_figures import TimeEvidence, operation_times
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from reports.acceptance.operation_verdict import is_primary_down

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
PING_BACKUP = "Slurmctld(primary) at login is DOWN\nSlurmctld(backup) at node1 is UP\n"
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
NODE = "NodeName=node1 Arch=x86_64 State=IDLE BootTime={} SlurmdStartTime={} Reason=BootTime=x\n"


def record(**changes):
    return TimeRecord(**{"began": STOP, "command": ("stop",), "probes": PROBES, "asked": STOP + 21.2, **changes})


def evidence(before=BEFORE, after=AFTER, squeue=SQUEUE, **more):
    given = {"jobs": parse_jobs(squeue, "squeue"), **more}
    return TimeEvidence(parse_config(before) if before else None, parse_config(after) if after else None, **given)


def times(of="restart", load=0, told=None, found=None):
    block = OperationTime(of=of, at_most_s=60, load=load)
    return operation_times(block, told or record(), found or evidence())


def test_a_restart():
    found = times()
    assert (found.up - STOP, found.first_job - STOP, found.job) == (4, 6, "9")
    assert found.seconds == 7, "to the end of the second in which the job started"
    assert (found.sent, found.refused, found.lost) == (5, 1, ())


def test_a_job_that_the_old_slurmctld_started_does_not_count():
    old = "10|COMPLETED|2026-11-26T19:29:31|2026-11-26T19:29:31|2026-11-26T19:29:31|1|node2|None\n"
    assert times(found=evidence(squeue=old + SQUEUE)).seconds == 7


def test_by_hand_the_time_begins_with_the_last_job_accepted_before():
    found = times(told=record(began=None, command=()))
    assert (found.began, found.seconds) == (STOP - 0.5, 7.5)


def test_lost_jobs_of_the_load():
    found = times(load=2, told=record(load=("8", "9")), found=evidence(load_before=parse_jobs(LOAD, "squeue")))
    assert found.lost == ("8 on node1: started again", "9 on node1: forgotten")
    failed = SQUEUE.replace("8|RUNNING", "8|NODE_FAIL")
    found = times(
        load=2, told=record(load=("8",)), found=evidence(squeue=failed, load_before=parse_jobs(LOAD, "squeue"))
    )
    assert found.lost == ("8 on node1: NODE_FAIL",)
    alive = SQUEUE.splitlines()[0] + "\n" + LOAD.splitlines()[0] + "\n"
    found = times(
        load=1, told=record(load=("8",)), found=evidence(squeue=alive, load_before=parse_jobs(LOAD, "squeue"))
    )
    assert (found.lost, found.went_on) == ((), 1)


def test_a_job_that_a_user_cancelled_blames_no_machine():
    cancelled = SQUEUE.replace("8|RUNNING", "8|CANCELLED")
    with pytest.raises(InputError, match="job 8 of the load was cancelled"):
        found = evidence(squeue=cancelled, load_before=parse_jobs(LOAD, "squeue"))
        times(load=2, told=record(load=("8",)), found=found)


def test_failover():
    """The backup's daemon started long before. Its accepted jobs count, not the primary's last ones."""
    last = PROBES[0]
    assert is_primary_down(PING_BACKUP) and not is_primary_down(PING_BACKUP.replace("DOWN", "UP"))
    served = evidence(after=BEFORE.replace("29:29", "29:51"), primary_down=True)
    found = times("failover", told=record(down=STOP + 2.5), found=served)
    assert (found.up - STOP, found.job, found.seconds, found.failover_s) == (2, "9", 7, 30)
    found = times("failover", told=record(down=STOP + 5.8, probes=(last, *PROBES[4:])), found=served)
    assert (found.job, found.seconds) == ("15", 9)
    for told, evident in ((record(), served), (record(down=STOP + 2.5), evidence())):
        with pytest.raises(InputError, match="the primary controller answers, so no backup took over"):
            times("failover", told=told, found=evident)


def test_reboot():
    def nodes(boot, daemon="2026-11-26T19:29:35"):
        return parse_nodes(NODE.format(boot, daemon))[0]

    told = record(node="node1")
    old, new = nodes("2026-11-21T08:00:00"), nodes("2026-11-26T19:29:33")
    # slurmctld goes on: the node's own start counts.
    alive = BEFORE.replace("29:29", "29:51")
    found = times("reboot", told=told, found=evidence(after=alive, node_before=old, node_after=new))
    assert (found.up - STOP, found.seconds) == (5, 7)
    with pytest.raises(InputError, match="node1 was not booted anew"):
        times("reboot", told=told, found=evidence(node_before=old, node_after=old))
    with pytest.raises(InputError, match="does not tell when node1 was booted"):
        times("reboot", told=told, found=evidence(node_before=old))


def test_start_of_the_whole_system():
    told = record(command=())
    assert times("start", told=told, found=evidence(before="")).seconds == 7
    assert times("start", told=told, found=evidence(before=AFTER)).seconds == 7, "up before Kappa asked"
    with pytest.raises(InputError, match="slurmctld did not start anew"):
        times("start", told=told, found=evidence(before="", after=AFTER.replace("19:29:34", "19:20:00")))


@pytest.mark.parametrize(
    ("told", "found", "words"),
    [
        ({"gave_up": "no new job ran within 1 h 0 min"}, {}, "no new job ran within"),
        ({}, {"after": ""}, "slurmctld did not answer"),
        ({"asked": None}, {}, "slurmctld did not answer"),
        ({"asked": STOP + 60}, {}, "clock differs from the clock here by −39 s, more than 3 s"),
        ({}, {"after": BEFORE.replace("29:29", "29:51")}, "slurmctld did not start anew"),
        ({}, {"squeue": SQUEUE.splitlines()[3] + "\n"}, "no new job was seen to run"),
        ({"began": STOP + 60}, {}, "the part started before the stop that was named"),
        ({"began": None, "probes": PROBES[1:]}, {}, "no job was accepted before the stop"),
        ({"load": ("8",)}, {}, "job 8 of the load did not run before the stop"),
    ],
)
def test_what_is_no_measurement(told, found, words):
    with pytest.raises(InputError) as error:
        times(load=1, told=record(**told), found=evidence(**found))
    assert words in str(error.value)


CLAUSE = {"id": "T1", "text": "Back soon.", "mandatory": True}


@pytest.mark.parametrize(
    ("at_most_s", "load", "outcome"),
    [
        (7, 0, ClauseOutcome.MET),
        (6.9, 0, ClauseOutcome.NOT_MET),
        (7, 2, ClauseOutcome.NOT_MET),
    ],
)
def test_a_campaign_is_judged(campaign, at_most_s, load, outcome):
    campaign.demand({**CLAUSE, "duration": {"of": "restart", "at_most_s": at_most_s, "load": load}})
    assert judge(campaign).clauses[0].problems == ("repeat 1 is not finished",)
    attempt = begin_operation(campaign.folder, "T1", 1)
    for name, answer in {"config-before": BEFORE, "config-after": AFTER, "squeue": SQUEUE, "load-before": LOAD}.items():
        attempt.keep(name, answer)
    attempt.finish(record(load=("8", "9")[:load]))
    found = judge(campaign).clauses[0]
    assert (found.outcome, found.value) == (outcome, 7)
    if load:
        assert found.broken == ("repeat 1: lost running jobs: 8 on node1: started again; 9 on node1: forgotten",)
