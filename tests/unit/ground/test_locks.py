"""A lock has one holder at a time, with a name, and is released with the holder's last process."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError, locked

HOLDER = """
import pathlib, subprocess, sys
from kappa.core.ground.locks import locked
with locked(pathlib.Path(sys.argv[1])) as lock:
    child = subprocess.Popen(["sleep", "600"], pass_fds=[lock] if sys.argv[2] == "passed" else [])
    print(child.pid, flush=True)
    child.wait()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "nightly/.lock"


@pytest.fixture(params=["kept", "passed"])
def holder(path, request):
    """A process that holds the lock, and the child that it started, with the lock or without."""
    command = [sys.executable, "-c", HOLDER, path, request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        yield process, request.param == "passed"
        os.kill(child, signal.SIGKILL)


def held(path):
    try:
        with locked(path):
            return False
    except LockedError:
        return True


def test_the_holder_is_named_and_the_lock_goes_with_all_that_it_was_passed_to(path, holder):
    process, passed = holder
    with pytest.raises(LockedError, match=f"held by process {process.pid} on "), locked(path):
        pass
    process.kill()
    process.wait()
    assert held(path) == passed


def test_one_in_a_process_that_waits_gets_it_when_it_is_free(path):
    waited = []
    with locked(path) as lock:
        other = os.dup(lock)

    def waiting():
        waited.append(True)
        if len(waited) == 3:
            os.close(other)

    with locked(path, waiting=waiting):
        assert len(waited) >= 3


def test_what_the_waiting_raises_ends_it(path):
    def stop():
        raise KeyboardInterrupt

    with locked(path), pytest.raises(KeyboardInterrupt), locked(path, waiting=stop):
        pass
    assert not held(path)


def test_shared(path):
    with pytest.raises(FileNotFoundError), locked(path, shared=True):
        pass
    with locked(path), pytest.raises(LockedError), locked(path, shared=True):
        pass
    with locked(path, shared=True), locked(path, shared=True):
        assert held(path)


def test_storage_without_locks_is_no_other_holder(path, monkeypatch):
    def no_locks(lock, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(InputError, match=r"cannot lock .*No locks available") as told, locked(path):
        pass
    assert not isinstance(told.value, LockedError)


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write in"), locked(tmp_path / "file/lock"):
        pass
