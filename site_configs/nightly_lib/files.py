"""Files that are whole and on the disk before they have their name: `reports` is not at hand here."""

import contextlib
import json
import os
import pathlib

PART = ".part"


def write(path: pathlib.Path, text: str) -> None:
    """Write ``path`` as a whole or not at all."""
    part = path.with_name(f".{path.name}{PART}")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def publish(part: pathlib.Path) -> bool:
    """Give the JSON file ``part`` its name, which is that without ``PART``; false when it is not there or not whole."""
    try:
        with part.open("rb") as file:
            json.load(file)
            os.fsync(file.fileno())
    except (FileNotFoundError, ValueError, RecursionError):
        return False
    part.replace(part.with_name(part.name.removesuffix(PART)))
    _sync_folder(part.parent)
    return True


def _sync_folder(folder: pathlib.Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Storage that cannot do it keeps the file before, which is whole.
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
