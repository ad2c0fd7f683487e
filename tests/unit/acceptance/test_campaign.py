"""The folder of a run: nothing is lost, nothing is mixed, one run at a time."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os

import msgspec
import pytest

from kappa.app.conduct import acceptance as running
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.folder import Campaign, Families
from reports.acceptance.campaign.layout import FAMILIES, REPORT
from reports.acceptance.judge import judge
from reports.acceptance.listing import headline
from tests.unit.acceptance.conftest import SERIES, clause, offer
from tests.unit.reports.samples import case, latency, loaded, report


def test_child_that_inherits_the_lock_holds_the_folder(campaign):
    with campaign.locked() as lock:
        child = os.dup(lock)
    with pytest.raises(InputError, match="a ReFrame session that one left behind"), campaign.locked():
        pass
    os.close(child)
    with campaign.locked():
        pass


@pytest.mark.parametrize(
    ("first", "second"), [("locked", "locked"), ("locked", "at_rest"), ("at_rest", "locked"), ("at_rest", "at_rest")]
)
def test_two_reports_share_a_folder_and_nothing_else_does(campaign, first, second):
    campaign.run(0)
    shared = first == second == "at_rest"
    refusal = contextlib.nullcontext() if shared else pytest.raises(InputError, match="another run")
    with getattr(campaign, first)(), refusal, getattr(campaign, second)():
        pass


def test_storage_without_locks_is_no_other_run(campaign, monkeypatch):
    def no_locks(lock, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(InputError, match=r"cannot lock .*No locks available"), campaign.locked():
        pass


def test_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write in"), Campaign(tmp_path / "file").locked():
        pass


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"session_info": {}}', "\0" * 99])
def test_attempt_with_a_damaged_report_is_interrupted(campaign, damage):
    (campaign.add(latency()).folder / REPORT).write_text(damage)
    assert [attempt.session for attempt in campaign.attempts()] == [None]


def test_half_made_attempt_is_ignored(campaign):
    campaign.add(latency())
    (campaign.folder / "attempts" / ".OsuLatency-3d594d86-r0001-a02.77.part").mkdir()
    assert len(campaign.attempts()) == 1


def test_damaged_attempt_is_named(campaign):
    attempt = campaign.add(latency())
    (attempt.folder / "attempt.json").write_text('{"name": 1}')
    with pytest.raises(InputError, match=r"attempt\.json"):
        campaign.attempts()


@pytest.fixture
def offered(tmp_path):
    def load(*cases):
        session = loaded(report([*cases]), tmp_path)
        return [offer(CaseSeries.of(case), case) for case in session.runs[0]]

    return load


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ({"check": "OsuLatency", "partition": "cpu", "metric": "latency_8B"}, None),
        ({"check": "OsuLatency", "metric": "latency_8B"}, "matches 2 series"),
        ({"check": "Nothing", "metric": "latency_8B"}, "matches no case of the site"),
        ({"check": "OsuLatency", "partition": "cpu", "metric": "latency_9B"}, "no metric latency_9B"),
        (
            {"check": "OsuLatency", "partition": "cpu", "metric": "latency_8B", "parameters": {"placement": "two"}},
            "matches no case of the site",
        ),
    ],
)
def test_plan_has_one_series_for_each_clause(campaign, offered, selector, problem):
    planned = campaign.demand(clause(selector=selector)).plan(offered(latency("cpu"), latency("gpu")))
    assert [(item.series, item.repeats) for item in planned.items] == ([] if problem else [(SERIES, 3)])
    assert problem in planned.unresolved["B1"] if problem else not planned.unresolved


def test_energy_of_a_run_needs_no_metric(campaign, offered):
    energy = {"source": "rapl"}
    selector = {"check": "OsuLatency", "partition": "cpu", "metric": "run"}
    campaign.demand(clause(selector=selector, energy=energy, threshold={"value": 1, "unit": "J"}))
    assert not campaign.plan(offered(latency("cpu"), latency("gpu"))).unresolved


def test_a_contract_about_less_than_the_site_could_run_says_so(campaign, offered):
    planned = campaign.demand(clause()).plan(offered(case("PartitionState"), latency("cpu")))
    number = len(planned.families.offered)
    remark = f"expects 1 of {number} families of checks that the site can run"
    assert (planned.families.expected, str(planned.families)) == (("network/osu-pt2pt",), remark)
    (campaign.folder / FAMILIES).write_bytes(msgspec.json.encode(planned.families))
    assert headline(judge(campaign)).endswith(f"The contract {remark}.")
    assert str(Families(planned.families.offered, planned.families.offered)) == ""


def test_clauses_share_a_series(campaign, offered):
    [item] = campaign.demand(clause(), clause(id="B2", repeats=5)).plan(offered(latency("cpu"))).items
    assert (item.clauses, item.repeats) == (("B1", "B2"), 5)


@pytest.fixture
def slurm(monkeypatch, campaign):
    """In place of ReFrame: writes what ``results`` says of each attempt; a signal comes where it says ``stop``."""
    ran, results = [], []

    def run_attempt(site, contract, checks, attempt, conductor, tell):
        ran.append((attempt.repeat, attempt.number))
        result = results.pop(0) if results else latency()
        if result == "stop":
            raise StoppedError("SIGTERM")
        text = json.dumps(report([result], uuid=attempt.folder.name)) if isinstance(result, dict) else result
        (attempt.folder / REPORT).write_text(text)

    monkeypatch.setattr(running, "run_attempt", run_attempt)

    def call(*outcomes, again=False):
        results[:] = outcomes
        ran.clear()
        campaign.run(again=again)
        return list(ran)

    return call


def test_stopped_run_goes_on_where_it_was(slurm, campaign):
    with pytest.raises(StoppedError):
        slurm(latency(), "stop")
    assert slurm() == [(2, 2), (3, 1)]
    assert slurm() == []


def test_spack_lock_of_the_job_is_kept(slurm, campaign, tmp_path):
    lock, other = tmp_path / "spack.lock", tmp_path / "other"
    lock.write_text("{}")
    other.write_text("{}")
    seen = hashlib.sha256(b"{}").hexdigest()
    provenances = [{str(lock): seen}, {str(lock): "0" * 64}, {str(other): seen, "/nowhere/spack.lock": seen}]
    slurm(*({**latency(), "provenance": {"files": files}} for files in provenances))
    kept = sorted(campaign.folder.glob("attempts/*/spack.lock"))
    assert [(path.parent.name[-9:], path.read_text()) for path in kept] == [("r0001-a01", "{}")]


def test_run_killed_as_its_session_ended_keeps_the_spack_lock_later(slurm, campaign, tmp_path):
    (tmp_path / "spack.lock").write_text("{}")
    files = {str(tmp_path / "spack.lock"): hashlib.sha256(b"{}").hexdigest()}
    attempt = campaign.add({**latency(), "provenance": {"files": files}}, noted=False)
    assert slurm() == [(2, 1), (3, 1)]
    assert (attempt.folder / "spack.lock").read_text() == "{}"


def test_failed_repeat_prints_its_reason(slurm, capsys):
    slurm(latency(), latency(value=900))
    output = capsys.readouterr().out
    assert "[1/3] pass after " in output and "[3/3] pass after " in output
    [failed] = [line for line in output.splitlines() if "[2/3] fail" in line]
    assert failed.endswith(": latency_8B 900 us, allowed ≤ 500 (+80 % from the reference)")


def test_session_cut_off_stops_the_run_and_is_repeated(slurm):
    with pytest.raises(InputError, match="cut off"):
        slurm(latency(), "{")
    assert slurm() == [(2, 2), (3, 1)]


def test_failed_repeat_is_repeated_only_with_again(slurm):
    failed = latency(result="fail", fail_phase="sanity")
    assert slurm(latency(), failed) == [(1, 1), (2, 1), (3, 1)]
    assert slurm() == []
    assert slurm(again=True) == [(2, 2)]
    assert slurm(again=True) == []
