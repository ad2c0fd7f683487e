"""A command and what it takes; the commands that make reports of a run."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SITE = REPOSITORY / "site_configs/embedded"
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Took:
    """Wall clock and CPU seconds, the latter with all processes that it waited for, and the largest one's memory."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    status: int


def took(command: Sequence[object], environment: Mapping[str, str], folder: Path, log: Path | None = None) -> Took:
    """Run ``command`` in ``folder``; what it prints goes to the end of ``log``, without one only errors are seen."""
    with (log or Path(os.devnull)).open("a") as said:
        said.write(f"$ {' '.join(map(str, command))}\n")
        said.flush()
        started = time.perf_counter()
        child = subprocess.Popen(
            [*map(str, command)], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=said,
            stderr=said if log else None,
        )  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - started
    return Took(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, child.returncode)


def reports_took(report: Path, page: Path, environment: Mapping[str, str], folder: Path, log: Path) -> dict[str, Took]:
    """Return the cost of the verdict on a report of the embedded site, of its page and of the site's history.

    :raises RuntimeError: one of them could not be done; it says why.
    """
    commands: dict[str, tuple[object, ...]] = {
        "verdict": ("show", report, "--site", SITE),
        "html": ("show", "--format=page", report, "--site", SITE, "-o", page),
        "ingest": ("history", "embedded", "--add"),
        "history": ("history", "embedded"),
    }
    # The site expects more families than the report has, and one run is too little for the history to judge.
    judges = {"verdict": (0, 1, 2), "history": (0, 2)}
    steps = {}
    for name, words in commands.items():
        steps[name] = took([BIN / "kappa", *words], environment, folder, log)
        if steps[name].status not in judges.get(name, (0,)):
            raise RuntimeError(f"kappa {name} ended with {steps[name].status}: {log.read_text()[-3000:]}")
    return steps
