"""Stages end in time, tell what cut them, and never run twice at once."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from site_configs.nightly_lib.errors import NightlyError
from site_configs.nightly_lib.lock import BusyError, only_one
from site_configs.nightly_lib.stages import Stages

# Ends in an orderly way when it is told to, as ReFrame does.
ORDERLY = "trap 'echo told to end; exit' TERM; echo started; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.1; done"


@pytest.fixture
def log(tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    with (tmp_path / "log").open("w") as file:
        yield file
    for number, handler in before.items():
        signal.signal(number, handler)


def shell(stages, script, folder):
    return stages.run(["bash", "-c", script], folder, {"KAPPA_TRIED": "yes"})


def test_a_stage_that_ends_by_itself(log, tmp_path):
    stages = Stages(time.time() + 60, log)
    assert shell(stages, "echo $KAPPA_TRIED", tmp_path)
    assert stages.cut == ""
    assert (tmp_path / "log").read_text() == "yes\n"


def test_the_deadline_ends_a_stage_and_lets_none_start(log, tmp_path):
    stages = Stages(time.time() + 1, log)
    assert not shell(stages, ORDERLY, tmp_path)
    assert not shell(stages, "echo late", tmp_path)
    assert "time limit" in stages.cut
    assert (tmp_path / "log").read_text() == "started\ntold to end\n"


def test_a_signal_ends_a_stage(log, tmp_path):
    stages = Stages(time.time() + 60, log)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert not shell(stages, ORDERLY, tmp_path)
    assert stages.cut == "stopped by SIGTERM"


def test_a_stage_that_does_not_end_is_killed_with_what_it_started(log, tmp_path, monkeypatch):
    monkeypatch.setattr("site_configs.nightly_lib.stages.ENDING_S", 0.5)
    stages = Stages(time.time() + 0.5, log)
    assert not shell(stages, f"sleep 1000 & echo $! > child; {STUBBORN}", tmp_path)
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}/status").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.1)


def test_only_one_night_at_a_time_and_the_lock_goes_with_its_process(tmp_path):
    path = tmp_path / "nightly/.lock"
    code = (
        "import sys, time, pathlib; from site_configs.nightly_lib.lock import only_one\n"
        "with only_one(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BusyError, match=f"process {holder.pid}"), only_one(path):
            pass
        holder.kill()
        holder.wait()
    with only_one(path):
        pass


def test_storage_without_locks_is_no_other_night(tmp_path, monkeypatch):
    def no_locks(lock, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(NightlyError, match=r"cannot lock .*No locks available"), only_one(tmp_path / ".lock"):
        pass
