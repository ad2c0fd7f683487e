"""A step of an installation that Spack does: shown, kept in a log, and when it fails with the reason."""

import subprocess
import time
from pathlib import Path

from kappa.core.ground.clean_text import one_line
from spack_envs.installer import build_log
from spack_envs.installer.spack import InstallError, Spack

# Failures that are shown; Spack's output has all of them.
_MOST = 5


def step(spack: Spack, what: str, *arguments: str) -> None:
    """Have Spack do it, and say how long it took.

    :raises InstallError: it failed, with the reason.
    """
    name, log = spack.environment.name, spack.environment.folder / "install.log"
    started = time.monotonic()
    print(f"{name}: {what}", flush=True)
    try:
        spack.run(*arguments, log=log)
    except subprocess.CalledProcessError as err:
        raise InstallError(_why(what, err.output, log)) from None
    print(f"{name}: {what} took {time.monotonic() - started:.0f} s", flush=True)


def _why(step: str, output: str, log: Path) -> str:
    failed = build_log.failures(output)
    lines = [line for failure in failed[:_MOST] for line in _told(failure)]
    if failed[_MOST:]:
        lines.append(f"  and {len(failed) - _MOST} more")
    if not lines:
        said = [line for line in output.splitlines() if line.strip()]
        lines = [f"  {one_line(line, build_log.SHOWN)}" for line in said[-3:]]
    if "clingo" in output and step == "solving":
        lines.append("  Spack's solver: `pip install clingo` in some Python, and name that Python in SPACK_PYTHON")
    return "\n".join([f"{step} failed (Spack's output: {log})", *lines])


def _told(failure: build_log.Failure) -> list[str]:
    reason = f"{failure.package}: {failure.reason}" if failure.package else failure.reason
    return [
        f"  {reason}",
        *(f"    {line}" for line in failure.more),
        *([f"    log: {failure.log}"] if failure.log else []),
    ]
