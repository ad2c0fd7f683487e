"""Lines of JSON with their sums, as the scripts on the nodes write them."""

import errno
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from reframe_checks.parsers import node_times
from reframe_checks.parsers.node_times import JobStart
from reframe_checks.parsers.text import ParseError

SUITE = pathlib.Path(__file__).parents[3] / "reframe_checks"
START, CALLS = SUITE / "node/src/start_of_task.sh", SUITE / "storage/src/file_calls.py"


def line(**told):
    text = json.dumps(told)
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()}\n"


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """slurm(squeue=…, scontrol=…): what they print; None for one that fails."""

    def prints(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n" if text is None else f"#!/bin/sh\necho '{text}'\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        done = subprocess.run(["bash", START, "--job"], capture_output=True, text=True, check=True)
        return node_times.job_start(done.stdout)

    return prints


@pytest.mark.parametrize(("printed", "seconds"), [("0:01    ", 1), ("1:02:03", 3723), ("2-00:00:05", 172805)])
def test_since_when_slurm_has_the_job(slurm, printed, seconds):
    assert slurm(squeue=printed, scontrol="PrologFlags             = (null)") == JobStart(seconds, False)


@pytest.mark.parametrize(("flags", "before"), [("Alloc,NoHold", True), ("Contain", True), ("Serial", False)])
def test_whether_prologs_run_before_the_job(slurm, flags, before):
    assert slurm(squeue="0:01", scontrol=f"PrologFlags = {flags}").prologs_at_allocation is before


def test_a_controller_that_does_not_answer(slurm):
    assert slurm(squeue=None, scontrol=None) == JobStart(None, False)


def test_start_of_a_task(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    done = subprocess.run(["bash", START], capture_output=True, text=True, check=True)
    assert node_times.task_starts(done.stdout, expect_nodes=["n7"])["n7"] > 0
    for nodes in ([], ["n7", "n8"]):
        with pytest.raises(ParseError):
            node_times.task_starts(done.stdout, expect_nodes=nodes)


def test_calls_on_files_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    done = subprocess.run([sys.executable, CALLS, tmp_path, "0.05", "2000"], capture_output=True, text=True, check=True)
    found = node_times.file_calls(done.stdout, expect_nodes=["n7"])["n7"]
    assert found.fsync_ms > 0 and found.file_ms > 0 and found.reads >= 1024
    assert found.failed == {}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    command = [sys.executable, CALLS, tmp_path / "gone", "0", "1"]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.rpartition(b" ")[0])
    assert told["failed"] == {"create: No such file or directory": 1}
    assert (told["fsync_ms"], told["reads"]) == (None, 0)


@pytest.fixture
def calls(tmp_path):
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("file_calls", CALLS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reads_that_fail_or_bring_other_bytes_are_counted(calls, tmp_path, monkeypatch):
    real, count = os.pread, [0]

    def damaged(file, size, place):
        count[0] += 1
        if count[0] % 1000 == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return b"x" * size if count[0] == 5 else real(file, size, place)

    monkeypatch.setattr(calls.os, "pread", damaged)
    told = calls.told(str(tmp_path), 0.01, 1024)
    assert told["failed"] == {"read: Input/output error": 1, "read: the bytes differ from the written bytes": 1}


@pytest.mark.parametrize(
    "changes",
    [{"fsync_ms": None}, {"file_ms": -1.0}, {"files": 0}, {"reads": -1}, {"failed": {"read": "1"}}, {"more": 1}],
)
def test_what_no_script_writes_is_refused(changes):
    told = {"node": "n7", "fsyncs": 3, "fsync_ms": 0.1, "files": 3, "file_ms": 0.1, "reads": 5, "failed": {}}
    assert node_times.file_calls(line(**told), expect_nodes=["n7"])
    with pytest.raises(ParseError):
        node_times.file_calls(line(**{**told, **changes}), expect_nodes=["n7"])
