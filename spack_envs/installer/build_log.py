"""From Spack's output to the one line that says why a package failed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kappa.ground.clean_text import clean, one_line

_FAILED = re.compile(r"^==> Error: (?P<package>[\w-]+?)-(?P<version>[^-\s]+)-[a-z0-9]{32}: (?P<why>.*)")
_LOG = re.compile(r"/\S*/spack-stage-(?P<package>[\w-]+?)-(?P<version>[^-\s/]+)-[a-z0-9]{32}/spack-build-out\.txt")
_ERROR = re.compile(r"\b(fatal )?error\b|undefined reference|command not found|No such file or directory|\*\*\*", re.I)
# Names of flags and files, and lines that only repeat what the compiler said.
_HARMLESS = re.compile(r"-W(no-)?error|error\.(o|c|f|f90|h)\b|checking for|0 errors|\bno error")

#: Characters of a line that are shown; the log has all of them.
SHOWN = 300
_PIECE = 2**16


@dataclass(frozen=True)
class Failure:
    package: str
    reason: str
    log: str = ""


def failures(output: str) -> list[Failure]:
    """The packages that ``spack install`` says it could not install, each with the first error of its build log.

    With one failed package Spack does not name it in its last line, only in the path of its log.
    """
    logs = {match["package"]: match for match in _LOG.finditer(output)}
    named: dict[str, re.Match[str]] = {}
    for match in filter(None, map(_FAILED.match, output.splitlines())):
        named.setdefault(match["package"], match)
    found = []
    for package in dict.fromkeys([*named, *logs]):
        log = logs[package][0] if package in logs else ""
        version = (named.get(package) or logs[package])["version"]
        reason = first_error(Path(log)) if log and Path(log).is_file() else ""
        said = named[package]["why"] if package in named else "see its log"
        found.append(Failure(f"{package}@{version}", reason or one_line(said, SHOWN), log))
    return found


def pieces(file: IO[str]) -> Iterator[str]:
    """Its lines, one without end in pieces."""
    while piece := file.readline(_PIECE):
        yield piece


def first_error(log: Path) -> str:
    """The first line that reads like an error, without escape codes, cut to ``SHOWN``; empty when there is none."""
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in pieces(file):
            plain = clean(line)
            if _ERROR.search(plain) and not _HARMLESS.search(plain):
                return one_line(plain, SHOWN)
    return ""
