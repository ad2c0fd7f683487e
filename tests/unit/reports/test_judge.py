"""The rules of the verdict, each broken alone in a report that otherwise passes."""

import pytest
from msgspec import structs

from kappa.core.record.load import load_session
from reports.verdict.judge import judge
from reports.verdict.state import State
from reports.verdict.summary import to_json
from tests.unit.reports.samples import (
    DATA,
    EXPECTED,
    ToldSite,
    case,
    complete,
    judged,
    latency,
    loaded,
    recorded,
    report,
    with_metric,
)

FOREIGN = {"name": "Foreign", "system": "embedded", "partition": "cpu", "result": "pass"}


def kinds(verdict):
    return {gap.what for gap in verdict.gaps}


def test_pass(tmp_path):
    verdict = judged(complete(), tmp_path)
    assert (verdict.state, verdict.exit_status, verdict.gaps) == (State.PASS, 0, ())


def test_a_recorded_campaign_passes_on_its_site():
    expected = {"compute/hpl": ("cpu",), "network/node-links": ("scratch",), "storage/fio": ("scratch",)}
    verdict = judge(load_session(DATA / "campaign.json"), ToldSite(modes={"nightly": expected}))
    assert verdict.state is State.PASS
    assert len(verdict.cases) == 46


@pytest.mark.parametrize(
    "changes",
    [
        {"result": "fail", "fail_phase": "sanity", "fail_reason": "sanity error: no residual"},
        {"result": "fail", "fail_phase": "run", "fail_reason": "job submission failed"},
        {"result": "fail", "fail_phase": "performance"},
    ],
    ids=lambda changes: f"{changes['result']} in {changes['fail_phase']}",
)
def test_any_failed_case_is_a_fail_whatever_is_missing(changes, tmp_path):
    verdict = judged(report([latency(**changes)]), tmp_path)
    assert (verdict.state, verdict.exit_status) == (State.FAIL, 1)
    assert "the census of the suite is missing" in kinds(verdict)


def test_a_foreign_case_counts_by_its_result(tmp_path):
    assert judged(complete(FOREIGN), tmp_path).state is State.PASS
    assert judged(complete({**FOREIGN, "result": "fail"}), tmp_path).state is State.FAIL
    verdict = judged(complete({**FOREIGN, "result": "skip"}), tmp_path)
    assert (verdict.state, verdict.exit_status, kinds(verdict)) == (State.INCOMPLETE, 2, {"skipped"})


@pytest.mark.parametrize("result", ["skip", "fail_deps", "<unknown>"])
def test_a_case_that_did_not_run_is_incomplete(result, tmp_path):
    assert judged(complete(latency("gpu", result=result)), tmp_path).state is State.INCOMPLETE


@pytest.mark.parametrize(
    ("metric", "state"),
    [
        (with_metric(499), State.PASS),
        (with_metric(501), State.FAIL),
        (with_metric(None), State.INCOMPLETE),
    ],
)
def test_metrics_decide(metric, state, tmp_path):
    assert judged(metric, tmp_path).state is state


def test_zero_cases(tmp_path):
    for document in (report([]), report(), {**report(), "runs": []}):
        verdict = judged(document, tmp_path)
        assert verdict.state is State.INCOMPLETE
        assert "the report has no case" in kinds(verdict)


def test_an_unknown_site(tmp_path):
    verdict = judge(loaded(complete(), tmp_path), None, site_problem="no folder site_configs/nowhere")
    assert (verdict.state, verdict.mode) == (State.INCOMPLETE, "nightly")
    assert [(gap.what, gap.detail) for gap in verdict.gaps] == [
        ("the report's site is unknown", "no folder site_configs/nowhere")
    ]


def test_an_expected_family_without_a_case(tmp_path):
    verdict = judged(report([case("PartitionState")]), tmp_path)
    assert verdict.state is State.INCOMPLETE
    assert [(gap.where, gap.detail) for gap in verdict.gaps] == [("network/osu-pt2pt on cpu", "no case in the report")]


def test_an_expected_family_on_the_wrong_partition(tmp_path):
    verdict = judged(report([case("PartitionState"), latency("gpu")]), tmp_path)
    assert [gap.where for gap in verdict.gaps] == ["network/osu-pt2pt on cpu"]


@pytest.mark.parametrize("changes", [{"result": "skip"}, {"result": "pass", "jobid": None}, {"result": "fail_deps"}])
def test_an_expected_family_with_cases_that_did_not_run(changes, tmp_path):
    verdict = judged(report([case("PartitionState"), latency(**changes)]), tmp_path)
    gap = next(gap for gap in verdict.gaps if gap.what.startswith("expected"))
    assert gap.detail == "none of its 1 cases ran"


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("node/gpu", "not provided here, nvidia: no GPU in this machine"),
        ("network/osu-gpu", "nvidia: no GPU in this machine; osu-cuda: no MPI here moves GPU memory"),
        ("compute/hpl", "no case in the report"),
        ("compute/hlp", "the suite has no check of this family"),
    ],
)
def test_why_an_expected_family_is_absent(family, why, tmp_path):
    site = ToldSite(modes={"nightly": {**EXPECTED, family: ("cpu",)}})
    verdict = judged(complete(), tmp_path, site)
    assert verdict.state is State.INCOMPLETE
    assert [gap.where for gap in verdict.gaps] == [f"{family} on cpu"]
    assert why in verdict.gaps[0].detail


def test_what_is_not_provided_and_not_expected_is_only_listed(tmp_path):
    verdict = judged(complete(), tmp_path)
    assert {entry.check for entry in verdict.not_provided} == {"OsuDeviceLatency", "OsuDeviceBandwidth", "GpuInventory"}
    assert "nvidia: no GPU in this machine" in {entry.reason for entry in verdict.not_provided}
    silent = judged(complete(), tmp_path, ToldSite(not_provided={}))
    assert "nvidia: the site gives no reason" in {entry.reason for entry in silent.not_provided}


def test_state_that_no_node_has_is_listed_and_changes_no_verdict(tmp_path):
    health = case("PartitionHealth", not_provided=["InfiniBand", "power (RAPL)"])
    verdict, without = judged(complete(health), tmp_path), judged(complete(case("PartitionHealth")), tmp_path)
    assert (verdict.state, verdict.gaps) == (without.state, without.gaps)
    [entry] = set(verdict.not_provided) - set(without.not_provided)
    assert (entry.check, entry.reason) == ("PartitionHealth", "InfiniBand, power (RAPL): no node of cpu reports it")
    assert "no node of cpu reports it" in to_json(verdict)


def test_what_spack_could_install_is_not_provided_with_the_command(tmp_path):
    document = complete()
    command = "spack_envs/install embedded gpu"
    document["runs"][0]["testcases"][0]["census"]["install"] = {"osu-cuda": command, "nvidia": command}
    verdict = judged(document, tmp_path, ToldSite(not_provided={"nvidia": "no GPU"}))
    reasons = [entry.reason for entry in verdict.not_provided]
    assert any(f"osu-cuda: `{command}` installs it" in reason for reason in reasons)
    assert any("nvidia: no GPU" in reason for reason in reasons)


def test_a_check_tagged_with_the_mode_of_an_expected_family(tmp_path):
    document = complete()
    for entry in document["runs"][0]["testcases"][0]["census"]["checks"]:
        entry["tags"] = ["nightly"] if entry["name"] in ("OsuLatency", "OsuBandwidth", "Hpl") else []
    verdict = judged(document, tmp_path)
    found = [(gap.where, gap.detail) for gap in verdict.gaps]
    assert found == [("OsuBandwidth", "the report has no case of this check")]


def test_no_census(tmp_path):
    for census in ({}, None):
        changes = {} if census is None else {"census": census}
        state = case("PartitionState", **changes)
        if census is None:
            del state["census"]
        verdict = judged(report([state, latency()]), tmp_path)
        assert (verdict.state, kinds(verdict)) == (State.INCOMPLETE, {"the census of the suite is missing"})


def test_a_check_that_did_not_load(tmp_path):
    state = case("PartitionState")
    state["census"]["not_loaded"] = [{"file": "reframe_checks/compute/hpl.py", "problem": "Hpl was not loaded"}]
    verdict = judged(report([state, latency()]), tmp_path)
    assert verdict.state is State.INCOMPLETE
    assert [gap.place for gap in verdict.gaps] == ["reframe_checks/compute/hpl.py: Hpl was not loaded"]


def test_a_problem_with_the_references(tmp_path):
    verdict = judged(complete(latency("gpu", reference_problem="network.yaml: not valid YAML")), tmp_path)
    assert (verdict.state, kinds(verdict)) == (State.INCOMPLETE, {"the references are not usable"})


def test_the_mode(tmp_path):
    site = ToldSite(modes={"nightly": EXPECTED, "full": {"compute/hpl": ("cpu",)}})
    session = loaded(complete(), tmp_path)
    assert (judge(session, site).mode, judge(session, site).mode_origin) == ("nightly", "of the session")
    assert judge(session, site, "full").state is State.INCOMPLETE
    without = structs.replace(session, mode=None)
    assert judge(without, site).mode_origin == "the site's default"
    verdict = judge(structs.replace(session, mode="hourly"), site)
    assert (verdict.state, kinds(verdict)) == (State.INCOMPLETE, {"the site has no check in this mode"})
    [gap] = verdict.gaps
    assert (gap.detail, gap.remedy) == ("hourly", "choose one of the site's modes with --mode: nightly, full")


def test_a_known_failure_is_listed_and_passes(tmp_path):
    known = latency("gpu", result="xfail")
    known["perfvalues"]["embedded:gpu:latency_8B"] = [900, 500, None, 0, "us", "xfail"]
    verdict = judged(complete(known), tmp_path)
    assert verdict.state is State.PASS
    assert len(verdict.cases_in(State.KNOWN)) == 1


def test_a_retry_that_passed_is_a_pass_but_unstable(tmp_path):
    first, second = recorded("retried")["runs"]
    failed, passed = first["testcases"][0], second["testcases"][0]
    document = report([case("PartitionState"), latency(), failed], [passed])
    verdict = judged(document, tmp_path)
    assert verdict.state is State.PASS
    assert [found.case.name for found in verdict.unstable] == ["Flaky"]
    assert verdict.unstable[0].failed_attempts[0].case.nodes == ("login1",)
    assert len(verdict.cases) == 3


def test_the_last_run_counts(tmp_path):
    good, bad = latency(), latency(value=900)
    assert judged(report([case("PartitionState"), good], [bad]), tmp_path).state is State.FAIL
    assert judged(report([case("PartitionState"), bad], [bad], [good]), tmp_path).state is State.PASS


def test_a_retry_that_never_ran_does_not_hide_the_failure(tmp_path):
    document = report([case("PartitionState"), latency(value=900)], [latency(result="skip", jobid=None)])
    assert judged(document, tmp_path).state is State.FAIL


def test_cases_of_one_run_never_supersede_one_another(tmp_path):
    verdict = judged(complete(latency(value=900), latency()), tmp_path)
    assert verdict.state is State.FAIL
    assert len(verdict.cases) == 4
