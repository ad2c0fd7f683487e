"""A plan: the median of what a case took on as many nodes, else what its check says; and what a run then took."""

import json
from dataclasses import replace

import pytest

from kappa.core.record.load import load_session
from kappa.core.record.series import CaseSeries
from reports.plan.plan import (
    Offered,
    Took,
    hold,
    partitions_of,
    past_of,
    plan,
    plan_document,
    stored_sessions,
    turns_document,
    turns_of,
)

IOR = CaseSeries("IorEasy %scale=two_nodes", "cpu", "io")
HPL = CaseSeries("Hpl %scale=one_node", "cpu", "io")
STATE = CaseSeries("PartitionState", "cpu", "io")
OFFERED = [
    Offered(HPL, "Hpl", "compute/hpl", 1, 47.0, 0),
    Offered(IOR, "IorEasy", "storage/ior", 2, 75.0, 4 << 30),
    Offered(STATE, "PartitionState", "node/partition-state", 0, 3.0, 0),
]


def entry(series, job_s, nodes, **more):
    name = series.name.partition(" ")[0]
    return {
        "name": series.name, "system": "embedded", "partition": series.partition, "environ": series.environment,
        "result": "pass", "check_class": name, "family": "storage/ior", "jobid": "7", "job_s": job_s,
        "job_nodes": nodes, **more,
    }  # fmt: skip


@pytest.fixture
def stored(tmp_path):
    """Stores a run of these entries at a minute of an hour."""

    def store(minute, *entries, of="runs"):
        folder = tmp_path / of / f"20261123T10{minute:02}00-nightly"
        folder.mkdir(parents=True)
        info = {"uuid": f"u{minute}", "time_start": f"20261123T10{minute:02}00+0000"}
        report = {"session_info": info, "runs": [{"testcases": list(entries)}], "restored_cases": []}
        (folder / "run-report.json").write_text(json.dumps(report))
        return folder

    return store


def test_single_nodes_take_every_check_of_one_node_so_many_times_on_top():
    of_one_node = [replace(one, of_one_node=one.series == HPL, partition_nodes=8) for one in OFFERED]
    planned = plan(of_one_node, {})
    assert partitions_of(planned) == {"cpu": 8}
    turns = turns_of(planned, {"cpu": 2}, 3)
    assert [one.case.check for one in turns.plan.cases] == ["Hpl"] * 6
    assert turns.plan.node_hours == pytest.approx(6 * 47 / 3600)
    document = turns_document(turns)
    assert (document["nodes"], document["repeats"], document["seconds"]) == ({"cpu": 2}, 3, 6 * 47)
    assert turns_of(planned, {}, 3).plan.cases == ()


def test_without_a_past_it_is_what_the_checks_say():
    planned = plan(OFFERED, {})
    assert planned.node_hours == pytest.approx((47 + 2 * 75) / 3600)
    assert (planned.seconds, planned.written_bytes, planned.most_bytes) == (122, 4 << 30, 4 << 30)
    assert list(planned.by_check) == ["IorEasy", "Hpl", "PartitionState"]
    assert {one.origin for one in planned.cases} == {"the check"}


def test_the_median_of_runs_on_as_many_nodes_counts():
    past = {IOR: [Took(10, 2, 100), Took(30, 2, 300), Took(20, 2, 200), Took(999, 4, 999)]}
    of_ior = plan(OFFERED, past).by_check["IorEasy"]
    assert (of_ior.seconds, of_ior.written_bytes, of_ior.most_bytes) == (20, 200, 4 << 30)
    assert of_ior.cases[0].origin == "median of 3"
    assert plan_document(of_ior)["cases"][0]["stored_runs"] == 3


def test_the_past_is_of_what_passed_and_was_measured_once(stored, tmp_path):
    stored(1, entry(IOR, 10, 2, written_bytes=5), entry(HPL, 50, 1, result="fail"))
    stored(2, entry(IOR, 12, 2), of="nights")
    stored(3, entry(IOR, None, None))
    (tmp_path / "runs/20261123T100400-nightly").mkdir()
    (tmp_path / "runs/20261123T100400-nightly/run-report.json").write_text('{"half')
    assert past_of(stored_sessions(tmp_path)) == {IOR: [Took(12, 2, 0), Took(10, 2, 5)]}
    assert past_of(stored_sessions(tmp_path, before="20261123T100200+0000")) == {IOR: [Took(10, 2, 5)]}


@pytest.mark.parametrize(("job_s", "holds"), [(75, True), (63, True), (60, False), (93, True), (95, False)])
def test_a_plan_holds_within_a_fifth_of_what_was_taken(stored, job_s, holds):
    session = load_session(stored(1, entry(IOR, job_s, 2, written_bytes=4 << 30), entry(STATE, None, None)))
    held = hold(plan(OFFERED, {}), session)
    assert held.holds is holds
    assert held.planned_node_hours == pytest.approx(2 * 75 / 3600)
    assert held.took_node_hours == pytest.approx(2 * job_s / 3600)
    assert held.not_run == (HPL,)


def test_bytes_have_to_hold_too_and_nothing_is_no_proof(stored):
    planned = plan(OFFERED, {})
    assert not hold(planned, load_session(stored(1, entry(IOR, 75, 2, written_bytes=1 << 30)))).holds
    other = CaseSeries("Fio", "cpu", "io")
    held = hold(planned, load_session(stored(2, entry(other, 5, 1))))
    assert (held.holds, held.not_planned) == (False, (other,))
