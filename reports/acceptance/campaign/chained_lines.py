"""Files of JSON lines that are only appended, each with its number as ``id`` and the hash of the line before."""

import hashlib
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import opened, sync_folder, written_beside
from reports.acceptance.campaign.layout import RAW

NO_LINE = "0" * 64
LINE_LIMIT = 1 << 20


class LinkedLine(Protocol):
    """A line of a chain."""

    @property
    def id(self) -> str: ...

    @property
    def prev(self) -> str: ...


L = TypeVar("L", bound=LinkedLine)
T = TypeVar("T")


@dataclass
class LineChain:
    """Hold the number of lines and the hash of the last. ``torn``: bytes of a last line that was cut off."""

    lines: int = 0
    last_hash: str = NO_LINE
    torn: int = 0

    def add(self, text: bytes) -> None:
        self.lines, self.last_hash = self.lines + 1, hash_of(text)


def hash_of(text: bytes) -> str:
    """Return the SHA-256 of a line without its end."""
    return hashlib.sha256(text.removesuffix(b"\n")).hexdigest()


def read_lines(path: pathlib.Path, kind: type[L], chain: LineChain) -> Iterator[L]:
    """Yield each line, checked against the line before. ``chain`` counts it when the next one is read.

    :raises InputError: a line was changed, removed or moved, or is no ``kind``; names the line.
    """
    decoder = msgspec.json.Decoder(kind)
    for number, text in numbered_lines(path):
        if not text.endswith(b"\n"):
            chain.torn = len(text)
            return
        line = decoded(decoder, text, path, number)
        _require_chain(line, chain, path, number)
        yield line
        chain.add(text)


def numbered_lines(path: pathlib.Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and text of each line; the last one may be torn. A missing file has no line.

    :raises InputError: the file cannot be read, or a line is too long.
    """
    try:
        with opened(path) as file:
            for number, text in enumerate(iter(lambda: file.readline(LINE_LIMIT), b""), start=1):
                if len(text) == LINE_LIMIT and not text.endswith(b"\n"):
                    raise broken(path, number, f"longer than {LINE_LIMIT:,} bytes")
                yield number, text
    except FileNotFoundError:
        pass
    except OSError as err:
        raise InputError(f"cannot read {clean(str(path))}: {err.strerror}") from err


def broken(path: pathlib.Path, number: int, problem: str) -> InputError:
    return InputError(f"{clean(str(path))}: line {number}: {problem}")


def decoded(decoder: "msgspec.json.Decoder[T]", text: bytes, path: pathlib.Path, number: int) -> T:
    """:raises InputError: the text is no line of this kind."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as err:
        raise broken(path, number, f"no entry of this file: {one_line(clean(str(err)), 200)}") from err


def _require_chain(line: LinkedLine, chain: LineChain, path: pathlib.Path, number: int) -> None:
    if line.id != str(number):
        other = one_line(clean(line.id), 20)
        raise broken(path, number, f"expected the id {number}, found {other}: lines were removed, moved or added")
    if line.prev != chain.last_hash:
        raise broken(path, number - 1 or 1, f"it was changed after line {number} was written: its hash is another")


def append_lines(path: pathlib.Path, text: bytes) -> None:
    """Append whole lines, and wait until a power cut cannot undo it.

    :raises InputError: they cannot be written; a part of the last line may remain, which the next writer removes.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(handle, "ab") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        sync_folder(path.parent)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(path))}: {err.strerror}") from err


def cut_torn_line(path: pathlib.Path, chain: LineChain) -> None:
    """Cut off the part of a line that a killed writer left, and keep it in ``raw/``. No party knows its hash."""
    whole = path.stat().st_size - chain.torn
    with path.open("r+b") as file:
        file.seek(whole)
        torn = file.read()
        digest = hashlib.sha256(torn).hexdigest()[:8]
        keep_raw(path.parent, f"torn-{chain.lines + 1}-{digest}", torn.decode("utf-8", "replace"))
        file.truncate(whole)
        os.fsync(file.fileno())
    chain.torn = 0


def keep_raw(folder: pathlib.Path, name: str, text: str) -> str:
    """Keep a raw answer as ``raw/NAME.txt``. Return the path with its hash, as evidence: ``raw/NAME.txt=SHA256``.

    :raises InputError: it cannot be written.
    """
    content = text.encode("utf-8")
    (folder / RAW).mkdir(mode=0o700, parents=True, exist_ok=True)
    with written_beside(folder / RAW / f"{name}.txt") as file:
        file.write(content)
    return f"{RAW}/{name}.txt={hashlib.sha256(content).hexdigest()}"
