"""Locks that the kernel releases when the last process that holds them ends (``flock`` of Linux)."""

import contextlib
import fcntl
import os
import pathlib
import socket
import time
from collections.abc import Callable, Iterator

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError

_POLL_S = 0.1


class LockedError(InputError):
    """Another process holds the lock; ``holder`` names it if the lock file does."""

    def __init__(self, path: pathlib.Path, holder: str) -> None:
        super().__init__(f"{clean(str(path))}: held by {holder}")
        self.holder = holder


@contextlib.contextmanager
def locked(path: pathlib.Path, *, shared: bool = False, waiting: Callable[[], object] | None = None) -> Iterator[int]:
    """Lock the file ``path``, and yield its descriptor. Make the file and its folder if they are missing.

    A program that is started with the descriptor (``pass_fds``) also holds the lock until it ends.

    :param shared: share the lock with others that share it; the file must exist, and may be read-only.
    :param waiting: called repeatedly while another process holds the lock; an exception ends the wait. Without it
        there is no wait.

    :raises LockedError: another process holds the lock.
    :raises InputError: the file cannot be made, or its storage has no locks.
    :raises FileNotFoundError: ``shared`` is set and the file does not exist.
    """
    source = clean(str(path))
    try:
        if not shared:
            path.parent.mkdir(parents=True, exist_ok=True)
        access = os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
        handle = os.open(path, access | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise
    except OSError as err:
        raise InputError(f"cannot write in {clean(str(path.parent))}: {err.strerror}") from err
    try:
        while not _taken(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, source):
            if waiting is None:
                raise LockedError(path, _holder(handle))
            waiting()
            time.sleep(_POLL_S)
        if not shared:
            with contextlib.suppress(OSError):  # the lock works on a full disk, too
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield handle
    finally:
        os.close(handle)


def _taken(handle: int, kind: int, source: str) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as err:
        raise InputError(f"cannot lock {source}: {err.strerror}; its storage may lack file locks") from err
    return True


def _holder(handle: int) -> str:
    said = os.pread(handle, 400, 0).decode("utf-8", "replace")
    return one_line(clean(said), 100) or "another process"
