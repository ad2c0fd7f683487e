"""From Spack's output to the one line that says why a package failed."""

import re
from dataclasses import dataclass
from pathlib import Path

_FAILED = re.compile(r"^==> Error: (?P<package>[\w-]+?)-(?P<version>[^-\s]+)-[a-z0-9]{32}: (?P<why>.*)")
_LOG = re.compile(r"(?P<path>/\S*(?:spack-build-out\.txt|spack-build-[a-z0-9]+-out\.txt))")
_ERROR = re.compile(r"\b(fatal )?error\b|undefined reference|command not found|No such file or directory|\*\*\*", re.I)
# Names of flags and files, and lines that only repeat what the compiler said.
_HARMLESS = re.compile(r"-W(no-)?error|error\.(o|c|f|f90|h)\b|checking for|0 errors|\bno error")


@dataclass(frozen=True)
class Failure:
    package: str
    reason: str
    log: str = ""


def failures(output: str) -> list[Failure]:
    """The packages that ``spack install`` says it could not install, each with the first error of its build log."""
    found: dict[str, Failure] = {}
    for match in map(_FAILED.match, output.splitlines()):
        if match is None:
            continue
        package = f"{match['package']}@{match['version']}"
        log = _log_of(output, match["package"])
        reason = (first_error(log) if log else "") or match["why"]
        found.setdefault(match["package"], Failure(package, reason, str(log or "")))
    return list(found.values())


def _log_of(output: str, package: str) -> Path | None:
    for match in _LOG.finditer(output):
        path = Path(match["path"])
        if package in match["path"] and path.is_file():
            return path
    return None


def first_error(log: Path) -> str:
    """The first line that reads like an error, without the colour codes of compilers; empty when there is none."""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", line).strip()
        if _ERROR.search(plain) and not _HARMLESS.search(plain):
            return plain[:300]
    return ""
