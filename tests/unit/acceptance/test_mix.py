"""A mix of jobs: its plan, its run on a Slurm that replays answers, and its figures from recorded answers."""

import json
import math
import pathlib

import msgspec
import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError
from reports.acceptance.campaign.job_rows import parse_jobs, parse_sdiag
from reports.acceptance.campaign.operations import begin_operation, operation_attempts
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import Acceptance, ClauseOutcome
from reports.acceptance.kinds.mix import Mix, MixRecord
from tests.unit.acceptance.operations import FakeBench

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
MIX = {
    "nodes": 4, "efficiency": 0.4, "limit_s": 300, "options": ["--partition=batch"],
    "jobs": [
        {"nodes": 1, "seconds": 3, "count": 2}, {"nodes": 2, "seconds": 2, "count": 1},
        {"share": 1, "seconds": 2, "count": 1},
    ],
}  # fmt: skip
CLAUSE = {"id": "M1", "text": "A mix of jobs keeps the machine busy.", "mandatory": True}


def mix(**changes):
    return msgspec.convert({**CLAUSE, "kind": "mix", "mix": {**MIX, **changes}}, Mix)


def demanded(campaign, **changes):
    return campaign.demand({**CLAUSE, "mix": {**MIX, **changes}})


def measured(campaign, text=SACCT, waiting=""):
    attempt = begin_operation(campaign, "M1", 1)
    for name, answer in {"sacct": text, "squeue": waiting, "sdiag-before": SDIAG}.items():
        attempt.keep(name, answer)
    attempt.keep("sdiag-after", SDIAG.replace("771", "1000").replace("Mean cycle:   19", "Mean cycle:   30"))
    attempt.finish(MixRecord(JOBS, "sacct"))
    return attempt


def verdict_of(campaign):
    return judge(campaign).clauses[0]


def line(job):
    return SACCT.splitlines()[JOBS.index(job)]


def test_seed_fixes_the_order():
    queue, other = mix().mix.queue, mix(seed=2).mix.queue
    assert [(job.nodes, job.seconds) for job in queue] == [(1, 3), (4, 2), (1, 3), (2, 2)]
    assert sorted(map(str, other)) == sorted(map(str, queue)) and other != queue


def test_figures_of_a_recorded_mix(tmp_path):
    repeat = mix().read(measured(tmp_path))
    assert repeat.value == pytest.approx(18 / (4 * 10))
    assert repeat.sample.nodes == ("node1", "node2", "node3", "node4") and repeat.sample.job_id == "4–7"
    # Before the full job, one of four nodes was busy for four seconds.
    assert repeat.figures == {
        "makespan_s": 10, "median_wait_s": 5.5, "p95_wait_s": 7, "idle_node_s": 12,
        "starts_per_minute": pytest.approx(60 * 4 / 7), "mean_cycle_us": 30, "longest_cycle_us": 1180,
    }  # fmt: skip
    assert repeat.facts[-1] == f"mean cycle in the mix (µs): {(1000 * 30 - 771 * 19) / 229:.2f}"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (line("5"), CANCELLED, "1 of 4 jobs did not run as agreed: job 5: CANCELLED, did not start on 4 nodes (Nodes"),
        (line("5") + "\n", "", "job 5: Slurm does not know it any more"),
        (line("6"), f"{line('6')}\n{line('6')}", "job 6: it was requeued"),
        ("4|COMPLETED", "4|CANCELLED by 1000", "job 4: CANCELLED on node1"),
        ("2|node[3-4]", "2|node3", "job 7: it had node3 instead of 2 nodes"),
        ("2026-11-26T19:29:16", "2026-11-26T19:29:14", "job 6: it ended after 1 of 3 s on node1"),
        ("1|node1", "1|node9", "the jobs ran on 5 nodes, the contract's machine has 4"),
        ("4|COMP", f"{line('7').replace('7|', '99|', 1)}\n4|COMP", "other jobs used the nodes meanwhile: 99"),
    ],
)
def test_no_figure_without_every_job(tmp_path, old, new, problem):
    assert old in SACCT
    attempt = measured(tmp_path, SACCT.replace(old, new, 1), waiting=WAITING)
    with pytest.raises(InputError) as error:
        mix().read(attempt)
    assert problem in str(error.value)


def test_job_of_others_counts_if_slurmctld_knows_it(tmp_path):
    """slurmctld was killed and forgot job 3; the accounting has it running for ever."""
    runaway = "3|RUNNING|2026-11-26T19:20:06|2026-11-26T19:20:06|Unknown|1|node1|None\n"
    assert mix().read(measured(tmp_path, SACCT + runaway)).figures["makespan_s"] == 10
    with pytest.raises(InputError, match="other jobs used the nodes meanwhile: 3"):
        mix().read(measured(tmp_path, SACCT + runaway, waiting=runaway))


@pytest.mark.parametrize(
    ("old", "new"), [("|node1|None", ""), ("\n", ""), ("node1", "node[1-"), ("|1|", "|one|"), (":06|2", ":06|x")]
)
def test_odd_answer_is_named(old, new):
    with pytest.raises(InputError, match=r"^sacct"):
        parse_jobs((line("4") + "\n").replace(old, new), "sacct")


def test_expected_start_is_no_start():
    [row] = parse_jobs("5|PENDING|2026-11-26T19:29:06|2026-11-26T19:30:00|N/A|4||Resources\n", "squeue")
    assert (row.start, row.end, row.nodes, row.reason) == (math.inf, math.inf, (), "Resources")


def test_sdiag_gives_figures_of_the_main_scheduler():
    assert parse_sdiag(SDIAG) == {"since": 1795720576, "Total": 771, "Mean": 19, "Max": 1180}
    # The backfill scheduler's mean must not stand in for it.
    without_cycle = SDIAG.replace("\tTotal cycles: 771\n\tMean cycle:   19\n", "\tTotal cycles: 0\n")
    assert "Mean" not in parse_sdiag(without_cycle)
    assert parse_sdiag("") == {}


@pytest.mark.parametrize(
    ("jobs", "least_s", "packed_s", "highest"),
    [
        ([(1, 20, 8), (1, 40, 4), (2, 15, 6), (4, 10, 2)], 145, 145, 1),
        # No two large jobs run at once.
        ([(4, 10, 1), (3, 10, 2)], 30, 30, 100 / 120),
    ],
)
def test_plan_states_the_highest_efficiency(jobs, least_s, packed_s, highest):
    kinds = [{"nodes": nodes, "seconds": seconds, "count": count} for nodes, seconds, count in jobs]
    document = mix(jobs=kinds, repeats=3).plan(None).document
    assert document == {
        "repeats": 3, "jobs": sum(count for *_, count in jobs), "node_seconds": sum(map(math.prod, jobs)),
        "least_s": least_s, "packed_s": packed_s, "highest_efficiency": pytest.approx(highest),
    }  # fmt: skip


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
def test_campaign_is_judged(campaign, changes, outcome):
    demanded(campaign, **changes)
    measured(campaign.folder)
    assert (verdict_of(campaign).outcome, verdict_of(campaign).value) == (outcome, pytest.approx(0.45))


def test_bound_on_a_missing_figure_is_incomplete(campaign):
    demanded(campaign, bounds={"mean_cycle_us": 100})
    measured(campaign.folder).keep("sdiag-after", "")
    verdict = verdict_of(campaign)
    assert (verdict.outcome, verdict.problems[0]) == (ClauseOutcome.INCOMPLETE, "repeat 1: mean_cycle_us is missing")
    assert verdict.clause.required == "efficiency ≥ 0.4, mean_cycle_us ≤ 100"


def test_last_finished_attempt_counts(campaign):
    demanded(campaign)
    begin_operation(campaign.folder, "M1", 1)
    measured(campaign.folder, SACCT.replace("4|COMPLETED", "4|NODE_FAIL"))
    assert verdict_of(campaign).outcome is ClauseOutcome.INCOMPLETE
    measured(campaign.folder)
    begin_operation(campaign.folder, "M1", 1)
    verdict = verdict_of(campaign)
    assert verdict.outcome is ClauseOutcome.MET
    assert verdict.remarks == ("2 interrupted attempts", "1 finished attempt superseded by a later one")


def test_dossier_and_verify_cover_the_answers(campaign, tmp_path):
    demanded(campaign)
    raw = measured(campaign.folder).folder.name
    dossier = tmp_path / "dossier"
    assert write_dossier(campaign, dossier, False, None).acceptance is Acceptance.ACCEPTED
    assert verify(dossier).problems == []
    [clause] = json.loads((dossier / "verdict.json").read_text())["clauses"]
    assert clause["operations"][0]["makespan_s"] == 10
    assert "idle_node_s 12" in (dossier / "dossier.html").read_text()
    with (dossier / "operations" / raw / "sacct.txt").open("a") as altered:
        altered.write(line("7") + "\n")
    assert verify(dossier).exit_status == 1


# The run on Slurm: two jobs; the second may wait.
FIRST = "1|COMPLETED|2026-11-26T19:29:06|2026-11-26T19:29:06|2026-11-26T19:29:08|1|node1|None\n"
BOTH = FIRST + FIRST.replace("1|COMP", "2|COMP", 1).replace("node1", "node2")
WAITS = FIRST + "2|PENDING|2026-11-26T19:29:06|N/A|N/A|1||Resources\n"
GIVEN_UP = FIRST + "2|CANCELLED|2026-11-26T19:29:06|N/A|2026-11-26T19:30:06|1||None\n"
SMALL = {"nodes": 2, "jobs": [{"nodes": 1, "seconds": 2, "count": 2}]}
SMALL_MIX = mix(**SMALL)


@pytest.fixture
def bench(campaign):
    demanded(campaign, **SMALL)
    return FakeBench(campaign.folder, {"squeue": [BOTH], "sacct": [BOTH], "scancel": [""], "sdiag": [SDIAG]})


@pytest.mark.parametrize("accounting", [True, False])
def test_finished_mix_is_measured_once(campaign, bench, accounting):
    if not accounting:
        del bench.answers["sacct"]
    SMALL_MIX.measure(bench)
    verdict = verdict_of(campaign)
    assert (verdict.outcome.word, verdict.value) == ("met", 1)
    [sbatch, _] = bench.asked("sbatch")
    assert {"--partition=batch", "--exclusive", "--nodes=1", "--time=1", "--wrap=exec sleep 2"} <= {*sbatch}
    asked = len(bench.commands)
    SMALL_MIX.measure(bench)
    assert len(bench.commands) == asked, "nothing is left to run"


def test_job_that_does_not_start_is_cancelled_and_named(campaign, bench):
    bench.answers |= {"squeue": [WAITS], "sacct": [GIVEN_UP]}
    SMALL_MIX.measure(bench)
    [problem] = verdict_of(campaign).problems
    assert "job 2: CANCELLED, did not start on 1 node (Resources)" in problem
    bench.answers |= {"squeue": [InputError("slurmctld is down"), BOTH], "sacct": [BOTH]}
    SMALL_MIX.measure(bench)
    assert verdict_of(campaign).value is None, "not again unless asked"
    bench.again, bench.jobs = True, 0
    SMALL_MIX.measure(bench)
    assert verdict_of(campaign).outcome.word == "met"


def test_stop_cancels_the_jobs_and_the_next_run_too(campaign, bench):
    bench.answers["squeue"], bench.stopped = [WAITS], StoppedError("stopped")
    with pytest.raises(StoppedError):
        SMALL_MIX.measure(bench)
    [attempt] = operation_attempts(campaign.folder, "M1")
    cancel = ("scancel", "--quiet", f"--name={attempt.about.job_name}")
    assert not attempt.finished and bench.commands[-1] == cancel
    # A run that was killed could not cancel.
    bench.commands, bench.answers["squeue"], bench.stopped = [], [BOTH], None
    SMALL_MIX.measure(bench)
    assert bench.commands[0] == cancel


def test_program_of_a_job_is_quoted(tmp_path):
    sbatch = begin_operation(tmp_path, "M1", 1).sbatch(1, 60, ("echo", "it's $HOME; true"))
    assert sbatch[-1] == """--wrap=exec echo 'it'"'"'s $HOME; true'"""
