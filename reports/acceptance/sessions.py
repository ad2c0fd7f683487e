"""ReFrame sessions: a dry run that lists what a site offers, and the run of one attempt."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from kappa.ground.clean_text import clean, one_line
from kappa.ground.errors import InputError
from kappa.ground.whole_files import sync_tree
from kappa.record.load import load_session
from kappa.record.model import Case
from kappa.sites.contract import Contract
from reports.acceptance.campaign import REPORT, Attempt
from reports.acceptance.series import Series

CHECKS = pathlib.Path(__file__).parents[2] / "reframe_checks"
# ReFrame cancels its jobs before it ends.
_PATIENCE_S = 120
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class Offer:
    """A case that the site offers; ``nodes`` is ``None`` when the scheduler decides.

    ``checks`` is all that ReFrame has to load to run it.
    """

    series: Series
    case: Case
    nodes: int | None
    time_limit_s: float | None
    checks: pathlib.Path


class StoppedError(Exception):
    """A signal asked to stop; the attempt under way is interrupted."""


def offers(site: pathlib.Path, contract: Contract) -> list[Offer]:
    """The cases of the suite that ReFrame finds on the site, by a dry run: nothing is submitted.

    Only those of the checks that the contract names, if no clause is after a family.

    :raises InputError: ReFrame cannot use the site's settings; with the last that it said.
    """
    with tempfile.TemporaryDirectory(prefix="kappa-plan-") as folder:
        scratch = pathlib.Path(folder)
        report, console = scratch / REPORT, scratch / "console.txt"
        # A dry run leaves its job scripts behind.
        command = _command(
            site, contract, CHECKS, "--dry-run", *_named(contract), f"--report-file={report}", f"--prefix={scratch}"
        )
        with console.open("wb") as said:
            subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd=scratch, check=False)
        if not report.exists():
            raise InputError(f"ReFrame cannot list the checks of {clean(str(site))}: {last_words(console)}")
        cases = [case for run in load_session(report).runs for case in run]
        entries = [entry for run in json.loads(report.read_text("utf-8"))["runs"] for entry in run["testcases"]]
    return [
        Offer(Series.of(case), case, _nodes(entry), entry.get("time_limit"), _needed(entry))
        for case, entry in zip(cases, entries, strict=True)
        if case.check_class is not None
    ]


def _named(contract: Contract) -> list[str]:
    checks = [clause.selector.check for clause in contract.clauses if clause.selector.check]
    if len(checks) < len(contract.clauses):
        return []
    return [f"--name=^({'|'.join(map(re.escape, sorted(set(checks))))})(%|$)"]


def _needed(entry: dict[str, Any]) -> pathlib.Path:
    # The census tells of the checks that were not loaded.
    return CHECKS if "census" in entry else pathlib.Path(entry["filename"])


def _nodes(entry: dict[str, Any]) -> int | None:
    tasks, per_node = entry.get("num_tasks"), entry.get("num_tasks_per_node")
    if not tasks or tasks < 0:
        return None
    return -(-tasks // per_node) if per_node else 1


def run_attempt(site: pathlib.Path, contract: Contract, checks: pathlib.Path, attempt: Attempt, lock: int) -> None:
    """Have ReFrame run one attempt into its folder; the child holds ``lock`` until it ends.

    :param checks: the file or folder to load; the whole suite takes ReFrame seconds.

    :raises StoppedError: a signal came; ReFrame was told to stop, and has cancelled its jobs.
    :raises InputError: ReFrame ended without a report; with the last that it said.
    :raises OSError: the storage could not keep what ReFrame wrote.
    """
    folder = attempt.folder.resolve()
    command = _command(
        site,
        contract,
        checks,
        "--run",
        f"--system={contract.system}:{attempt.series.partition}",
        *attempt.series.reframe_options,
        # A clause is held against every sample: none is measured again because it was out of bounds.
        "--setvar=hold_s=0",
        f"--report-file={folder / REPORT}",
        *(f"--{kind}={folder / kind}" for kind in ("output", "stage")),
        f"--perflogdir={folder / 'perflogs'}",
    )
    console = folder / "console.txt"
    with console.open("wb") as said:
        child = subprocess.Popen(
            command,
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            pass_fds=[lock],
            # So that Ctrl-C reaches this process alone, which passes it on once.
            start_new_session=True,
        )
        try:
            child.wait()
        finally:
            _end(child)
    if not (folder / REPORT).exists():
        raise InputError(f"ReFrame ran nothing for {attempt.series}: {last_words(console)}")
    # ReFrame leaves it to the kernel when its files are on the disk; what is said to be finished has to be there.
    sync_tree(folder)


def _end(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM, SIGINT and SIGHUP raise ``StoppedError`` once; later ones change nothing while ReFrame is ending."""

    def stop(number: int, _: FrameType | None) -> None:
        for each in _STOPPING:
            signal.signal(each, signal.SIG_IGN)
        raise StoppedError(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _command(site: pathlib.Path, contract: Contract, checks: pathlib.Path, *options: str) -> list[str]:
    reframe = pathlib.Path(sys.executable).with_name("reframe")
    mode = [f"--mode={contract.mode}"] if contract.mode else []
    settings = site.resolve() / "settings.py"
    system = [] if any(option.startswith("--system=") for option in options) else [f"--system={contract.system}"]
    return [str(reframe), "-C", str(settings), "-c", str(checks), "-R", *system, *mode, *options]


def last_words(console: pathlib.Path) -> str:
    """The last lines of what ReFrame printed that say anything."""
    with console.open("rb") as file:
        file.seek(max(0, console.stat().st_size - 8192))
        lines = [line for line in clean(file.read().decode("utf-8", "replace")).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return one_line("; ".join(errors[-3:] or lines[-3:]), 400) or "it printed nothing"
