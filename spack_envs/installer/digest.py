"""Digests of files and folders."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 over files, and over folders with all in them."""
    total = hashlib.sha256()
    for root in paths:
        for path in sorted(_files(root)):
            total.update(f"{root.name}/{path.relative_to(root)}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        return iter([folder])
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
