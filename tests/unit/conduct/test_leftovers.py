"""Leftovers of a dead session: jobs are cancelled, cases kept, and a database without tables is put aside."""

import contextlib
import json
import sqlite3
from dataclasses import asdict, replace

import pytest
import yaml

from kappa.app.command.main import main
from kappa.app.conduct.leftovers import Found, end_jobs, settle, settle_all, usable_database
from kappa.app.conduct.validation import using
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE as REPOSITORY
from kappa.core.ground.locks import Holder, locked
from kappa.core.record.journal import unsettled, unsettled_in
from kappa.core.sites.load import Site
from tests.unit.reports import samples

JOURNAL = "run-report.json.journal"
ENDED = '{"session_info": {"uuid": "u"}}\n{"number": 0, "run": 0, "case": {"name": "A"}}\n'


@pytest.fixture
def site(tmp_path):
    document = yaml.safe_load((REPOSITORY / "site_configs/cpu-infiniband/site.yaml").read_text())
    folder = tmp_path / "site_configs/two"
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(yaml.safe_dump(document))
    return Site(folder)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "results/runs/20261126T120000-smoke"
    (folder / "stage").mkdir(parents=True)
    return folder


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """queue(lines): what squeue lists until scancel is called; returns the file with scancel's words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    called = tmp_path / "called"

    def put(*lines, status=0):
        (tmp_path / "queue").write_text("".join(f"{line}\n" for line in lines))
        scripts = {
            "squeue": f"[ -e {called} ] || cat {tmp_path}/queue; exit {status}",
            "scancel": f'echo "$*" > {called}',
        }
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        return called

    return put


def test_jobs_of_the_session_are_cancelled_and_no_others(site, run, queue):
    stage = run / "stage"
    called = queue(f"7|{stage}/x/y", f"8|{stage}-of-another", "9|/home/me", f"12|{stage}/with | bar", "odd line", "x|/")
    assert end_jobs(site, run / "run-report.json") == ["7", "12"]
    assert called.read_text() == "7 12\n"


def test_cases_that_had_ended_become_a_report_that_says_it_is_cut(site, run, queue):
    queue()
    (run / JOURNAL).write_text(ENDED + '{"number": 1, "run": 0, "case": {"na')
    report = run / "run-report.json"
    assert settle(report, site, "killed").report is Found.CASES
    document = json.loads(report.read_text())
    assert document["session_info"] == {"uuid": "u", "cut": "killed"}
    assert [case["name"] for case in document["runs"][0]["testcases"]] == ["A"]
    assert unsettled_in(run) == []


def test_a_whole_report_goes_before_the_journal(site, run, queue):
    queue()
    (run / JOURNAL).write_text(ENDED)
    (run / "run-report.json.part").write_text('{"whole": 1}')
    assert settle(run / "run-report.json", site, "killed").report is Found.WHOLE
    assert json.loads((run / "run-report.json").read_text()) == {"whole": 1}


def test_nothing_that_had_ended_is_said_once(site, run, queue):
    queue(f"7|{run}/stage/x")
    (run / JOURNAL).write_text("")
    said = []
    assert settle_all(site, unsettled(run.parents[1]), run.parents[1], said.append) == []
    assert len(said) == 1 and "cancelled its 1 job (7)" in said[0]
    assert settle_all(site, unsettled(run.parents[1]), run.parents[1], said.append) == [] and len(said) == 1


def test_without_an_answer_of_slurm_the_next_call_tries_again(site, run, queue):
    queue(status=1)
    (run / JOURNAL).write_text(ENDED)
    said = []
    [report] = settle_all(site, unsettled(run.parents[1]), run.parents[1], said.append)
    assert report == run / "run-report.json" and "its jobs are not known" in said[0]
    queue(f"7|{run}/stage/x")
    assert settle_all(site, unsettled(run.parents[1]), run.parents[1], said.append) == []
    assert "cancelled its 1 job" in said[1] and unsettled(run.parents[1]) == []


def test_reading_a_dead_run_makes_its_report_and_starts_no_program(site, run, queue, tmp_path, monkeypatch, capsys):
    """Not while the session lives: then there is no report yet."""
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    called = queue(f"7|{run}/stage/x")
    document = samples.report([samples.latency(), samples.latency(value=900, result="abort")])
    info, cases = document["session_info"], document["runs"][0]["testcases"]
    lines = [{"session_info": info}, *({"number": n, "run": 0, "case": case} for n, case in enumerate(cases))]
    (run / JOURNAL).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with locked(tmp_path / "results/lock"):
        assert main(["show", str(run)]) == 2
        assert "no run below it" in capsys.readouterr().err
    said = tmp_path / "verdict.json"
    assert main(["show", str(run), f"--json={said}"]) == 2
    assert "kappa was killed: 2 cases had finished" in capsys.readouterr().err
    verdict = json.loads(said.read_text())
    assert [gap["detail"] for gap in verdict["incomplete"] if gap["what"] == "the session was cut off"]
    assert (verdict["verdict"], verdict["suspects"], verdict["counts"]["failed"]) == ("INCOMPLETE", [], 0)
    assert any(gap["what"] == "the result of the case is lost" for gap in verdict["incomplete"])
    assert not called.exists() and unsettled(tmp_path / "results") == [run / "run-report.json"]
    assert settle_all(site, unsettled(tmp_path / "results"), tmp_path / "results", print) == []
    assert called.read_text() == "7\n" and unsettled(tmp_path / "results") == []


HOLDER = Holder(7, "other", "another", "12")


@pytest.mark.parametrize(
    ("holder", "status", "ended"),
    [
        (HOLDER, 0, True),
        (replace(HOLDER, job="9"), 0, False),
        (HOLDER, 1, False),
        (replace(HOLDER, job=""), 0, False),
        (replace(HOLDER, job="9", host="started-again"), 0, True),
    ],
    ids=["gone from the queue", "in the queue", "no answer", "no job", "this job"],
)
def test_a_run_on_another_machine_has_ended_if_slurm_has_ended_its_job(
    holder, status, ended, site, queue, tmp_path, monkeypatch
):
    """A lock that other machines do not see looks free here: without a proof, nothing is cancelled or started."""
    called = queue("8", "9", status=status)
    if holder.host == "started-again":
        monkeypatch.setenv("SLURM_JOB_ID", "9")
        monkeypatch.setenv("SLURMD_NODENAME", "node1")
    lock = tmp_path / "results/lock"
    lock.parent.mkdir()
    lock.write_text(json.dumps(asdict(holder)))
    refused = pytest.raises(InputError, match=f"on {holder.host}")
    with contextlib.nullcontext() if ended else refused, using(tmp_path / "results", site):
        pass
    assert not called.exists()


def test_reading_leaves_a_run_on_another_machine(run, queue, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    called = queue(f"7|{run}/stage/x")
    (run / JOURNAL).write_text(ENDED)
    (tmp_path / "results/lock").write_text(json.dumps(asdict(HOLDER)))
    assert main(["show", str(run)]) == 2
    assert "repeat the command on other" in capsys.readouterr().err
    assert not called.exists() and not (run / "run-report.json").exists()


@pytest.mark.parametrize("content", [b"", b"no database" * 100])
def test_a_database_that_cannot_be_used_is_put_aside(tmp_path, content):
    (tmp_path / "results.db").write_bytes(content)
    said = []
    usable_database(tmp_path, said.append)
    [aside] = tmp_path.glob("results.db*")
    assert aside.read_bytes() == content and aside.name in said[0]


def test_a_sound_database_stays(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "results.db")) as database:
        database.execute("CREATE TABLE sessions(uuid TEXT)")
        database.execute("CREATE TABLE testcases(uuid TEXT)")
        database.commit()
    said = []
    usable_database(tmp_path, said.append)
    assert (tmp_path / "results.db").exists() and said == []
    usable_database(tmp_path / "none", said.append)
    assert said == []
