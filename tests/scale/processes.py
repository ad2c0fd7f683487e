"""A command and what it takes."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Took:
    """Wall clock and CPU seconds, the latter with all processes that it waited for, and the largest one's memory."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    status: int


def took(command: Sequence[object], environment: Mapping[str, str], log: Path, folder: Path) -> Took:
    """Run ``command`` in ``folder``; what it prints goes to the end of ``log``."""
    with log.open("a") as said:
        said.write(f"$ {' '.join(map(str, command))}\n")
        said.flush()
        started = time.perf_counter()
        child = subprocess.Popen(
            [*map(str, command)], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - started
    return Took(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, child.returncode)
