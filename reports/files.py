"""Whole files or none: written beside their place, then renamed."""

import contextlib
import os
import pathlib

from reports.errors import InputError
from reports.untrusted import clean


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Write ``text`` as UTF-8 to ``path``; a reader sees the old file or the new one, never a part.

    :raises InputError: the file cannot be written; nothing is left behind.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(path))}: {err.strerror}") from err
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
