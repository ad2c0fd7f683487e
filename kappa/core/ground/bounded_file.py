"""Reading a file of which only the path is trusted: never more than a limit, never a device, never without end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


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
