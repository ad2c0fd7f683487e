"""Real steps; some fail or are told to end: order, status, logs, and no process remains."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from tests.gate import busy
from tests.gate.__main__ import check_all, gate
from tests.unit.test_repository import REPOSITORY
from tests.waiting import PATIENCE_S, until

# Runs each of its arguments NAME=SCRIPT as a step.
CONDUCT = """
import pathlib, sys
from tests.gate.__main__ import conduct
from tests.gate.running import Step
whole, *steps = sys.argv[1:]
steps = [Step(name, ["bash", "-c", script]) for name, _, script in (step.partition("=") for step in steps)]
sys.exit(conduct(steps, pathlib.Path("logs"), whole=whole == "whole")[1])
"""


def start(folder, *steps, whole=False):
    return subprocess.Popen(
        [sys.executable, "-c", CONDUCT, "whole" if whole else "gate", *steps], cwd=folder, text=True,
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip


def results(said):
    """Return the first word of each step's result in the table at the end."""
    table = said.rpartition("\nstep  ")[2].partition("\n\n")[0].splitlines()[1:]
    return {line.split()[0]: "not run" if line.endswith("not run") else line.split()[2] for line in table}


def test_the_gate_ends_at_the_first_step_that_fails_with_its_status(tmp_path):
    run = start(tmp_path, "one=echo first", "two=echo wrong >&2; exit 3", "three=touch ran")
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 3 and not (tmp_path / "ran").exists()
    assert results(said) == {"one": "passed", "two": "failed:", "three": "not run"}
    assert "step two failed, status 3: logs/two.log" in said and "The end of logs/two.log:\nwrong\n" in said
    assert (tmp_path / "logs/one.log").read_text() == "first\n" and "\nfirst\n" in said


def test_the_whole_goes_on_after_a_step_that_failed(tmp_path):
    run = start(tmp_path, "one=exit 3", "two=touch ran", whole=True)
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, results(said)) == (3, {"one": "failed:", "two": "passed"}) and (tmp_path / "ran").exists()


def test_the_status_that_make_does_not_pass_on(tmp_path):
    (tmp_path / "Makefile").write_text("wrong:\n\texit 7\n")
    run = start(tmp_path, "wrong=make wrong")
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 2 and "step wrong failed, status 7, make's 2" in said


def test_a_program_that_a_step_leaves_behind_does_not_keep_it_from_ending(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    run = start(tmp_path, "one=setsid cat fifo & exit 0")
    said, _ = run.communicate(timeout=PATIENCE_S)
    (tmp_path / "fifo").write_text("end\n")
    assert (run.returncode, results(said)) == (0, {"one": "passed"})


# Its child notes how it is ended.
LONG = "bash -c 'trap \"echo torn down > ended; exit\" INT; echo $$ > child; while :; do sleep 0.1; done'; true"
DEAF = "trap '' INT TERM; echo $$ > child; while :; do sleep 0.1; done"


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def child_of(folder):
    return int(until(lambda: (folder / "child").exists() and (folder / "child").read_text(), "the child runs"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal_it_says_in_which_step_and_ends_its_children(tmp_path, number):
    run = start(tmp_path, "one=true", f"two={LONG}", "three=touch ran", whole=True)
    child = child_of(tmp_path)
    run.send_signal(number)
    said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 128 + number and not (tmp_path / "ran").exists()
    assert (tmp_path / "ended").read_text() == "torn down\n"
    until(lambda: gone(child), "the child has ended")
    assert f"{number.name} in step two, after" in said.partition("\nstep  ")[0]
    assert f"ended by {number.name} in step two, after" in said.splitlines()[-2]
    assert results(said) == {"one": "passed", "two": "ended", "three": "not run"}


def test_told_twice_it_kills_what_does_not_listen(tmp_path):
    run = start(tmp_path, f"deaf={DEAF}")
    child = child_of(tmp_path)

    def ended():
        run.send_signal(signal.SIGTERM)
        return run.poll() is not None

    until(ended, "it has ended")
    run.communicate(timeout=PATIENCE_S)
    until(lambda: gone(child), "the child has been killed")


def reason(cause="busy"):
    return {"what": "this machine was busy" if cause else "no reference", "cause": cause}


@pytest.mark.parametrize(
    ("verdict", "reasons", "count"),
    [
        ("INCOMPLETE", [reason(), reason()], 2), ("INCOMPLETE", [reason(), reason("")], 0), ("INCOMPLETE", [], 0),
        ("FAIL", [reason()], 0), ("PASS", [], 0),
        ("INCOMPLETE", [{"what": "this machine was busy", "cause": ""}], 0),
    ],
)  # fmt: skip
def test_only_a_busy_machine_excuses_an_incomplete_verdict(verdict, reasons, count):
    assert busy.busy_reasons({"verdict": verdict, "incomplete": reasons}) == count


def test_a_validation_is_excused_by_its_verdict_when_it_came_to_its_end(tmp_path):
    kappa, run = tmp_path / "kappa", tmp_path / "run"
    document = json.dumps({"verdict": "INCOMPLETE", "incomplete": [reason()]})
    kappa.write_text(f"#!/bin/sh\necho '{document}' > \"$4\"\nexit 2\n")
    kappa.chmod(0o755)
    run.mkdir()
    (run / "run-report.json").touch()
    assert busy.excuse(run, kappa, tmp_path / "verdict.json") == ""
    (run / "report.html").touch()
    why = "INCOMPLETE only because this machine was busy (reasons: 1)"
    assert busy.excuse(run, kappa, tmp_path / "verdict.json") == why


def test_a_validation_runs_in_the_folder_whose_verdict_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    step = next(step for step in check_all() if step.name == "validate-full")
    folder = pathlib.Path(step.environment()["KAPPA_RUN"])
    assert folder.parent == tmp_path / "runs" and folder.name.endswith("-full")
    assert step.command == ["make", "validate", "MODE=full"] and step.excuse() == ""


def test_the_steps_of_the_gate_come_first_and_in_this_order():
    names = [step.name for step in check_all()]
    assert names[: len(gate())] == ["setup-tests", "lint", "programs", "validate", "test"]
    assert names[len(gate()) :] == ["validate-full", "validate-simulated", "test-long", "test-mutations"]
