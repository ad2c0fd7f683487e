"""From Spack's output and a package's build log to the lines that say why it failed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from kappa.core.ground.clean_text import clean, one_line

# A version may hold hyphens, and then begins with a digit.
_SPEC = r"(?P<package>[\w-]+?)-(?P<version>\d[^\s/]*|[^-\s/]+)-[a-z0-9]{32}"
_INSTALLING = re.compile(rf"==> Installing {_SPEC}")
_SAID = re.compile(rf"==> Error: (?:{_SPEC}: )?(?P<what>.*)")
# Of a mirror: the reason is on the next line.
_NOT_MIRRORED = re.compile(r"==> Warning: Error while fetching (?P<package>\S+)")
# Another message, or a package that is there.
_NEXT = re.compile(r"==>|\[\S\] |$")
_INSTALLED = re.compile(r"\[\+\] ")
_LOG = re.compile(rf"/\S*/spack-stage-{_SPEC}/spack-build-out\.txt")
_ERROR = re.compile(r"\b(fatal )?error\b|undefined reference|command not found|No such file or directory|\*\*\*", re.I)
# Names of flags and files, and lines that only repeat what the compiler said.
_HARMLESS = re.compile(r"-W(no-)?error|error\.(o|c|f|f90|h)\b|checking for|0 errors|\bno error")
# Says more than any error that comes of it.
_STORAGE = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")
# Where a source was looked for, the error's class, the address again, and why it is not there.
_ADDRESS = re.compile(r"\s*(?P<url>\w+://\S+): \w+: (?:GET \S+ errored with: )?(?P<why>.*)")
_STAGE = re.compile(r" for spack-stage-\S+")
# What is said once more, and of a package that another kept from being installed.
_CONSEQUENCE = ("Package was not installed", "Installation request failed", "Failed downloads")

#: Characters of a line that are shown; the log has all of them.
SHOWN = 300
_MORE_LINES = 8
_PIECE = 2**16


@dataclass(frozen=True)
class Failure:
    """``package``: empty where Spack names none; ``more``: lines of Spack that belong to the ``reason``."""

    package: str
    reason: str
    more: tuple[str, ...] = ()
    log: str = ""


def failures(output: str) -> list[Failure]:
    """What ``spack concretize``, ``install`` or ``mirror create`` says that failed, in its words.

    A command that failed is told by the first error of the package's build log. A package that was only left out,
    because another failed, is not in the list unless nothing else is.
    """
    logs = {f"{match['package']}@{match['version']}": match[0] for match in _LOG.finditer(output)}
    found: dict[str, Failure] = {}
    for failure in _said(output):
        if failure.package not in found or _is_consequence(found[failure.package]):
            found[failure.package] = failure
    causes = [failure for failure in found.values() if not _is_consequence(failure)]
    return [_with_log(failure, logs.get(failure.package, "")) for failure in causes or found.values()]


def _said(output: str) -> Iterator[Failure]:
    """Each error with the lines that follow it, of the package that is named or is being installed."""
    installing = ""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if match := _INSTALLING.match(line):
            installing = f"{match['package']}@{match['version']}"
        elif _INSTALLED.match(line):
            installing = ""
        elif match := _SAID.match(line):
            package = f"{match['package']}@{match['version']}" if match["package"] else installing
            yield _failure(package, match["what"], lines[number + 1 :])
        elif (match := _NOT_MIRRORED.match(line)) and lines[number + 1 :]:
            yield _failure(match["package"], lines[number + 1], lines[number + 2 :])


def _failure(package: str, reason: str, following: list[str]) -> Failure:
    return Failure(package, one_line(_STAGE.sub("", reason), SHOWN), tuple(_following(following)))


def _following(lines: list[str]) -> Iterator[str]:
    """The lines up to another message; of those about one address, the first."""
    asked = set()
    for line in lines[:_MORE_LINES]:
        if _NEXT.match(line):
            return
        address = _ADDRESS.match(line)
        if address and address["url"] in asked:
            continue
        asked.add(address["url"] if address else "")
        yield one_line(f"{address['url']}: {address['why']}" if address else line, SHOWN)


def _is_consequence(failure: Failure) -> bool:
    return failure.reason.startswith(_CONSEQUENCE)


def _with_log(failure: Failure, log: str) -> Failure:
    error = first_error(Path(log)) if failure.reason.startswith("ProcessError") and log and Path(log).is_file() else ""
    return replace(failure, reason=error, more=(), log=log) if error else replace(failure, log=log)


def pieces(file: IO[str]) -> Iterator[str]:
    """Its lines, one without end in pieces."""
    while piece := file.readline(_PIECE):
        yield piece


def first_error(log: Path) -> str:
    """The first line that tells of full or unwritable storage, else the first that reads like an error; without escape
    codes, cut to ``SHOWN``; empty when there is none."""
    first = ""
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in pieces(file):
            plain = clean(line)
            if _STORAGE.search(plain):
                return one_line(plain, SHOWN)
            if not first and _ERROR.search(plain) and not _HARMLESS.search(plain):
                first = one_line(plain, SHOWN)
    return first
