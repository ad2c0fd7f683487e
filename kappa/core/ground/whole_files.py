"""Read files within a size limit, and write them completely or not at all, readable only by their owner.

A file is written under another name and to the disk, then renamed. This module needs only the standard library: the
embedded cluster uses it before there is a Python environment.
"""

import contextlib
import errno
import io
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError


def read_text(path: Path, limit_bytes: int, errors: str = "strict") -> str:
    """Return the file's text, decoded as UTF-8; ``errors`` as in ``open``.

    :raises OSError: the file is not readable, is no regular file (a pipe would never end), or is larger than
        ``limit_bytes``; ``strerror`` says which.
    :raises UnicodeDecodeError: it is not UTF-8.
    """
    # Python's text mode also gives only one kind of line end.
    return _one_kind_of_line_end(read_bytes(path, limit_bytes).decode("utf-8", errors))


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """Return the file's content.

    :raises OSError: as ``read_text``.
    """
    with opened(path) as file:
        size = min(os.fstat(file.fileno()).st_size, limit_bytes)
        content = file.read(size + 1)
        if len(content) > size:  # it grows, or has no size, like files in /proc
            content += file.read(limit_bytes - size)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes:,} bytes", str(path))
    return content


def read_end(path: Path, limit_bytes: int) -> str:
    """Return the last complete lines of a file, at most ``limit_bytes``; replace bytes that are not UTF-8.

    :raises OSError: the file is not readable, or is no regular file.
    """
    with opened(path) as file:
        begin = max(0, os.fstat(file.fileno()).st_size - limit_bytes)
        file.seek(begin)
        content = file.read(limit_bytes)
    text = _one_kind_of_line_end(content.decode("utf-8", "replace"))
    return text.partition("\n")[2] if begin else text


def opened(path: Path) -> io.BufferedReader:
    """Open a regular file for reading; a device has no end, and opening a pipe would wait for its writer.

    :raises OSError: the file is not readable, or is no regular file; ``strerror`` says which.
    """
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    kind = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(kind):
        return file
    file.close()
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def _one_kind_of_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


@contextlib.contextmanager
def private() -> Iterator[None]:
    """Make new files readable only by their owner within the context, also files of started programs."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def written_beside(path: pathlib.Path, mode: int = 0o600, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """Yield a file that replaces ``path`` when the block ends; a reader sees the old file or the new one, never a part.

    A killed writer leaves a hidden file whose name ends in ``.part``.

    :param mode: the file's permissions.
    :param lasting: wait until a power cut cannot undo the write; a busy disk may take seconds.

    :raises InputError: the file cannot be written. After any error no partial file is left.
    """
    part = None
    try:
        if _is_no_file(path):  # Root would replace /dev/null for all users.
            with open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as stream:
                yield stream
            return
        # A random name, so that no leftover file and no link is in the way.
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        with open(handle, "wb") as file:
            yield file
            os.fchmod(handle, mode)
            file.flush()
            if lasting:  # Otherwise the new name may survive a power cut, but not the file's content.
                os.fsync(handle)
        os.replace(part, path)
        part = None
        if lasting:
            sync_folder(path.parent)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(path))}: {err.strerror}") from err
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def _is_no_file(path: pathlib.Path) -> bool:
    """Return whether the path is a device or a pipe, or a link such as /dev/stdout."""
    return path.exists() and (not path.is_file() or (path.is_symlink() and path.parent == pathlib.Path("/dev")))


def write_atomically(path: pathlib.Path, text: str, mode: int = 0o600, *, lasting: bool = True) -> None:
    """Write ``text`` as UTF-8 to ``path``, completely or not at all; ``mode`` and ``lasting`` as `written_beside`.

    :raises InputError: the file cannot be written; no partial file is left.
    """
    with written_beside(path, mode, lasting=lasting) as file:
        file.write(text.encode("utf-8"))


def sync_folder(folder: pathlib.Path) -> None:
    """Make new names in ``folder`` survive a power cut, if its storage can; otherwise the old file may come back."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_tree(folder: pathlib.Path) -> None:
    """Make ``folder`` and all regular files below it survive a power cut, also files of other programs.

    :raises OSError: the storage could not keep a file.
    """
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = pathlib.Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        sync_folder(pathlib.Path(parent))


def make_folder(path: pathlib.Path) -> None:
    """Make the folder ``path`` and its parents if they do not exist.

    :raises InputError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise InputError(f"cannot make {clean(str(path))}: {err.strerror}") from err


@contextlib.contextmanager
def whole_folder(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield a folder that becomes ``target`` at the end, complete or not at all; only the owner can read it.

    :raises OSError: the storage could not keep a file.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as part:
        folder = pathlib.Path(part, "whole")
        folder.mkdir(mode=0o700)
        yield folder
        # Without this, the new name may survive a power cut while its content is lost.
        sync_tree(folder)
        folder.rename(target)
        sync_folder(target.parent)
