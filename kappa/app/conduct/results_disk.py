"""Reserve disk space for the report, and end a session before the disk of the results is full.

ReFrame writes its report at the end. If others fill the disk before, the report would be cut, and jobs would lose
their output.
"""

import contextlib
import errno
import os
import pathlib
import time

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import Stop

#: Reserved for the report, the journal and the page.
RESERVE_MIB = 32
#: If less than this is free besides the reserve, the disk counts as full.
LEAST_MIB = 4
RESERVE = ".room-for-the-report"
LOOK_EVERY_S = 0.5


class RoomForReport(Stop):
    """A reason to stop: another ``Stop``'s reason, or a full disk. A full disk frees the reserve at once.

    ``full_since``: when the disk last had free space, in seconds since 1970; None if it is not full.

    :raises InputError: the disk has no space for the reserve.
    """

    def __init__(self, stop: Stop, folder: pathlib.Path) -> None:
        super().__init__()
        self._stop, self._folder = stop, folder
        self._reserve = folder / RESERVE
        self._had_room, self._looked_s = time.time(), time.monotonic()
        self.full_since: float | None = None
        try:
            handle = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(handle, 0, RESERVE_MIB << 20)
            finally:
                os.close(handle)
        except OSError as err:
            self.give_back()
            if err.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                return  # some file systems cannot reserve space
            raise InputError(
                f"no space for a report in {clean(str(folder))}: {err.strerror}; set KAPPA_RESULTS to another folder"
            ) from err

    @property
    def why(self) -> str:
        now_s = time.monotonic()
        if self.full_since is None and now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self._look()
        if self.full_since is not None:
            return f"the disk of {clean(str(self._folder))} is full"
        return self._stop.why

    def _look(self) -> None:
        # A file system that does not answer now may answer later.
        with contextlib.suppress(OSError):
            found = os.statvfs(self._folder)
            if found.f_bavail * found.f_frsize >= LEAST_MIB << 20:
                self._had_room = time.time()
            else:
                self.full_since = self._had_room
                self.give_back()

    def give_back(self) -> None:
        with contextlib.suppress(OSError):
            self._reserve.unlink(missing_ok=True)
