"""A session with ReFrame replaced by a script: its report is complete or absent."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from kappa.app.conduct import results_disk
from kappa.app.conduct.leftovers import NoReportError
from kappa.app.conduct.session import Conductor, ReframeSession, reframe
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE as REPOSITORY
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.processes import Stop, StoppedError
from kappa.core.sites.load import Site
from tests.waiting import PATIENCE_S, late_when, until

REPORT = "for word; do case $word in --report-file=*) report=${word#*=} ;; esac; done\n"


@pytest.fixture
def session(tmp_path, monkeypatch):
    """session(script, *options): one whose ReFrame is the script."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    def make(script, *options):
        (tmp_path / "reframe").write_text(f"#!/bin/bash\n{REPORT}{script}\n")
        (tmp_path / "reframe").chmod(0o755)
        return ReframeSession(Site(tmp_path), tmp_path / "run-report.json", options, folder=tmp_path)

    return make


def test_the_report_whatever_reframe_ends_with(session, tmp_path):
    session('echo "{}" > "$report"; echo "$@" > told; exit 1', "-r", "-n", "a b").run(Conductor(Stop()))
    assert (tmp_path / "run-report.json").read_text() == "{}\n"
    assert f"-C {tmp_path}/settings.py -c " in (tmp_path / "told").read_text()
    assert not (tmp_path / "run-report.json.part").exists()


def test_no_report_and_half_of_one(session, tmp_path):
    with pytest.raises(NoReportError, match="wrote no report: it printed nothing"):
        session("true").run(Conductor(Stop()))
    with pytest.raises(NoReportError, match="wrote no report: ERROR: no such mode"):
        session("echo begun; echo ERROR: no such mode >&2").run(Conductor(Stop()))
    with pytest.raises(NoReportError, match=r"not complete: .* in .*run-report.json.part"):
        session("""echo '{"a' > "$report" """).run(Conductor(Stop()))
    assert not (tmp_path / "run-report.json").exists()


def test_told_to_stop_it_keeps_what_reframe_recorded_as_it_ended(session, tmp_path, monkeypatch):
    stop = Stop(time.monotonic() + PATIENCE_S)
    late_when((tmp_path / "started").exists, monkeypatch)
    script = """trap 'echo "[]" > "$report"; exit' TERM; touch started; while :; do sleep 0.1; done"""
    with pytest.raises(StoppedError, match="time limit"):
        session(script).run(Conductor(stop))
    assert (tmp_path / "run-report.json").read_text() == "[]\n"
    with pytest.raises(StoppedError):
        session("touch ran").run(Conductor(stop))
    assert not (tmp_path / "ran").exists()


ENDED = """echo '{"session_info": {"uuid": "u"}}' >> "$KAPPA_JOURNAL"
echo '{"number": 0, "run": 0, "case": {"name": "A"}}' >> "$KAPPA_JOURNAL"
"""


@pytest.mark.parametrize("end", ["kill -KILL $$", """echo '{"a' > "$report" """])
def test_cases_that_had_ended_are_kept_without_a_report(session, tmp_path, end):
    with pytest.raises(NoReportError, match="1 case had finished"):
        session(ENDED + end).run(Conductor(Stop()))
    document = json.loads((tmp_path / "run-report.json").read_text())
    assert document["runs"] == [{"run_index": 0, "testcases": [{"name": "A"}]}]
    assert document["session_info"]["cut"]
    assert not (tmp_path / "run-report.json.journal").exists()


def test_told_to_stop_it_says_so_also_without_a_report(session, tmp_path, monkeypatch):
    late_when((tmp_path / "started").exists, monkeypatch)
    script = "touch started; exec sleep 600"
    with pytest.raises(StoppedError, match=r"^it reached its time limit$"):
        session(script).run(Conductor(Stop(time.monotonic() + PATIENCE_S)))
    (tmp_path / "started").unlink()
    with pytest.raises(StoppedError, match=r"^it reached its time limit, without a report: 1 case had finished$"):
        session(ENDED + script).run(Conductor(Stop(time.monotonic() + PATIENCE_S)))


def test_reframe_is_told_to_end_when_its_conductor_is_killed(session, tmp_path):
    waits = session("trap 'touch told; exit' TERM; touch started; while :; do sleep 0.1; done")
    child = os.fork()
    if child == 0:
        waits.run(Conductor(Stop()))
    until((tmp_path / "started").exists, "ReFrame is started")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until((tmp_path / "told").exists, "ReFrame was told to end")
    assert (tmp_path / "run-report.json.journal").exists()


def test_a_disk_that_fills_ends_the_session_and_names_no_node(session, tmp_path, monkeypatch):
    """The report is written into the room that was kept for it."""
    began = time.time()
    cases = [
        {"name": "A", "result": "fail", "job_completion_time_unix": began - 3600},
        {"name": "B", "result": "fail", "job_completion_time_unix": began + 3600},
        {"name": "C", "result": "abort", "job_completion_time_unix": None},
        {"name": "D", "result": "pass", "job_completion_time_unix": began + 3600},
    ]
    (tmp_path / "cases.json").write_text(json.dumps({"session_info": {}, "runs": [{"testcases": cases}]}))
    monkeypatch.setattr(results_disk, "LEAST_MIB", 2**40)
    script = """trap 'cp cases.json "$report"; exit' TERM; ls -A > during; while :; do sleep 0.1; done"""
    with pytest.raises(StoppedError, match="is full"):
        session(script).run(Conductor(Stop()))
    document = json.loads((tmp_path / "run-report.json").read_text())
    assert "is full" in document["session_info"]["cut"]
    assert ["lost_to" in case for case in document["runs"][0]["testcases"]] == [False, True, True, False]
    assert ".room-for-the-report" in (tmp_path / "during").read_text()
    assert not (tmp_path / ".room-for-the-report").exists()


def test_no_room_for_a_report_is_said_before_reframe_starts(session, tmp_path, monkeypatch):
    monkeypatch.setattr(results_disk, "RESERVE_MIB", 2**30)
    with pytest.raises(InputError, match=r"no space for a report in .*KAPPA_RESULTS"):
        session("touch ran").run(Conductor(Stop()))
    assert not (tmp_path / "ran").exists() and not (tmp_path / ".room-for-the-report").exists()


def test_what_it_says_and_what_it_holds(session, tmp_path):
    with (tmp_path / "log").open("w") as log, locked(tmp_path / "lock") as lock:
        conductor = Conductor(Stop(), [lock], log)
        conductor.say("\x1b[31mred")
        session('echo out; echo err >&2; echo "{}" > "$report";').run(conductor)
    assert (tmp_path / "log").read_text() == "red\n"
    assert (tmp_path / "reframe.out").read_text() == "out\nerr\n"


def test_sessions_that_confirm_a_run_print_apart(session, tmp_path):
    again = dataclasses.replace(session("echo said"), report=tmp_path / "confirmations/same-1.json")
    (tmp_path / "confirmations").mkdir()
    with pytest.raises(NoReportError):
        again.run(Conductor(Stop()))
    assert (tmp_path / "confirmations/same-1/reframe.out").read_text() == "said\n"


JOBS = {"runs": [{"testcases": [{"jobid": "7"}, {"jobid": "81"}, {"jobid": None}, {"jobid": "9", "local": True}]}]}


@pytest.mark.parametrize(
    ("said", "energies"),
    [
        ("echo '7|12|4|5312000'; echo '81|3|1|2040'; echo '9|1|1|1'", [5312000, 2040, None, None]),
        # One that was not measured, and the number that stands for none.
        ("echo '7|12|4|'; echo '81|3|1|2040'", [None, 2040, None, None]),
        ("echo '7|12|4|0'; echo '81|3|1|18446744073709551614'", [None, None, None, None]),
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", [None, None, None, None]),
    ],
)
def test_what_all_jobs_took_by_one_question(session, tmp_path, monkeypatch, said, energies):
    shutil.copy(REPOSITORY / "site_configs/cpu-infiniband/site.yaml", tmp_path)
    (tmp_path / "sacct").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n{said}\n')
    (tmp_path / "sacct").chmod(0o755)
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho 'AcctGatherEnergyType    = acct_gather_energy/ipmi'\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "jobs.json").write_text(json.dumps(JOBS))
    session('cp jobs.json "$report"').run(Conductor(Stop()))
    assert (tmp_path / "asked").read_text() == "-n -P -X -o JobIDRaw,ElapsedRaw,NNodes,ConsumedEnergyRaw -j 7,81\n"
    written = json.loads((tmp_path / "run-report.json").read_text())
    cases = written["runs"][0]["testcases"]
    assert [case.get("energy_j") for case in cases] == energies
    plugins = ["acct_gather_energy/ipmi" if energy else None for energy in energies]
    assert [case.get("energy_by") for case in cases] == plugins
    took = [(12, 4), (3, 1), (None, None), (None, None)] if "exit" not in said else [(None, None)] * 4
    assert [(case.get("job_s"), case.get("job_nodes")) for case in cases] == took


def test_a_lock_is_held_by_what_a_session_left(session, tmp_path):
    with locked(tmp_path / "lock") as lock:
        session('mkfifo fifo; echo "{}" > "$report"; (read < fifo) &').run(Conductor(Stop(), [lock]))
    try:
        with pytest.raises(LockedError), locked(tmp_path / "lock"):
            pass
    finally:
        (tmp_path / "fifo").write_text("end\n")
    subprocess.run(["flock", "--timeout", str(PATIENCE_S), tmp_path / "lock", "true"], check=True)


def test_an_environment_without_reframe(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(InputError, match=r"there is no .*/reframe: run `make setup`"):
        reframe()
