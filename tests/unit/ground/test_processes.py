"""A started program ends: on its own, orderly on request, and by force at last."""

import contextlib
import os
import signal
import subprocess
import threading
import time

import psutil
import pytest

from kappa.core.ground.processes import Stop, StoppedError, stopping, wait
from tests.waiting import PATIENCE_S, late_when, until

# Ends in an orderly way when it is told to, as ReFrame does.
ORDERLY = "trap 'echo told to end; exit' TERM; echo started; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.1; done"


def shell(script, stop, tmp_path, patience_s=PATIENCE_S):
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(["bash", "-c", script], stdout=log, cwd=tmp_path, start_new_session=True)
        return wait(process, stop, patience_s)


def log(tmp_path):
    return (tmp_path / "log").read_text()


def ended(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def started(tmp_path):
    return (tmp_path / "log").exists() and "started\n" in log(tmp_path)


def test_one_that_ends_by_itself(tmp_path):
    with stopping() as stop:
        assert shell("echo done; exit 3", stop, tmp_path) == 3
        assert stop.why == ""
    assert log(tmp_path) == "done\n"


def test_the_deadline_ends_it_and_stays_passed(tmp_path, monkeypatch):
    late_when(lambda: started(tmp_path), monkeypatch)
    with stopping(time.monotonic() + PATIENCE_S) as stop:
        with pytest.raises(StoppedError, match="time limit"):
            shell(ORDERLY, stop, tmp_path)
        assert log(tmp_path) == "started\ntold to end\n"
        with pytest.raises(StoppedError, match="time limit"):
            stop.check()


def test_a_clock_that_is_put_forward_ends_nothing(monkeypatch):
    stop = Stop(time.monotonic() + PATIENCE_S)
    monkeypatch.setattr(time, "time", lambda: 1e11)
    assert stop.why == ""


def test_a_signal_ends_it_and_the_first_is_the_reason(tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    def signal_when_started():
        until(lambda: started(tmp_path), "it has started")
        os.kill(os.getpid(), signal.SIGTERM)

    with stopping() as stop:
        threading.Thread(target=signal_when_started).start()
        with pytest.raises(StoppedError, match="stopped by SIGTERM"):
            shell(ORDERLY, stop, tmp_path)
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.why == "stopped by SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before
    assert log(tmp_path) == "started\ntold to end\n"


def test_one_that_does_not_end_is_killed_with_what_it_started(tmp_path, monkeypatch):
    late_when(lambda: started(tmp_path), monkeypatch)
    with stopping(time.monotonic() + PATIENCE_S) as stop, pytest.raises(StoppedError):
        shell(f"sleep 1000 & echo $! > child; {STUBBORN}", stop, tmp_path, patience_s=0.5)
    child = int((tmp_path / "child").read_text())
    until(lambda: ended(child), "what it started has ended")
