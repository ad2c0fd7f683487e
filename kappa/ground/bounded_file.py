"""Reading a file of which only the path is trusted: never more than a limit, never a device, never without end."""

import errno
import os
import stat
from pathlib import Path


def read_text(path: Path, limit_bytes: int, errors: str = "strict") -> str:
    """The file's text, which is UTF-8; ``errors`` as in ``open``.

    :raises OSError: it cannot be read, is no regular file (a pipe would never end), or is larger than
        ``limit_bytes``; ``strerror`` says which.
    :raises UnicodeDecodeError: it is not UTF-8.
    """
    # Opening a pipe would wait for its writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        size = min(os.fstat(handle).st_size, limit_bytes)
        content = file.read(size + 1)
        if len(content) > size:  # it grows, or has no size, as in /proc
            content += file.read(limit_bytes - size)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes:,} bytes", str(path))
    # As text files are read elsewhere: one kind of line end.
    text = content.decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
