"""One night of a site at a time; the lock goes with the last of the processes that hold it."""

import contextlib
import fcntl
import os
import pathlib
import socket
from collections.abc import Iterator

from .errors import NightlyError


class BusyError(Exception):
    """Another night of the site is running; the message says which."""


@contextlib.contextmanager
def only_one(path: pathlib.Path) -> Iterator[int]:
    """Hold the lock at ``path``; gives the file descriptor, which what is started has to inherit.

    Else a night whose conductor was killed would measure on beside the next one.

    :raises BusyError: another night holds it.
    :raises NightlyError: the storage has no locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise BusyError(f"another night is running, or what it left ({file.read().strip() or 'unknown'})") from None
        except OSError as err:
            raise NightlyError(f"cannot lock {path}: {err.strerror}; does its storage have file locks?") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield file.fileno()
