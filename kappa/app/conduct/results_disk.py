"""The disk of the results: room kept for the report, and a session ended before the disk is full.

ReFrame writes its report at the end. On a disk that others fill meanwhile it would write a part, and jobs would lose
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

#: Kept for the report, the journal and the page.
RESERVE_MIB = 32
#: With less than this beside the reserve, the disk is full.
LEAST_MIB = 4
RESERVE = ".room-for-the-report"
LOOK_EVERY_S = 0.5


class RoomForReport(Stop):
    """A reason to stop, that of another ``Stop`` or a full disk; the reserve is given back at once then.

    ``full_since``: seconds since 1970 when the disk still had room last, if it is full.

    :raises InputError: the disk has no room for the reserve.
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
                return  # some file systems cannot keep room
            raise InputError(
                f"no room for a report in {clean(str(folder))}: {err.strerror}; KAPPA_RESULTS names another folder"
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
        # A file system that does not answer now may later.
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
