"""Find the lines in Spack's output and a package's build log that say why it failed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from kappa.core.ground.clean_text import clean, one_line

# A version with hyphens begins with a digit.
_SPEC = r"(?P<package>[\w-]+?)-(?P<version>\d[^\s/]*|[^-\s/]+)-[a-z0-9]{32}"
_INSTALLING = re.compile(rf"==> Installing {_SPEC}")
_SAID = re.compile(rf"==> Error: (?:{_SPEC}: )?(?P<what>.*)")
# An error of a mirror. The reason is on the next line.
_NOT_MIRRORED = re.compile(r"==> Warning: Error while fetching (?P<package>\S+)")
# Another message, or an installed package.
_NEXT = re.compile(r"==>|\[\S\] |$")
_INSTALLED = re.compile(r"\[\+\] ")
_LOG = re.compile(rf"/\S*/spack-stage-{_SPEC}/spack-build-out\.txt")
_ERROR = re.compile(r"\b(fatal )?error\b|undefined reference|command not found|No such file or directory|\*\*\*", re.I)
# Names of flags and files, and lines that only repeat the compiler's messages.
_HARMLESS = re.compile(r"-W(no-)?error|error\.(o|c|f|f90|h)\b|checking for|0 errors|\bno error")
# These say more than the errors that follow from them.
_STORAGE = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")
# The address of a source, the error's class, the address again, and the reason.
_ADDRESS = re.compile(r"\s*(?P<url>\w+://\S+): \w+: (?:GET \S+ errored with: )?(?P<why>.*)")
_STAGE = re.compile(r" for spack-stage-\S+")
# Repeated messages, and messages on packages that were not installed because another failed.
_CONSEQUENCE = ("Package was not installed", "Installation request failed", "Failed downloads")

#: Number of characters of a line that are shown. The log has the whole line.
SHOWN = 300
_MORE_LINES = 8
_PIECE = 2**16


@dataclass(frozen=True)
class Failure:
    """A failure. ``package``: empty if Spack names none. ``more``: lines of Spack that belong to the ``reason``."""

    package: str
    reason: str
    more: tuple[str, ...] = ()
    log: str = ""


def failures(output: str) -> list[Failure]:
    """Return the failures in the output of ``spack concretize``, ``install`` or ``mirror create``.

    If a build command failed, the reason is the first error in the package's build log. A package that was left out
    because another failed is in the list only if there is nothing else.
    """
    logs = {f"{match['package']}@{match['version']}": match[0] for match in _LOG.finditer(output)}
    found: dict[str, Failure] = {}
    for failure in _said(output):
        if failure.package not in found or _is_consequence(found[failure.package]):
            found[failure.package] = failure
    causes = [failure for failure in found.values() if not _is_consequence(failure)]
    return [_with_log(failure, logs.get(failure.package, "")) for failure in causes or found.values()]


def _said(output: str) -> Iterator[Failure]:
    """Yield each error with the lines after it, for the package that is named or being installed."""
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
    """Yield the lines up to the next message; of several lines about one address, only the first."""
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
    """Yield the lines of a file. A very long line comes in pieces."""
    while piece := file.readline(_PIECE):
        yield piece


def first_error(log: Path) -> str:
    """Return the first line about full or unwritable storage, else the first that looks like an error.

    The line has no escape codes and at most ``SHOWN`` characters. It is empty if there is none.
    """
    first = ""
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in pieces(file):
            plain = clean(line)
            if _STORAGE.search(plain):
                return one_line(plain, SHOWN)
            if not first and _ERROR.search(plain) and not _HARMLESS.search(plain):
                first = one_line(plain, SHOWN)
    return first
