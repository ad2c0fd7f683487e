"""Run ReFrame sessions with a site's settings, end them on request, and keep their reports complete.

While a session runs, progress lines appear on standard error. Afterwards Kappa asks Slurm once for the seconds, nodes
and energy of all jobs. Some of ReFrame's options also apply to re-measurements.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from kappa.app.conduct.leftovers import Found, NoReportError, note_cut, settle
from kappa.app.conduct.node_commands import NodeCommands
from kappa.app.conduct.results_disk import RoomForReport
from kappa.app.survey.slurm import CONFIG, parse_config
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import duration
from kappa.core.ground.folders import HOME_VARIABLE, SUITE, home
from kappa.core.ground.processes import Stop, StoppedError, Tell, end_with_parent, silent, wait
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.journal import VARIABLE, journal_of, part_of
from kappa.core.record.model import REMAINING_NODES, SAME_NODES
from kappa.core.record.runs import OUTPUT, PRINTED, STAGE, raw_folder
from kappa.core.sites.load import Site

CHECKS = SUITE / "reframe_checks"
# Longest time for which a job waits for a quieter machine, if nodes share one machine; in seconds.
QUIET_WAIT_S = 20
_VARIABLE, _JOB = ("-S", "--setvar"), ("-J", "--job-option")
_TAKEN, _AVOIDED = ("nodelist=", "w="), ("exclude=", "x=")
# ReFrame counts the finished cases: `[       OK ] ( 3/76) Hpl …`.
_ENDED = re.compile(rb"^\[ +[A-Z]+ \] \( *(\d+)/(\d+)\)", re.MULTILINE)
ANSWER_S = 30.0
_ROW = re.compile(r"([0-9]{1,20})\|([0-9]{1,9})\|([0-9]{1,6})\|([0-9]{0,20})")
# A number with more digits means that no energy was measured.
_MOST_DIGITS = 18


@dataclasses.dataclass(frozen=True)
class Conductor:
    """Run sessions one after the other, until there is a reason to ``stop``.

    ``locks``: file descriptors that ReFrame inherits, so that it holds the locks until it ends, even if this process
    dies. ``said``: the stream of ``say`` (default: standard output). ``patience_s``: seconds for ReFrame to cancel its
    jobs.
    """

    stop: Stop
    locks: Sequence[int] = ()
    said: IO[str] | None = None
    patience_s: float = 120.0

    def say(self, line: str) -> None:
        print(clean(line), file=self.said or sys.stdout, flush=True)


@dataclasses.dataclass(frozen=True)
class ReframeSession:
    """One ReFrame session. ``options`` are ReFrame's, ``checks`` is what it loads, ``folder`` is where it runs.

    The raw output and ReFrame's output (``printed``) are beside the report (``raw_folder``), in a folder of this
    session only.
    """

    site: Site
    report: pathlib.Path
    options: Sequence[str]
    checks: pathlib.Path = CHECKS
    folder: pathlib.Path = dataclasses.field(default_factory=home)
    tell: Tell = silent
    """Called every few seconds with the elapsed seconds, for progress lines."""

    @property
    def printed(self) -> pathlib.Path:
        return raw_folder(self.report) / PRINTED

    def run(self, conductor: Conductor) -> None:
        """Run the session. Judge its report afterwards: ReFrame's exit status ignores checks that did not run.

        :raises NoReportError: ReFrame left no complete report. The message names the kept files, or ends with ReFrame's
            last lines. An incomplete report stays as ``REPORT.part``.
        :raises StoppedError: there was a reason to stop. ReFrame has cancelled its jobs; a complete report is kept.
        :raises InputError: ReFrame is not installed, or the disk has no space for its report.
        :raises OSError: the storage could not keep the report.
        """
        conductor.stop.check()
        part, journal = part_of(self.report), journal_of(self.report)
        raw = raw_folder(self.report).resolve()
        settings = (self.site.folder / "settings.py").resolve()
        command = [
            str(reframe()), "-C", str(settings), "-c", str(self.checks), "-R", "--nocolor",
            f"--stage={raw / STAGE}", f"--output={raw / OUTPUT}", *self.options,
        ]  # fmt: skip
        make_folder(self.folder)
        make_folder(raw)
        stop = RoomForReport(conductor.stop, raw)
        journal.write_bytes(b"")
        with self.printed.open("wb") as printed:
            child = subprocess.Popen(
                [*command, f"--report-file={part}"], stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                cwd=self.folder, pass_fds=conductor.locks,
                env={**os.environ, HOME_VARIABLE: str(home()), VARIABLE: str(journal.resolve())},
                preexec_fn=end_with_parent,  # noqa: PLW1509 (no thread runs here)
                # So that Ctrl-C reaches only this process, which passes it on once.
                start_new_session=True,
            )  # fmt: skip
        stopped = ""
        try:
            wait(child, stop, conductor.patience_s, self.tell)
        except StoppedError as err:
            stopped = str(err)
        finally:
            stop.give_back()
        try:
            self._settle(stop, child.returncode)
        except NoReportError as err:
            if stopped:
                # One message, which names the kept files.
                raise StoppedError(str(err) if str(err).startswith(stopped) else stopped) from None
            raise
        if stopped:
            raise StoppedError(stopped)
        add_accounting(self.report, self.site)

    def _settle(self, stop: RoomForReport, status: int | None) -> None:
        """Keep the report, or make one of the finished cases. Cancel the session's jobs. Errors as in ``run``."""
        why = f"ReFrame was ended by {signal.Signals(-status).name}" if status and status < 0 else "ReFrame ended early"
        settled = settle(self.report, self.site, stop.why or why)
        if stop.full_since is not None and settled.report is not Found.NOTHING:
            note_cut(self.report, stop.why, stop.full_since)
        if settled.report is Found.CASES:
            raise NoReportError(f"{stop.why or why}, without a report: {settled.said}")
        if settled.report is Found.NOTHING:
            part = part_of(self.report)
            if part.exists():
                left = f"it is in {clean(str(part))}; is the disk full?"
                raise NoReportError(f"ReFrame's report is not complete: {left}")
            raise NoReportError(f"ReFrame wrote no report: {last_words(self.printed)}")


def reframe() -> pathlib.Path:
    """Return the ReFrame program of this Python environment.

    :raises InputError: it is not installed.
    """
    program = pathlib.Path(sys.executable).with_name("reframe")
    if not program.exists():
        raise InputError(
            f"there is no {program}: run `make setup` on Debian, else"
            " `python3 -m venv .venv && .venv/bin/pip install -e .`"
        )
    return program


def last_words(printed: pathlib.Path) -> str:
    """Return the last errors that ReFrame printed, or its last lines if there are no errors."""
    with printed.open("rb") as file:
        file.seek(max(0, printed.stat().st_size - 8192))
        lines = [line for line in clean(file.read().decode("utf-8", "replace")).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return one_line("; ".join(errors[-3:] or lines[-3:]), 400) or "it printed nothing"


@dataclasses.dataclass(frozen=True)
class OptionsKept:
    """ReFrame's options ``-S`` and ``-J`` without those that choose nodes. ``avoided``: the excluded nodes."""

    options: tuple[str, ...]
    avoided: tuple[str, ...]

    @classmethod
    def of(cls, options: Sequence[str]) -> "OptionsKept":
        kept: list[str] = []
        avoided: list[str] = []
        for option, value in _pairs(options):
            if option == "-S" or not value.startswith((*_TAKEN, *_AVOIDED)):
                kept += [option, value]
            elif value.startswith(_AVOIDED):
                avoided.append(value.partition("=")[2])
        return cls(tuple(kept), tuple(avoided))

    def for_nodes(self, purpose: str, nodes: Sequence[str]) -> list[str]:
        """Return the options for a re-measurement on these nodes, or without them, on a quieter machine.

        ``hold_s=0``: the check does not hold its allocation for another re-measurement.
        """
        fewer = ["-S", f"without_nodes={','.join(nodes)}"] if purpose == REMAINING_NODES else []
        if purpose == SAME_NODES:
            place = f"nodelist={','.join(nodes)}"
        else:
            place = f"exclude={','.join((*nodes, *self.avoided))}"
        return ["-S", f"quiet_wait_s={QUIET_WAIT_S}", *self.options, "-J", place, "-S", "hold_s=0", *fewer]


def _pairs(options: Sequence[str]) -> list[tuple[str, str]]:
    """Return each ``-S`` and ``-J`` with its value, in all notations that ReFrame accepts."""
    found = []
    words = iter(options)
    for word in words:
        for short, long in (_VARIABLE, _JOB):
            if word in (short, long):
                found.append((short, next(words, "")))
            elif word.startswith(f"{long}="):
                found.append((short, word.partition("=")[2]))
            elif word.startswith(short):
                found.append((short, word.removeprefix(short)))
    return found


class Progress:
    """Print progress lines on ``what``: elapsed time, the expected rest if known, and ``done`` if it says something.

    Lines appear at 5 s, 10 s, 20 s, …, and later every minute.
    """

    def __init__(self, what: str, expected_s: float | None = None, done: Callable[[], str] = str) -> None:
        self._what, self._expected_s, self._done, self._next_s = what, expected_s, done, 0.0

    def __call__(self, passed_s: float) -> None:
        if passed_s < self._next_s:
            return
        self._next_s = passed_s + min(passed_s, 60.0)
        left = ""
        if self._expected_s is not None:
            more = self._expected_s - passed_s
            left = (
                f", about {duration(more)} left" if more > 0 else f", longer than usual ({duration(self._expected_s)})"
            )
        done = self._done()
        words = f"{self._what}: {duration(passed_s)}{f', {done}' if done else ''}{left}"
        print(words, file=sys.stderr, flush=True)


def cases_done(printed: pathlib.Path) -> str:
    """Return the number of finished cases from ReFrame's output ``printed``; empty before the first."""
    try:
        ended = _ENDED.findall(printed.read_bytes())
    except OSError:
        return ""
    return f"{int(ended[-1][0])} of {int(ended[-1][1])} cases" if ended else ""


def add_accounting(report: pathlib.Path, site: Site) -> None:
    """Write into the cases of a complete report what Slurm's accounting has of their jobs.

    These are ``job_s``, ``job_nodes``, ``energy_j``, and the plug-in ``energy_by`` that measured it.
    """
    document = json.loads(report.read_bytes())
    cases = {str(case["jobid"]): case for case in _cases(document) if _is_job(case)}
    # These values are informational: without an answer the report stays as it is.
    with contextlib.suppress(InputError):
        if not cases or site.description is None:
            return
        fields = "JobIDRaw,ElapsedRaw,NNodes,ConsumedEnergyRaw"
        commands = NodeCommands(site.description)
        command = [*commands.sacct, "-n", "-P", "-X", "-o", fields, "-j", ",".join(cases)]
        found = accounts(commands.run(command, ANSWER_S))
        measured = any("energy_j" in values for values in found.values())
        plugin = parse_config(commands.said(CONFIG.split()) or "").get("AcctGatherEnergyType", "") if measured else ""
        for job in found.keys() & cases.keys():
            cases[job].update(found[job], **({"energy_by": plugin} if "energy_j" in found[job] else {}))
        if found:
            write_atomically(report, json.dumps(document, indent=2), report.stat().st_mode & 0o777)


def accounts(said: str) -> dict[str, dict[str, int]]:
    """Parse the answer of ``sacct``, and return the values of each job. Energy that was not measured is left out."""
    rows = (row for row in map(_ROW.fullmatch, said.splitlines()) if row)
    return {row[1]: {"job_s": int(row[2]), "job_nodes": int(row[3]), **_energy(row[4])} for row in rows}


def _energy(told: str) -> dict[str, int]:
    return {"energy_j": int(told)} if told.strip("0") and len(told) <= _MOST_DIGITS else {}


def _is_job(case: dict[str, Any]) -> bool:
    """Return whether the case was a Slurm job. For other cases, ``jobid`` is a process number."""
    return case.get("scheduler") != "local" and not case.get("local") and str(case.get("jobid")).isdecimal()


def _cases(document: Any) -> list[dict[str, Any]]:
    runs = document.get("runs", []) if isinstance(document, dict) else []
    return [case for run in runs for case in run["testcases"]]
