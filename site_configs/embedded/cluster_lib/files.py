"""Whole files or none, for as long as the cluster runs; other users' daemons read them."""

from pathlib import Path

from kappa.ground.whole_files import write_atomically


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace `path` with `text` in one step, so that no reader sees half of it.

    :raises InputError: the file cannot be written.
    """
    write_atomically(path, text, mode, lasting=False)
