"""Files, read within a limit and written whole or not at all; only their owner reads what is written.

A file is written beside its place and onto the disk, then renamed. Needs nothing but the standard library: the embedded
cluster uses it before there is a Python environment.
"""

import contextlib
import errno
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
    """The file's text, which is UTF-8; ``errors`` as in ``open``.

    :raises OSError: it cannot be read, is no regular file (a pipe would never end), or is larger than
        ``limit_bytes``; ``strerror`` says which.
    :raises UnicodeDecodeError: it is not UTF-8.
    """
    # As text files are read elsewhere: one kind of line end.
    return _one_kind_of_line_end(read_bytes(path, limit_bytes).decode("utf-8", errors))


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """All that is in the file.

    :raises OSError: as ``read_text``.
    """
    with _opened(path) as file:
        size = min(os.fstat(file.fileno()).st_size, limit_bytes)
        content = file.read(size + 1)
        if len(content) > size:  # it grows, or has no size, as in /proc
            content += file.read(limit_bytes - size)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes:,} bytes", str(path))
    return content


def read_end(path: Path, limit_bytes: int) -> str:
    """The last whole lines of a file, of ``limit_bytes`` at most; what is no UTF-8 is replaced.

    :raises OSError: it cannot be read, or is no regular file.
    """
    with _opened(path) as file:
        begin = max(0, os.fstat(file.fileno()).st_size - limit_bytes)
        file.seek(begin)
        content = file.read(limit_bytes)
    text = _one_kind_of_line_end(content.decode("utf-8", "replace"))
    return text.partition("\n")[2] if begin else text


def _opened(path: Path) -> BinaryIO:
    # Opening a pipe would wait for its writer.
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
    """What is made meanwhile only its owner may read, also by programs that are started."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def written_beside(path: pathlib.Path, mode: int = 0o600, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when the block ends; a reader sees the old file or the new one, no part.

    What a killed writer leaves has a hidden name that ends in ``.part``.

    :param mode: the file's permissions.
    :param lasting: wait until a power cut cannot undo it; a busy disk may take seconds.

    :raises InputError: the file cannot be written; nothing is left behind, which is so after any other error, too.
    """
    part = None
    try:
        if _is_no_file(path):  # Root would replace /dev/null for everybody.
            with open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as stream:
                yield stream
            return
        # An unforeseeable name: neither a left-over nor a link is in the way.
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        with open(handle, "wb") as file:
            yield file
            os.fchmod(handle, mode)
            file.flush()
            if lasting:  # Else the new name may survive a power cut and what it names may not.
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
    """Whether the path is a device or a pipe, or one of /dev/stdout and its kind, which are links."""
    return path.exists() and (not path.is_file() or (path.is_symlink() and path.parent == pathlib.Path("/dev")))


def write_atomically(path: pathlib.Path, text: str, mode: int = 0o600, *, lasting: bool = True) -> None:
    """Write ``text`` as UTF-8 to ``path``, all of it or nothing; ``mode`` and ``lasting`` as above.

    :raises InputError: the file cannot be written; nothing is left behind.
    """
    with written_beside(path, mode, lasting=lasting) as file:
        file.write(text.encode("utf-8"))


def sync_folder(folder: pathlib.Path) -> None:
    """Make new names in ``folder`` last, where its storage knows how; elsewhere the old file may come back, whole."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_tree(folder: pathlib.Path) -> None:
    """Make ``folder`` and all regular files below it last, those that another program wrote, too.

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
    """Make the folder ``path`` and those above it where there is none.

    :raises InputError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise InputError(f"cannot make {clean(str(path))}: {err.strerror}") from err
