"""Files that are whole and on the disk before they have their name: `reports` is not at hand here."""

import contextlib
import os
import pathlib


def write(path: pathlib.Path, text: str) -> None:
    """Write ``path`` as a whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: pathlib.Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Storage that cannot do it keeps the file before, which is whole.
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
