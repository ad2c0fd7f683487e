"""A mix of jobs: its figures from recorded answers, answers without a figure, and its bounds."""

import json
import pathlib

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.operation_clauses import JobMix, MixBounds, MixJob
from reports.acceptance.campaign.job_rows import SchedulerStatistics, parse_jobs, parse_sdiag
from reports.acceptance.campaign.operations import MixRecord, begin_operation
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome
from reports.acceptance.mix_figures import mix_figures, mix_plan, scheduler_cycles

SDIAG = (pathlib.Path(__file__).parents[2] / "data/acceptance/sdiag.txt").read_text()
# Recorded on the embedded cluster (Slurm 22.05.8): sacct, with ids, and the order of submission.
SACCT = """\
4|COMPLETED|2026-11-26T19:29:06|2026-11-26T19:29:06|2026-11-26T19:29:10|1|node1|None
5|COMPLETED|2026-11-26T19:29:06|2026-11-26T19:29:10|2026-11-26T19:29:12|4|node[1-4]|None
6|COMPLETED|2026-11-26T19:29:06|2026-11-26T19:29:13|2026-11-26T19:29:16|1|node1|None
7|COMPLETED|2026-11-26T19:29:06|2026-11-26T19:29:13|2026-11-26T19:29:15|2|node[3-4]|None
"""
JOBS = ("4", "5", "6", "7")
# squeue, of a job that waits for a drained node, and sacct of the same job when it was cancelled.
WAITING = (
    "5|PENDING|2026-11-26T19:29:06|N/A|N/A|4||"
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions\n"
)
CANCELLED = "5|CANCELLED by 0|2026-11-26T19:29:06|None|2026-11-26T19:29:39|4|None assigned|None"
BLOCK = JobMix(
    nodes=4,
    efficiency=0.4,
    limit_s=300,
    jobs=(
        MixJob(nodes=1, seconds=3, count=2), MixJob(nodes=2, seconds=2, count=1), MixJob(share=1, seconds=2, count=1),
    ),
)  # fmt: skip


def line(job):
    return SACCT.splitlines()[JOBS.index(job)]


def figures(text=SACCT, jobs=JOBS, queued=""):
    return mix_figures(BLOCK, jobs, parse_jobs(text, "sacct"), parse_jobs(queued, "squeue"))


def test_the_seed_fixes_the_order():
    assert [(job.nodes, job.seconds) for job in BLOCK.queue] == [(1, 3), (4, 2), (1, 3), (2, 2)]
    other = JobMix(nodes=4, efficiency=0.4, limit_s=300, jobs=BLOCK.jobs, seed=2)
    assert sorted(map(str, other.queue)) == sorted(map(str, BLOCK.queue)) and other.queue != BLOCK.queue


def test_figures_of_a_recorded_mix():
    found = figures()
    assert found.efficiency == pytest.approx(18 / (4 * 10))
    assert (found.makespan_s, found.median_wait_s, found.p95_wait_s) == (10, 5.5, 7)
    assert found.starts_per_minute == pytest.approx(60 * 4 / 7)
    # Before the full job, one of four nodes was busy for four seconds.
    assert found.idle_before_full == ((12, 4),) and found.idle_node_s == 12
    assert found.nodes == ("node1", "node2", "node3", "node4")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (line("5"), CANCELLED, "1 of 4 jobs did not run as agreed: job 5: CANCELLED, did not start on 4 nodes (Nodes"),
        (line("5") + "\n", "", "job 5: Slurm does not know it any more"),
        (line("6"), f"{line('6')}\n{line('6')}", "job 6: it was requeued"),
        ("4|COMPLETED", "4|FAILED", "job 4: FAILED on node1"),
        ("4|COMPLETED", "4|CANCELLED by 1000", "job 4: CANCELLED on node1"),
        ("6|COMPLETED", "6|RUNNING", "job 6: RUNNING on node1"),
        ("2|node[3-4]", "2|node3", "job 7: it had node3 instead of 2 nodes"),
        ("2026-11-26T19:29:16", "2026-11-26T19:29:14", "job 6: it ended after 1 of 3 s on node1"),
        ("1|node1", "1|node9", "the jobs ran on 5 nodes, the contract's machine has 4"),
        ("4|COMP", f"{line('7').replace('7|', '99|', 1)}\n4|COMP", "other jobs used the nodes meanwhile: 99"),
    ],
)
def test_no_figure_without_every_job(old, new, words):
    assert old in SACCT
    with pytest.raises(InputError) as error:
        figures(SACCT.replace(old, new, 1), queued=WAITING)
    assert words in str(error.value)


def test_only_a_job_that_slurmctld_knows_is_alive():
    """slurmctld was killed and forgot job 3; the accounting has it running for ever."""
    runaway = "3|RUNNING|2026-11-26T19:20:06|2026-11-26T19:20:06|Unknown|1|node1|None\n"
    assert figures(SACCT + runaway).makespan_s == 10
    with pytest.raises(InputError, match="other jobs used the nodes meanwhile: 3"):
        figures(SACCT + runaway, queued=runaway)


def test_a_job_that_was_not_submitted():
    with pytest.raises(InputError, match="3 of 4 jobs were submitted"):
        figures(jobs=JOBS[:3])


@pytest.mark.parametrize(
    "odd",
    [
        "4|COMPLETED|2026-11-26T19:29:06\n", line("4"), line("4").replace("T", " ") + "\n",
        line("4").replace("node1", "node[1-") + "\n", line("4").replace("|1|", "|one|") + "\n",
        line("4").replace("2026-11-26T19:29:06", "Unknown") + "\n",
    ],
)  # fmt: skip
def test_an_odd_answer_is_named(odd):
    with pytest.raises(InputError, match=r"^sacct"):
        parse_jobs(odd, "sacct")


def test_an_expected_start_is_no_start():
    [row] = parse_jobs("5|PENDING|2026-11-26T19:29:06|2026-11-26T19:30:00|N/A|4||Resources\n", "squeue")
    assert (row.start, row.end, row.nodes, row.reason) == (None, None, (), "Resources")
    [row] = parse_jobs("5|RUNNING|2026-11-26T19:29:06|2026-11-26T19:30:00|2026-11-26T19:31:00|1|node1|None\n", "squeue")
    assert row.start is not None and row.end is None


def test_sdiag():
    assert parse_sdiag(SDIAG) == SchedulerStatistics(since=1795720576, cycles=771, mean_us=19, longest_us=1180)
    # Without a cycle there is no mean; the backfill scheduler's must not stand in for it.
    none = SDIAG.replace("\tTotal cycles: 771\n\tMean cycle:   19\n", "\tTotal cycles: 0\n")
    assert parse_sdiag(none).mean_us is None
    with pytest.raises(InputError, match="sdiag"):
        parse_sdiag(SDIAG.replace("Main schedule statistics", "Other statistics"))


def test_cycles_of_the_mix_alone():
    before, after = SchedulerStatistics(100, 10, 20, 50), SchedulerStatistics(100, 30, 40, 90)
    assert scheduler_cycles(before, after) == 50
    assert scheduler_cycles(before, SchedulerStatistics(200, 30, 40, 90)) is None, "counters began anew at midnight"
    assert scheduler_cycles(before, before) is None
    assert scheduler_cycles(SchedulerStatistics(100, 0, None, 0), after) == 40


def test_bounds_of_the_mix_of_the_design():
    jobs = (
        MixJob(nodes=1, seconds=20, count=8), MixJob(nodes=1, seconds=40, count=4),
        MixJob(nodes=2, seconds=15, count=6), MixJob(nodes=4, seconds=10, count=2),
    )  # fmt: skip
    plan = mix_plan(JobMix(nodes=4, efficiency=0.8, limit_s=600, jobs=jobs))
    assert (plan.jobs, plan.node_seconds, plan.area_s, plan.full_s, plan.packed_s) == (20, 580, 145, 145, 145)
    assert plan.highest == 1


def test_large_jobs_lower_the_highest_efficiency():
    jobs = (MixJob(nodes=4, seconds=10, count=1), MixJob(nodes=3, seconds=10, count=2))
    plan = mix_plan(JobMix(nodes=4, efficiency=0.9, limit_s=600, jobs=jobs))
    assert (plan.area_s, plan.full_s, plan.packed_s) == (25, 30, 30)
    assert plan.highest == pytest.approx(100 / 120)


CLAUSE = {
    "id": "M1",
    "text": "A mix of jobs keeps the machine busy.",
    "mix": {
        "nodes": 4, "efficiency": 0.4, "limit_s": 300,
        "jobs": [
            {"nodes": 1, "seconds": 3, "count": 2}, {"nodes": 2, "seconds": 2, "count": 1},
            {"share": 1, "seconds": 2, "count": 1},
        ],
    },
    "mandatory": True,
}  # fmt: skip


def demanded(campaign, **changes):
    return campaign.demand({**CLAUSE, "mix": {**CLAUSE["mix"], **changes}})


def measured(campaign, text=SACCT, repeat=1):
    attempt = begin_operation(campaign.folder, "M1", repeat)
    attempt.keep("sacct", text)
    attempt.keep("sdiag-before", SDIAG)
    attempt.keep("sdiag-after", SDIAG.replace("771", "1000"))
    attempt.finish(MixRecord(JOBS, "sacct"))
    return attempt


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, ClauseOutcome.MET),
        ({"efficiency": 0.46}, ClauseOutcome.NOT_MET),
        ({"bounds": {"p95_wait_s": 7, "idle_node_s": 12, "longest_cycle_us": 1180}}, ClauseOutcome.MET),
        ({"bounds": {"p95_wait_s": 6}}, ClauseOutcome.NOT_MET),
        ({"bounds": {"starts_per_minute": 35}}, ClauseOutcome.NOT_MET),
        ({"repeats": 2}, ClauseOutcome.INCOMPLETE),
    ],
)
def test_a_campaign_is_judged(campaign, changes, outcome):
    demanded(campaign, **changes)
    measured(campaign)
    found = judge(campaign).clauses[0]
    assert found.outcome is outcome
    assert found.value == pytest.approx(0.45)


def test_a_bound_on_a_figure_that_is_missing(campaign):
    demanded(campaign, bounds={"mean_cycle_us": 100})
    (measured(campaign).folder / "sdiag-after.txt").unlink()
    found = judge(campaign).clauses[0]
    assert (found.outcome, found.problems[0]) == (ClauseOutcome.INCOMPLETE, "mean cycle is missing in 1 repeat")


def test_the_last_finished_attempt_counts(campaign):
    demanded(campaign)
    begin_operation(campaign.folder, "M1", 1)
    measured(campaign, SACCT.replace("4|COMPLETED", "4|NODE_FAIL"))
    assert judge(campaign).clauses[0].problems == (
        "repeat 1: 1 of 4 jobs did not run as agreed: job 4: NODE_FAIL on node1",
    )
    measured(campaign)
    begin_operation(campaign.folder, "M1", 1)
    found = judge(campaign).clauses[0]
    assert found.outcome is ClauseOutcome.MET
    assert found.remarks == ("2 interrupted attempts", "1 finished attempt superseded by a later one")


def test_dossier_and_verify_cover_the_answers(campaign, tmp_path):
    demanded(campaign)
    measured(campaign)
    dossier = tmp_path / "dossier"
    assert write_dossier(campaign, dossier, False, None).acceptance is Acceptance.ACCEPTED
    assert verify(dossier).problems == []
    [clause] = json.loads((dossier / "verdict.json").read_text())["clauses"]
    assert clause["operations"][0]["makespan_s"] == 10
    page = (dossier / "dossier.html").read_text()
    assert "Idle before full jobs: 12 node-s in 4 s" in page
    with (dossier / "operations/M1-r0001-a01/sacct.txt").open("a") as altered:
        altered.write(line("7") + "\n")
    assert verify(dossier).exit_status == 1


def test_bounds_in_words():
    block = JobMix(
        nodes=4, efficiency=0.4, limit_s=9, jobs=BLOCK.jobs, bounds=MixBounds(p95_wait_s=6, starts_per_minute=3)
    )
    assert block.requirement == "efficiency ≥ 0.4, p95 wait ≤ 6 s, starts ≥ 3 per minute"
