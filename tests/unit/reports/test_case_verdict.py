"""Every outcome that ReFrame can record, as it recorded them (tests/data/reports/recorder/checks.py)."""

import pytest

from kappa.core.record.load import load_session
from reports.verdict.case_verdict import executed, judge_case
from reports.verdict.state import State, grouped
from tests.unit.reports.samples import DATA, latency, loaded, report


def verdicts(name):
    session = load_session(DATA / f"{name}.json")
    return {case.name: judge_case(case) for run in session.runs for case in run}


@pytest.mark.parametrize(
    ("name", "state", "gaps"),
    [
        ("Passes %placement=same_node", State.PASS, []),
        ("NegativeReference", State.PASS, []),
        ("ZeroReference", State.PASS, []),
        ("Informational", State.PASS, []),
        ("TooSlow", State.FAIL, []),
        ("Insane", State.FAIL, []),
        ("Crashes", State.FAIL, []),
        ("KnownSlow", State.KNOWN, []),
        ("NoReference", State.INCOMPLETE, ["no reference"]),
        ("MendedMeanwhile", State.INCOMPLETE, ["passed although marked as a known failure"]),
        ("Skipped", State.INCOMPLETE, ["skipped"]),
        ("Ready ~bench:cpu", State.PASS, []),
        ("ForeignGood", State.PASS, []),
        ("ForeignBad", State.FAIL, []),
    ],
)
def test_recorded_outcomes(name, state, gaps):
    found = verdicts("outcomes")[name]
    assert (found.state, [gap.what for gap in found.gaps]) == (state, gaps)


def test_a_dry_run_is_no_pass():
    for found in verdicts("dry-run").values():
        assert found.state is State.INCOMPLETE
        assert [gap.what for gap in found.gaps] == ["no job ran, although the result is a pass"]


def test_an_aborted_job_has_no_result(tmp_path):
    running = verdicts("stopped-early")["Sleeps"]
    assert running.state is State.INCOMPLETE
    assert [gap.what for gap in running.gaps] == ["aborted while it ran"]
    pending = latency(result="abort", job_nodelist=[], provenance={}, fail_reason="aborted due to KeyboardInterrupt")
    found = judge_case(loaded(report([pending]), tmp_path).runs[0][0])
    assert found.state is State.INCOMPLETE
    assert [gap.what for gap in found.gaps] == ["aborted before it ran"]
    assert found.gaps[0].detail == "aborted due to KeyboardInterrupt"


REFUSED = """\
spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1:
--- stderr ---
sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)
"""


def test_what_had_no_job_names_nobody(tmp_path):
    unsubmitted = {"result": "fail", "jobid": None, "job_nodelist": [], "perfvalues": {}, "hint": "look at the cables"}
    cases = [
        latency(**unsubmitted, fail_phase="run", fail_reason=REFUSED),
        latency("gpu", **unsubmitted, fail_phase="run", fail_reason=REFUSED),
        latency("gpu", **unsubmitted, fail_phase="setup", fail_reason="reframe error: no Spack"),
    ]
    found = [judge_case(case) for case in loaded(report(cases), tmp_path).runs[0]]
    assert {one.state for one in found} == {State.INCOMPLETE}
    slurm, other = grouped(tuple(gap for one in found for gap in one.gaps))
    assert slurm[0].what == "no job ran: Unable to contact slurm controller (connect failure)"
    assert "slurmctld" in slurm[0].remedy and len(slurm[1]) == 2
    assert other[0].what == "no job ran: reframe error: no Spack"


@pytest.mark.parametrize(
    ("error", "said", "remedy"),
    [
        ("JobBlockedError", "Slurm would not have started the job: PartitionTimeLimit", "`max_time`"),
        ("JobBlockedError", "Slurm would not have started the job: QOSMaxWallDurationPerJobLimit", "`max_time`"),
        ("JobBlockedError", "Slurm would not have started the job: AccountNotAllowed", "-J account="),
        ("JobBlockedError", "Slurm would not have started the job: ReqNodeNotAvail", "no node is to blame"),
        ("JobBlockedError", "Slurm would not have started the job: launch failed requeued held", "prolog"),
        ("UntoldError", "Slurm has not reported the job's state: Unable to contact slurm controller", "scontrol"),
    ],
)
def test_a_job_that_never_began_or_is_not_known_to_have_ended_names_nobody(tmp_path, error, said, remedy):
    never = latency(
        result="fail", fail_phase="run", fail_reason=f"job blocked error: [jobid=61] {said}", perfvalues={},
        fail_info={"exc_type": error}, job_nodelist=[],
    )  # fmt: skip
    found = judge_case(loaded(report([never]), tmp_path).runs[0][0])
    assert (found.state, found.suspicion) == (State.INCOMPLETE, None)
    [gap] = found.gaps
    assert gap.what == f"no job ran: {said}" and remedy in gap.remedy


@pytest.mark.parametrize(("suspects", "state"), [([], State.INCOMPLETE), (["node2"], State.FAIL)])
@pytest.mark.parametrize("ended", ["PREEMPTED", "NODE_FAIL"])
def test_what_slurm_took_its_nodes_from_is_no_fault_unless_one_is_down(tmp_path, ended, suspects, state):
    """As after a restart of slurmctld that takes nodes for failed that work."""
    cut = {"result": "fail", "fail_phase": "sanity", "perfvalues": {}, "ended_by_slurm": ended, "suspects": suspects}
    found = judge_case(loaded(report([latency(**cut)]), tmp_path).runs[0][0])
    assert found.state is state
    if state is State.INCOMPLETE:
        [gap] = found.gaps
        assert gap.what == f"Slurm ended the job before it was done: {ended}" and "slurmctld" in gap.remedy


@pytest.mark.parametrize(
    ("ended", "what", "said"),
    [
        ("NO_STEP", "Slurm did not start a step of the job", "Invalid job id specified"),
        ("FORGOTTEN", "Slurm forgot the job before it was done", ""),
    ],
)
def test_what_a_controller_did_not_start_or_forgot_is_no_fault(tmp_path, ended, what, said):
    cut = {"result": "fail", "fail_phase": "sanity", "perfvalues": {}, "ended_by_slurm": ended}
    cut |= {"fail_reason": f"sanity error: {what}: {said}"}
    found = judge_case(loaded(report([latency(**cut)]), tmp_path).runs[0][0])
    assert found.state is State.INCOMPLETE
    assert [(gap.what, gap.detail) for gap in found.gaps] == [(what, said)]


def test_a_program_that_hangs_where_there_is_no_slurm_fails(tmp_path):
    """ReFrame's local scheduler ends it at its time limit with a JobError."""
    hung = latency(
        result="fail", fail_phase="run", fail_reason="job error: [jobid=61] job timed out (60.1s > 60.0s)",
        perfvalues={}, fail_info={"exc_type": "JobError"},
    )  # fmt: skip
    assert judge_case(loaded(report([hung]), tmp_path).runs[0][0]).state is State.FAIL


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"result": "fail_deps"}, "skipped, because a case that it depends on failed"),
        ({"result": "<unknown>"}, "ended as '<unknown>'"),
        ({"result": "xpass"}, "passed although marked as a known failure"),
        ({"reference_problem": "network.yaml: not valid YAML"}, "the references are not usable"),
        ({"unmeasured": {"fraction_of_peak": "partition cpu has no peak"}},
         "site.yaml lacks a value that a metric is derived from"),
        ({"perfvalues": {}}, "no value was measured"),
        ({"perfvalues": None, "declared_metrics": ["a", "b"]}, "no value was measured"),
        ({"perfvalues": {}, "declared_metrics": []}, "the check measures no metric"),
        ({"perfvalues": {"embedded:cpu:latency_8B": [None, 500, None, 0, "us", None]}}, "no value was measured"),
        ({"perfvalues": {"embedded:cpu:latency_8B": [9, 0, None, None, "us", "pass"]}}, "no reference"),
        ({"perfvalues": {"embedded:cpu:latency_8B": [9, 500, None, -0.1, "us", "pass"]}}, "the bounds are not valid"),
    ],
)  # fmt: skip
def test_every_reason_to_be_incomplete(changes, what, tmp_path):
    found = judge_case(loaded(report([latency(**changes)]), tmp_path).runs[0][0])
    assert found.state is State.INCOMPLETE
    assert {gap.what for gap in found.gaps} == {what}
    assert all(gap.remedy and gap.where.startswith("OsuLatency %placement=two_nodes on cpu") for gap in found.gaps)


def test_a_pass_that_reframe_recorded_wrongly_fails(tmp_path):
    entry = latency(result="pass", perfvalues={"embedded:cpu:latency_8B": [501, 500, None, 0, "us", "pass"]})
    assert judge_case(loaded(report([entry]), tmp_path).runs[0][0]).state is State.FAIL


def test_a_failure_keeps_its_other_gaps_but_not_what_it_explains(tmp_path):
    perfvalues = {
        "embedded:cpu:latency_8B": [None, 500, None, 0, "us", None],
        "embedded:cpu:other": [3, 0, None, None, "us", "pass"],
    }
    found = judge_case(loaded(report([latency(result="fail", perfvalues=perfvalues)]), tmp_path).runs[0][0])
    assert found.state is State.FAIL
    assert [(gap.what, gap.detail) for gap in found.gaps] == [("no reference", "other, references/network.yaml")]
    assert [metric.metric.name for metric in found.shown_metrics] == ["other"]


def test_a_known_failure_does_not_hide_another_one(tmp_path):
    perfvalues = {
        "embedded:cpu:a": [900, 500, None, 0, "us", "xfail"],
        "embedded:cpu:b": [900, 500, None, 0, "us", "pass"],
    }
    found = judge_case(loaded(report([latency(result="xfail", perfvalues=perfvalues)]), tmp_path).runs[0][0])
    assert found.state is State.FAIL
    assert [metric.metric.name for metric in found.failed_metrics] == ["b"]


def test_executed(tmp_path):
    results = ["pass", "fail", "xfail", "xpass", "skip", "fail_deps", "abort", "<unknown>"]
    session = loaded(report([latency(result=result) for result in results]), tmp_path)
    assert [executed(case) for case in session.runs[0]] == [True, True, True, True, False, False, False, False]
