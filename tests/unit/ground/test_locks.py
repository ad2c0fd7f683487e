"""A lock has one holder at a time, with a name, and is released with the holder's last process."""

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import Holder, LockedError, locked

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


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_lock_that_is_no_file_of_its_own_is_refused(kind, shared, path, tmp_path):
    path.parent.mkdir()
    (tmp_path / "thesis").write_text("years")
    {"link": lambda: path.symlink_to(tmp_path / "thesis"), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[
        kind
    ]()
    with pytest.raises(InputError) as refused, locked(path, shared=shared):
        pass
    assert str(path.parent) in str(refused.value)
    assert (tmp_path / "thesis").read_text() == "years"


OTHER = {"process": 7, "host": "other", "boot": "another", "job": ""}


@pytest.mark.parametrize("ended", [False, True])
def test_a_free_lock_of_another_machine_is_taken_only_if_its_holder_has_ended(ended, path):
    """Where flock is local to a machine, a lock that is held elsewhere looks free."""
    path.parent.mkdir()
    path.write_text(json.dumps(OTHER))
    asked = []

    def has_ended(holder):
        asked.append(holder)
        return ended

    refused = pytest.raises(LockedError, match="repeat the command on other")
    with contextlib.nullcontext() if ended else refused, locked(path, has_ended=has_ended):
        assert json.loads(path.read_text())["process"] == os.getpid()
    assert asked == [Holder(**OTHER)]
    assert path.read_text() == ("" if ended else json.dumps(OTHER)), "only its holder gives it back"


@pytest.mark.parametrize(
    "named",
    [
        {**OTHER, "boot": Holder.me().boot},  # a virtual node of this machine
        {**OTHER, "host": Holder.me().host},  # this machine, before it was started again
        "process 7 on other",  # from older versions, which let the name stand
        ["no", "holder"],
        {"process": "../7", "host": "other", "boot": "another", "job": ""},
    ],
    ids=["same kernel", "rebooted", "older version", "list", "odd number"],
)
def test_a_free_lock_that_names_no_process_of_another_machine_is_free(named, path):
    path.parent.mkdir()
    path.write_text(named if isinstance(named, str) else json.dumps(named))
    with locked(path, has_ended=lambda holder: pytest.fail(str(holder))):
        pass


def test_the_job_of_the_holder_is_its_own_not_that_of_its_shell(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    assert Holder.me().job == "", "salloc"
    monkeypatch.setenv("SLURMD_NODENAME", "node1")
    assert Holder.me().job == "7"


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write in"), locked(tmp_path / "file/lock"):
        pass
