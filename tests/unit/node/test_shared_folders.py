"""Folders of jobs as a node tests them: folders that hang, and a test that is ended."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kappa.node import children, packed, shared_folders
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def start(tmp_path):
    """Start the test of a folder in a job of some nodes. This one alone answers."""
    program = tmp_path / packed.PROGRAM
    program.write_bytes(packed.program())

    def started(folder, nodes):
        environment = {**os.environ, "SLURMD_NODENAME": "n1"}
        process = subprocess.Popen(
            [sys.executable, program, "folders", "token", "job", str(nodes), f"parallel|{folder}"],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        process.stdin.write("0\nend\n")
        process.stdin.close()
        return process

    return started


def test_folder_of_a_single_node(start, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    lines = start(folder, 1).stdout.read().splitlines()
    assert lines[0] == 'node "n1"' and lines[1] == "ready" and lines[-1] == "end"
    assert abs(float(lines[2].removeprefix("clock 0 ")) - time.time()) < PATIENCE_S
    results = dict(line.split(" ", 1) for line in lines if line.startswith("folder.0."))
    assert json.loads(results["folder.0.sees"]) == 1 and json.loads(results["folder.0.writes"]) == "yes"
    assert [*folder.iterdir()] == []


def test_ended_test_leaves_no_file(start, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    process = start(folder, 2)
    until(lambda: [*folder.rglob("node-n1")], "the node has written, and waits for the other one")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    assert [*folder.iterdir()] == []


def test_folder_that_hangs_is_left_behind(monkeypatch, capsys, tmp_path):
    """The other folder is told, and nothing waits for the hanging one."""

    def asked(kind, path, *_):
        return {"kind": kind} if path == str(tmp_path) else time.sleep(600)

    monkeypatch.setattr(shared_folders, "tested", asked)
    monkeypatch.setattr(shared_folders, "ANSWER_S", 0.5)
    monkeypatch.setattr(shared_folders, "answer_clocks", lambda: None)
    monkeypatch.setattr(shared_folders.signal, "signal", lambda *_: None)
    shared_folders.print_folders("token", "job", 1, ["any|/hung", f"own|{tmp_path}"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("folder.")] == ['folder.1.kind "own"']
    assert lines[-1] == "end"


def test_program_that_ignores_signals_is_ended_in_time(on_path):
    on_path("quota", "#!/bin/sh\ntrap '' TERM\necho begun\nwhile :; do sleep 0.05; done\n")
    assert children.run(0.5, "quota") == (None, "")


def test_output_of_a_failed_program_does_not_count(on_path):
    on_path("lfs", "#!/bin/sh\necho 4\nexit 2\n")
    assert children.run(PATIENCE_S, "lfs") == (2, "4\n")
    assert children.output(PATIENCE_S, "lfs") is None
    assert children.output(PATIENCE_S, "no-such-program") is None
