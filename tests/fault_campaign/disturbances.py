"""Disturb the campaign's cluster during a validation by something that is no node's fault.

The suite must name no node, lose no measurement, end with a message that names the cause, and run the next time.
"""

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.processes import end
from kappa.core.record.journal import journal_of
from kappa.core.vocabulary.check_pages import as_markdown
from tests.fault_campaign.beside import MIB
from tests.fault_campaign.cluster import SITE, Cluster
from tests.fault_campaign.faults import SOURCES
from tests.fault_campaign.outcomes import NO_VERDICT, read_verdict
from tests.fault_campaign.rounds import ENDING_SECONDS, KAPPA, MODE, PARTITION, ROUND_SECONDS, judge

CHECKS = ("PartitionState", "PartitionHealth", "NodeSweep", "NodeScratch", "PairSweep")
SHORT = ("PartitionState",)
DISK_MIB = 256
CONTROLLER_STOPPED_S = 20
DAY_S = 86_400
# The host keeps so much: what else runs on it must not be ended for want of memory.
LEFT_MIB = 4096
_MESSAGE_CHARS = 300
_HEADLINE = re.compile(r"^│ \S (PASS|FAIL|INCOMPLETE)\b", re.MULTILINE)
_ERROR = re.compile(r"^kappa: error: |: Kappa judges the finished cases$|^\S+: kappa was killed: ")
_EATER = """\
import pathlib, sys, time
pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
held = bytearray(int(sys.argv[1]) << 20)
held[::4096] = bytes(len(held[::4096])).replace(b"\\0", b"x")
print("eaten", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class RunningValidation:
    """A validation while it runs; ``environment`` extends the environment of the cluster."""

    cluster: Cluster
    environment: dict[str, str]
    results: pathlib.Path
    process: "subprocess.Popen[str]"

    def goes_on_until(self, condition: Callable[[], object]) -> bool:
        """Wait for ``condition``. Return whether it came before the validation ended."""
        while self.process.poll() is None:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def cases_ended(self) -> int:
        """Return how many cases have ended, by the journal of the run."""
        journals = self.results.glob(f"runs/*/{journal_of(pathlib.Path('run-report.json')).name}")
        return sum(text.count('"case": ') for text in map(_text, journals))


def _text(path: pathlib.Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


# Made before the cluster is up, so that its nodes see it; yields variables to add to the validation's environment.
Before = Callable[[Cluster], AbstractContextManager[dict[str, str]]]
# Called in a thread of its own while the validation runs; returns what it did.
During = Callable[[RunningValidation], str]


@dataclass(frozen=True)
class Disturbance:
    name: str
    what: str
    before: Before
    during: During


# ---- before the cluster is up --------------------------------------------------------------------------------------


@contextlib.contextmanager
def nothing(_: Cluster) -> Iterator[dict[str, str]]:
    yield {}


@contextlib.contextmanager
def _disk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}M,mode=1777", "kappa-disk", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


@contextlib.contextmanager
def results_disk(cluster: Cluster) -> Iterator[dict[str, str]]:
    with _disk(cluster.state.with_name("results-disk")) as folder:
        yield {"KAPPA_RESULTS": str(folder)}


@contextlib.contextmanager
def full_results_disk(cluster: Cluster) -> Iterator[dict[str, str]]:
    with results_disk(cluster) as environment:
        _fill(pathlib.Path(environment["KAPPA_RESULTS"]), 1)
        yield environment


@contextlib.contextmanager
def full_shared(cluster: Cluster) -> Iterator[dict[str, str]]:
    with _disk(cluster.state / "shared") as folder:
        _fill(folder, 0)
        yield {}


def _fill(folder: pathlib.Path, left_mib: int) -> None:
    """Fill the disk, on which others may write meanwhile."""
    with (folder / "filled").open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(MIB)):
                pass
        file.truncate(max(0, file.tell() - left_mib * MIB))


def clock(offset_s: int) -> Before:
    @contextlib.contextmanager
    def before(cluster: Cluster) -> Iterator[dict[str, str]]:
        library = cluster.state.with_name(f"clock{offset_s:+}.so")
        library.parent.mkdir(parents=True, exist_ok=True)
        define = f"-DOFFSET_NS={offset_s}000000000LL"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", define, "-o", library, SOURCES / "wrong_clock.c"], check=True)
        yield {"LD_PRELOAD": str(library)}

    return before


# ---- while the validation runs -------------------------------------------------------------------------------------


def wait(run: RunningValidation) -> str:
    run.process.wait()
    return ""


def eat_memory(run: RunningValidation) -> str:
    available = re.search(r"MemAvailable: +(\d+) kB", _text(pathlib.Path("/proc/meminfo")))
    mib = max(0, int(available[1]) // 1024 - LEFT_MIB) if available else 0
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _EATER, str(mib)], stdin=pipe, stdout=pipe) as eater:
        run.process.wait()
        eater.kill()
    return f"{mib} MiB"


def stop_controller(run: RunningValidation) -> str:
    if not run.goes_on_until(lambda: run.cases_ended() > 0):
        return "too late"
    pids = run.cluster.pids("login", "slurmctld")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(CONTROLLER_STOPPED_S)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    return f"{CONTROLLER_STOPPED_S} s"


def second_validation(run: RunningValidation) -> str:
    if not run.goes_on_until(lambda: run.cases_ended() > 0):
        return "too late"
    second = _validate(run.cluster, run.environment, SHORT, subprocess.PIPE)
    said, _ = second.communicate()
    return f"the other ended with {second.returncode}: {message(said)}"


def fill_results(run: RunningValidation) -> str:
    if not run.goes_on_until(lambda: run.cases_ended() > 0):
        return "too late"
    _fill(run.results, 0)
    ended = run.cases_ended()
    run.process.wait()
    (run.results / "filled").unlink(missing_ok=True)
    return f"when {ended} cases had ended"


_ALL = (
    Disturbance("nothing", "for comparison", nothing, wait),
    Disturbance("memory eaten", f"all memory of the host but {LEFT_MIB} MiB is taken", nothing, eat_memory),
    Disturbance("shared full", "no byte is free on `/shared`, which all nodes mount", full_shared, wait),
    Disturbance("controller stopped", f"slurmctld is stopped for {CONTROLLER_STOPPED_S} s", nothing, stop_controller),
    Disturbance("clock ahead", "the login node's clock is 300 s ahead", clock(300), wait),
    Disturbance("clock behind", "the login node's clock is one day behind", clock(-DAY_S), wait),
    Disturbance("two validations", "another validation of the same site starts", nothing, second_validation),
    Disturbance("results full", "1 MiB is free for results from the start", full_results_disk, wait),
    Disturbance("results fill", "the disk of the results becomes full during the run", results_disk, fill_results),
)
DISTURBANCES = {one.name: one for one in _ALL}


@dataclass(frozen=True)
class Disturbed:
    """The result of a disturbed validation.

    ``status``: ``None`` if it did not end. ``named``: nodes that it named. ``cases``: those with a figure in its
    report. ``next_verdict``: verdict of the next validation, of one check; ``none`` if it did not run.
    """

    disturbance: Disturbance
    detail: str
    status: int | None
    verdict: str
    named: tuple[str, ...]
    cases: int
    seconds: float
    message: str
    next_verdict: str


def disturb(cluster: Cluster, chosen: Sequence[str], say: Callable[[str], object]) -> list[Disturbed]:
    """Do each disturbance in turn, on a cluster that is started anew.

    :raises CampaignError: the cluster does not start.
    """
    found = []
    for name in chosen:
        cluster.end()
        shutil.rmtree(cluster.results, ignore_errors=True)
        cluster.results.mkdir(parents=True)
        found.append(one := _disturbed(cluster, DISTURBANCES[name]))
        say(f"{name}: {one.verdict}, status {one.status}, {one.seconds:.0f} s, next {one.next_verdict}")
    return found


def _disturbed(cluster: Cluster, disturbance: Disturbance) -> Disturbed:
    details: list[str] = []
    log = cluster.state.with_name("disturbed.log")
    with disturbance.before(cluster) as environment:
        try:
            cluster.make_healthy()
            results = pathlib.Path(environment.get("KAPPA_RESULTS", cluster.results))
            began = time.monotonic()
            with log.open("w", encoding="utf-8") as said:
                process = _validate(cluster, environment, CHECKS, said)
                run = RunningValidation(cluster, environment, results, process)
                doing = threading.Thread(target=lambda: details.append(disturbance.during(run)))
                doing.start()
                try:
                    status: int | None = process.wait(ROUND_SECONDS)
                except subprocess.TimeoutExpired:
                    status = None
                seconds = time.monotonic() - began
                end(process, ENDING_SECONDS)
                doing.join()
            reports = sorted(results.glob("runs/*/run-report.json"))
            verdict = judge(cluster, reports[0]) if reports else None
            # For the next one the cause is gone, as when somebody has mended it.
            (results / "filled").unlink(missing_ok=True)
            after, told = _validate(cluster, {"KAPPA_RESULTS": str(results)}, SHORT, subprocess.PIPE).communicate()
            read = read_verdict(verdict)
            measured = [case for case in verdict["cases"] if _has_figures(case)] if verdict else []
            return Disturbed(
                disturbance, ", ".join(details), status, str(read["verdict"]), (*read["suspects"], *read["observed"]),
                len(measured), seconds, message(_text(log)), verdict_in(f"{after}{told or ''}"),
            )  # fmt: skip
        finally:
            cluster.end()


def _has_figures(case: dict[str, Any]) -> bool:
    return any(metric["value"] is not None for metric in case["metrics"])


def _validate(
    cluster: Cluster, environment: dict[str, str], checks: Sequence[str], said: IO[str] | int
) -> "subprocess.Popen[str]":
    select = [option for check in checks for option in ("-n", check)]
    return subprocess.Popen(
        [str(KAPPA), "validate", SITE, MODE, f"--system={SITE}:{PARTITION}", *select],
        env={**cluster.environment(), **environment}, stdout=said, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def verdict_in(said: str) -> str:
    """Return the last verdict that `kappa validate` printed."""
    found = _HEADLINE.findall(said)
    return str(found[-1]) if found else NO_VERDICT


def message(said: str) -> str:
    """Return why the validation ended as it did: its errors, or otherwise its failures and reasons.

    Leave out the reason that every disturbed validation has: it runs only a part of the mode.
    """
    lines = clean(said).splitlines()
    errors = [line for line in lines if _ERROR.search(line)]
    pairs = itertools.pairwise([*lines, ""])
    reasons = [f"{line} {after.strip()}" for line, after in pairs if line.startswith(("◌", "✘"))]
    reasons = [line for line in sorted(reasons, reverse=True) if not line.startswith("◌ only a part of mode ")]
    return one_line("; ".join(errors or reasons), _MESSAGE_CHARS)


def render(found: Sequence[Disturbed]) -> str:
    """Return the disturbances as a Markdown table."""
    rows = [("disturbance", "action", "status", "verdict", "named", "cases with figures", "seconds", "message",
             "next validation")]  # fmt: skip
    for one in found:
        what = ", ".join(filter(None, (one.disturbance.what, one.detail)))
        status = "did not end" if one.status is None else str(one.status)
        named = ", ".join(one.named) or "no node"
        rows.append((one.disturbance.name, what, status, one.verdict, named, str(one.cases), f"{one.seconds:.0f}",
                     one.message, one.next_verdict))  # fmt: skip
    return as_markdown(rows)
