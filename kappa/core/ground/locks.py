"""Locks that the kernel releases when the last process that holds them ends (``flock`` of Linux).

Some shared storage keeps such locks on each machine only (NFS with ``local_lock``, Lustre with ``localflock``). So the
lock file names its holder until the holder gives the lock back.
"""

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import pathlib
import socket
import stat
import time
from collections.abc import Callable, Iterator

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError

_POLL_S = 0.1
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")


@dataclasses.dataclass(frozen=True)
class Holder:
    """The process that holds a lock. All processes of one ``boot`` see each other's locks."""

    process: int = 0
    host: str = ""
    boot: str = ""
    job: str = ""
    """The Slurm job in which it runs. When the job ends, Slurm kills it."""

    @classmethod
    def me(cls) -> "Holder":
        # In a shell of salloc, only SLURM_JOB_ID is set. Its programs may outlive the job.
        job = os.environ.get("SLURM_JOB_ID", "") if "SLURMD_NODENAME" in os.environ else ""
        return cls(os.getpid(), socket.gethostname(), _BOOT.read_text(encoding="ascii").strip(), job)

    @property
    def elsewhere(self) -> bool:
        """Whether it runs on another machine. On this machine, another boot has ended."""
        me = Holder.me()
        return bool(self.host) and self.host != me.host and self.boot != me.boot

    @property
    def killed(self) -> bool:
        """Whether it ran on this machine and is gone. Then a process that it started, and that ends, holds the lock."""
        return self.host == socket.gethostname() and not pathlib.Path("/proc", str(self.process)).exists()

    def __str__(self) -> str:
        job = f" in job {self.job}" if self.job else ""
        return one_line(clean(f"process {self.process} on {self.host}{job}"), 100) if self.host else "another process"


class LockedError(InputError):
    """Another process holds the lock. ``mend`` says what to do."""

    def __init__(self, path: pathlib.Path, holder: Holder, *, free: bool = False) -> None:
        source = clean(str(path))
        killed = f"; if it was killed, repeat the command on {one_line(clean(holder.host), 70)} or remove {source}"
        self.holder, self.mend = holder, f"wait for its end{killed if free else ''}"
        super().__init__(f"{source}: held by {holder}: {self.mend}")


@contextlib.contextmanager
def locked(
    path: pathlib.Path,
    *,
    shared: bool = False,
    waiting: Callable[[], object] | None = None,
    has_ended: Callable[[Holder], bool] | None = None,
) -> Iterator[int]:
    """Lock the file ``path``, and yield its descriptor. Make the file and its folder if they are missing.

    A program that is started with the descriptor (``pass_fds``) also holds the lock until it ends.

    :param shared: share the lock with others that share it; the file must exist, and may be read-only.
    :param waiting: called repeatedly while another process holds the lock; an exception ends the wait. Without it
        there is no wait.
    :param has_ended: called if the lock is free here, but its file names a process of another machine. Return whether
        that process has ended. Without it, a lock that is free here is free.

    :raises LockedError: another process holds the lock, or may hold it on another machine.
    :raises InputError: the file cannot be made or is no regular file, or its storage has no locks.
    :raises FileNotFoundError: ``shared`` is set and the file does not exist.
    """
    source = clean(str(path))
    try:
        if not shared:
            path.parent.mkdir(parents=True, exist_ok=True)
        # The folder may be received from others: the file may be a link to any file, or a pipe that has no writer.
        handle = os.open(path, _FLAGS | (os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT), 0o600)
    except FileNotFoundError:
        raise
    except OSError as err:
        if err.errno == errno.ELOOP:
            raise InputError(f"{source}: expected a lock file, found a link: remove it") from err
        raise InputError(f"cannot write in {clean(str(path.parent))}: {err.strerror}") from err
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InputError(f"{source}: expected a lock file, found no regular file: remove it")
        while not _taken(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, source):
            if waiting is None:
                raise LockedError(path, _holder(handle))
            waiting()
            time.sleep(_POLL_S)
        if shared:
            yield handle
            return
        holder = _holder(handle)
        if has_ended and holder.elsewhere and not has_ended(holder):
            raise LockedError(path, holder, free=True)
        with contextlib.suppress(OSError):  # the lock works on a full disk, too
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{json.dumps(dataclasses.asdict(Holder.me()))}\n".encode(), 0)
            if has_ended:
                os.fsync(handle)  # so that other machines read it now
        try:
            yield handle
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
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


def _holder(handle: int) -> Holder:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        named = json.loads(os.pread(handle, 400, 0))
        return Holder(int(named["process"]), *(str(named[key]) for key in ("host", "boot", "job")))
    return Holder()
