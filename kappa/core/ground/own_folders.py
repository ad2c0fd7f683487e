"""Mark the folders that Kappa may remove as a whole, like ``reframe_checks/base/src/job/own_folder.sh``.

This module needs only the standard library: the embedded cluster uses it before there is a Python environment.
"""

import os
import stat
from pathlib import Path

from kappa.core.ground.whole_files import write_atomically

MARK = ".kappa-folder"


def mark_folder(folder: Path) -> None:
    """Write Kappa's mark into ``folder``, which is new.

    :raises InputError: the mark cannot be written.
    """
    text = f"suite kappa\nuser {os.geteuid()}\nhost {os.uname().nodename}\njob \n"
    write_atomically(folder / MARK, text, lasting=False)


def is_marked(folder: Path) -> bool:
    """Return whether ``folder`` has Kappa's mark, is no link, and only this user can write to it."""
    try:
        kinds = [_kind_of_own(folder), _kind_of_own(folder / MARK)]
    except OSError:
        return False
    return kinds == [stat.S_IFDIR, stat.S_IFREG]


def _kind_of_own(path: Path) -> int:
    """Return the type of a file that only this user can write, otherwise 0."""
    status = path.lstat()
    return 0 if status.st_uid != os.geteuid() or status.st_mode & 0o022 else stat.S_IFMT(status.st_mode)
