"""One `up` or `down` at a time on a state directory."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator

from kappa.embedded_cluster.console import ClusterError, Deadline, Progress
from kappa.embedded_cluster.layout import StateLayout


@contextlib.contextmanager
def state_lock(layout: StateLayout, deadline: Deadline, progress: Progress) -> Iterator[None]:
    """Hold the state directory's lock; wait for another holder until the deadline.

    Raises ClusterError when it is not free in time.
    """
    told = False
    while True:
        layout.state.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # `down --purge` removed the directory since
            continue
        try:
            if _try_lock(handle) and _is_current(handle, layout):
                yield
                return
            if not told:
                progress.say(f"another `cluster up` or `down` works on {layout.state}: waiting for it")
                told = True
        finally:
            os.close(handle)
        if not deadline.poll(lambda: _is_free(layout), interval_s=0.1):
            raise ClusterError(
                f"another `cluster up` or `down` still works on {layout.state} after {deadline.timeout_s:.0f} s"
            )


def remove_state(layout: StateLayout) -> None:
    """Remove the state directory, whose lock the caller holds; what waits for the lock may make both anew meanwhile."""
    for entry in layout.state.iterdir():
        if entry == layout.lock:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    layout.lock.unlink()
    try:
        layout.state.rmdir()
    except OSError as err:
        if err.errno != errno.ENOTEMPTY:
            raise


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(handle: int, layout: StateLayout) -> bool:
    """False when `down --purge` removed the file that we locked."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(layout.lock))
    except FileNotFoundError:
        return False


def _is_free(layout: StateLayout) -> bool:
    try:
        handle = os.open(layout.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        return _try_lock(handle)
    finally:
        os.close(handle)
