"""The commands that a page tells people to type, in its order."""

import re
from collections.abc import Iterator

_PROGRAMS = ("kappa", "make", "reframe", "mpirun", "cmake", "ctest", "build/emt", "python3", ".")
_COMMENT = re.compile(r"\s{2,}#.*|\s+# .*")
# Placeholders that a reader replaces.
_STANDS_FOR = {
    "SITE": "embedded",
    "NAME": "embedded",
    "DIR": "results/embedded/acceptance",
    "RUN": '"$(ls -td results/embedded/runs/* | head -n 1)"',
    "NODE": "node2",
}


def commands(text: str) -> list[str]:
    """Those in the fenced blocks of a Markdown page, without comments, with a value for each placeholder."""
    lines = list(_fenced(text))
    found = [_COMMENT.sub("", line).strip() for line in lines if line.split(" ", 1)[0] in _PROGRAMS]
    return [re.sub(rf"\b({'|'.join(_STANDS_FOR)})\b", lambda hit: _STANDS_FOR[hit[1]], line) for line in found]


def _fenced(text: str) -> Iterator[str]:
    """The lines of the blocks that name no language."""
    inside: str | None = None
    for line in text.splitlines():
        if line.startswith("```"):
            inside = None if inside is not None else line[3:]
        elif inside == "":
            yield line
