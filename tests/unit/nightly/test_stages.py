"""Stages end in time, tell what cut them, and never run twice at once."""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import psutil
import pytest

from site_configs.nightly_lib.errors import NightlyError
from site_configs.nightly_lib.lock import BusyError, only_one
from site_configs.nightly_lib.stages import Stages
from tests.waiting import PATIENCE_S, until

# Ends in an orderly way when it is told to, as ReFrame does.
ORDERLY = "trap 'echo told to end; exit' TERM; echo started; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.1; done"


@pytest.fixture
def stages(log, tmp_path):
    """Makes stages that end after so many seconds."""
    with (tmp_path / "lock").open("w") as lock:
        yield lambda seconds: Stages(time.time() + seconds, log, lock.fileno())


@pytest.fixture
def log(tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    with (tmp_path / "log").open("w") as file:
        yield file
    for number, handler in before.items():
        signal.signal(number, handler)


def shell(stages, script, folder):
    return stages.run(["bash", "-c", script], folder, {"KAPPA_TRIED": "yes"})


def test_a_stage_that_ends_by_itself(stages, tmp_path):
    ending = stages(60)
    assert shell(ending, "echo $KAPPA_TRIED", tmp_path)
    assert ending.cut == ""
    assert (tmp_path / "log").read_text() == "yes\n"


def test_the_deadline_ends_a_stage_and_lets_none_start(stages, tmp_path, monkeypatch):
    ending = stages(PATIENCE_S)
    now = time.time()
    late = types.SimpleNamespace(
        time=lambda: now + 2 * PATIENCE_S * ("started" in (tmp_path / "log").read_text()), sleep=time.sleep
    )
    monkeypatch.setattr("site_configs.nightly_lib.stages.time", late)
    assert not shell(ending, ORDERLY, tmp_path)
    assert not shell(ending, "echo late", tmp_path)
    assert "time limit" in ending.cut
    assert (tmp_path / "log").read_text() == "started\ntold to end\n"


def test_a_signal_ends_a_stage(stages, tmp_path):
    ending = stages(PATIENCE_S)

    def signal_when_started():
        until(lambda: "started" in (tmp_path / "log").read_text(), "the stage has started")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=signal_when_started).start()
    assert not shell(ending, ORDERLY, tmp_path)
    assert ending.cut == "stopped by SIGTERM"


def test_a_stage_that_does_not_end_is_killed_with_what_it_started(stages, tmp_path, monkeypatch):
    monkeypatch.setattr("site_configs.nightly_lib.stages.ENDING_S", 0.5)
    ending = stages(0.5)
    assert not shell(ending, f"sleep 1000 & echo $! > child; {STUBBORN}", tmp_path)
    child = int((tmp_path / "child").read_text())
    until(lambda: ended(child), "the child has ended")


def ended(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def test_only_one_night_at_a_time_and_the_lock_goes_with_its_process(tmp_path):
    path = tmp_path / "nightly/.lock"
    code = (
        "import sys, time, pathlib; from site_configs.nightly_lib.lock import only_one\n"
        "with only_one(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
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


def test_a_stage_that_outlives_its_conductor_keeps_the_lock(tmp_path, log):
    path = tmp_path / "nightly/.lock"
    code = (
        "import sys, time, pathlib; from site_configs.nightly_lib.lock import only_one;"
        "from site_configs.nightly_lib.stages import Stages\n"
        "with only_one(pathlib.Path(sys.argv[1])) as lock:\n"
        " Stages(time.time() + 600, sys.stdout, lock)"
        ".run(['sh', '-c', 'echo $$; exec sleep 600'], pathlib.Path('/'), {})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as holder:
        stage = int(holder.stdout.readline())
        holder.kill()
        holder.wait()
        try:
            with pytest.raises(BusyError), only_one(path):
                pass
        finally:
            os.kill(stage, signal.SIGKILL)
    subprocess.run(["flock", "--timeout", str(PATIENCE_S), path, "true"], check=True)


def test_storage_without_locks_is_no_other_night(tmp_path, monkeypatch):
    def no_locks(lock, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(NightlyError, match=r"cannot lock .*No locks available"), only_one(tmp_path / ".lock"):
        pass
