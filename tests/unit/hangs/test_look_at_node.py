"""A look at the processes of a job on this machine: real ones, running, sleeping and stopped."""

import hashlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys

import pytest

from reframe_checks.parsers.job_scripts import hang
from tests.waiting import PATIENCE_S, until

JOB = f"kappa-{os.getpid()}"
BUSY = "while True: pass"
# A rank with the heartbeat of `heartbeat.hpp`, in a phase since 30 s that may take 20 s.
WITH_HEARTBEAT = """
import os, struct, time
file = os.memfd_create("kappa-heartbeat")
os.write(file, struct.pack("8sQqd96s", b"kappahb1", 5, time.monotonic_ns() - 30 * 10**9, 20.0, b"latency with node1"))
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def process():
    started = []

    def start(program, **environ):
        environment = {**os.environ, "SLURM_JOB_ID": JOB, **environ}
        started.append(subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.fixture
def look(program):
    """Look at the processes of the job as the watch does."""

    def looked():
        environment = {**os.environ, "SLURM_JOB_ID": JOB, "SLURMD_NODENAME": "node7", "KAPPA_WATCH": "yes"}
        command = ["sh", program, "look"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        mark, _, line = done.stdout.partition(" ")
        assert mark == "kappa-look"
        return json.loads(line)

    return looked


def test_a_node_on_which_all_runs(process, look):
    process(BUSY)
    found = look()
    assert (found["node"], found["stopped"], found["blocked"], found["late"], found["asleep"]) == (
        "node7", [], [], [], False,
    )  # fmt: skip


def test_a_stopped_process_is_told_with_its_rank(process, look):
    stopped = process(BUSY, SLURM_PROCID="3")
    os.kill(stopped.pid, signal.SIGSTOP)
    until(lambda: "State:\tT" in pathlib.Path(f"/proc/{stopped.pid}/status").read_text(), "it is stopped")
    [found] = look()["stopped"]
    assert (found["pid"], found["rank"], found["state"], found["phase"]) == (stopped.pid, 3, "T", None)


def test_a_rank_that_stands_in_a_phase_is_late_and_its_phase_is_told_when_it_is_stopped(process, look):
    rank = process(WITH_HEARTBEAT, PMIX_RANK="1", SLURM_PROCID="0")
    assert rank.stdout.readline() == b"ready\n"
    [late] = look()["late"]
    assert (late["pid"], late["rank"], late["phase"]) == (rank.pid, 1, "latency with node1")
    assert late["stands_s"] >= 30
    os.kill(rank.pid, signal.SIGSTOP)
    [stopped] = look()["stopped"]
    assert stopped["phase"] == "latency with node1"


def test_a_process_that_sleeps_until_a_file_answers_is_told_with_the_file(process, tmp_path, look):
    os.mkfifo(tmp_path / "settings")
    waiting = process(f"print('ready', flush=True); open({str(tmp_path / 'settings')!r})")
    assert waiting.stdout.readline() == b"ready\n"

    def blocked():
        return look()["blocked"]

    until(blocked, "it waits for the file")
    [found] = blocked()
    assert (found["pid"], found["state"]) == (waiting.pid, "S")
    assert str(tmp_path / "settings") in found["waits"] or found["waits"] == "wait_for_partner"


# posix_spawn's parent waits in the kernel until the child has opened the file.
BLOCKED = "import os; os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, %r, 0, 0)])"


def test_a_process_that_waits_in_the_kernel_for_no_file_is_told_as_the_record_is_read(process, tmp_path, look):
    file = tmp_path / "opened by nobody"
    os.mkfifo(file)
    parent = process(BLOCKED % str(file))
    until(lambda: parent.pid in [each["pid"] for each in look()["blocked"]], "it waits")
    [found] = [each for each in look()["blocked"] if each["pid"] == parent.pid]
    os.close(os.open(file, os.O_WRONLY))  # the child ends
    assert found["state"] == "D"
    # search.py adds the node and the reason.
    record = {"format": "kappa-hang", "version": 1, "how": "hang", "after_s": 9, "nodes": ["node7", "node8"]}
    line = json.dumps({**record, "named": [{**found, "node": "node7", "reason": "blocked"}]})
    [named] = hang(f"{line}\nsha256={hashlib.sha256(line.encode()).hexdigest()}\n").named
    assert (named.pid, named.waits) == (parent.pid, "")


@pytest.mark.parametrize("sleeping", ["import time; time.sleep(1000)", "import sys; sys.stdin.read()"])
def test_a_process_that_sleeps_for_another_reason_is_not_blocked(process, sleeping, look):
    process(f"print('ready', flush=True); {sleeping}").stdout.readline()
    assert look()["blocked"] == []


@pytest.mark.parametrize(("mode", "told"), [(0o600, True), (0o700, False)])
def test_a_prolog_that_cannot_be_executed_is_told(monkeypatch, tmp_path, mode, told, look):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node_watch.sh").write_text("#!/bin/sh\n")
    (tmp_path / "node_watch.sh").chmod(mode)
    assert look()["unexecutable"] is told


def test_processes_of_others_and_of_the_watch_are_left_out(process, look):
    other, watch = process(BUSY, SLURM_JOB_ID="another"), process(BUSY, KAPPA_WATCH="yes")
    for each in (other, watch):
        os.kill(each.pid, signal.SIGSTOP)
    assert look()["stopped"] == []


def test_the_layout_is_that_of_the_header():
    assert struct.calcsize("8sQqd96s") == 128
