"""Locks that go with the last of the processes that hold them, however they end (``flock`` of Linux)."""

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
    """Another process holds the lock; ``holder`` says which, as far as it has said so."""

    def __init__(self, path: pathlib.Path, holder: str) -> None:
        super().__init__(f"{clean(str(path))}: held by {holder}")
        self.holder = holder


@contextlib.contextmanager
def locked(path: pathlib.Path, *, shared: bool = False, waiting: Callable[[], object] | None = None) -> Iterator[int]:
    """Hold the file ``path``, which is made, also its folder, where it is missing; yields the file's descriptor.

    A program that is started with the descriptor (``pass_fds``) holds the lock as well, until it has ended.

    :param shared: with others that share it; the file has to be there, and may be read-only.
    :param waiting: called again and again while another process holds the lock; what it raises ends the waiting.
        Without it there is no waiting.

    :raises LockedError: another process holds it.
    :raises InputError: the file cannot be made, or its storage has no locks.
    :raises FileNotFoundError: there is nothing to share.
    """
    source = clean(str(path))
    try:
        if not shared:
            path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CLOEXEC | (os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT), 0o600)
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
            with contextlib.suppress(OSError):  # a full disk is nothing to a lock
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
        raise InputError(f"cannot lock {source}: {err.strerror}; does its storage have file locks?") from err
    return True


def _holder(handle: int) -> str:
    said = os.pread(handle, 400, 0).decode("utf-8", "replace")
    return one_line(clean(said), 100) or "another process"
