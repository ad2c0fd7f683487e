"""Whole files or none: written beside their place and onto the disk, then renamed. Only their owner reads them."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator

from reports.errors import InputError
from reports.untrusted import clean


@contextlib.contextmanager
def private() -> Iterator[None]:
    """What is made meanwhile only its owner may read, also by programs that are started."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Write ``text`` as UTF-8 to ``path``; a reader sees the old file or the new one, never a part.

    The file gets permissions 0600. What a killed writer leaves has a hidden name that ends in ``.part``.

    :raises InputError: the file cannot be written; nothing is left behind.
    """
    part = None
    try:
        # A name that nobody can foresee, so that neither a left-over nor a link is in the way.
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.replace(part, path)
        part = None
    except OSError as err:
        raise InputError(f"cannot write {clean(str(path))}: {err.strerror}") from err
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def make_folder(path: pathlib.Path) -> None:
    """Make the folder ``path`` and those above it where there is none.

    :raises InputError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise InputError(f"cannot make {clean(str(path))}: {err.strerror}") from err
