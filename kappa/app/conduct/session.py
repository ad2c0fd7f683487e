"""ReFrame sessions: started with a site's settings, ended when this program is told to, their reports kept whole."""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

from kappa.app.conduct.job_accounting import add_accounting
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import HOME_VARIABLE, SUITE, home
from kappa.core.ground.processes import Stop, Tell, silent, wait
from kappa.core.ground.whole_files import make_folder, sync_folder
from kappa.core.record.raw_output import OUTPUT, PRINTED, STAGE, raw_folder

CHECKS = SUITE / "reframe_checks"


class NoReportError(InputError):
    """ReFrame left no report, or none that is whole."""


@dataclasses.dataclass(frozen=True)
class Conductor:
    """Runs sessions, one after the other, until there is a reason to ``stop``.

    ``locks`` are descriptors that ReFrame holds, too, until it ends, whatever becomes of this process; ``said`` is
    where ``say`` prints (default: where this program does); ``patience_s`` the seconds that ReFrame has to cancel its
    jobs when it is told to end.
    """

    stop: Stop
    locks: Sequence[int] = ()
    said: IO[str] | None = None
    patience_s: float = 120.0

    def say(self, line: str) -> None:
        print(clean(line), file=self.said or sys.stdout, flush=True)


@dataclasses.dataclass(frozen=True)
class Session:
    """``options`` are ReFrame's, ``checks`` what it has to load, ``folder`` where it runs.

    Its raw output and what ReFrame prints (``printed``) lie beside its report (``raw_folder``), where no other session
    writes.
    """

    settings: pathlib.Path
    report: pathlib.Path
    options: Sequence[str]
    checks: pathlib.Path = CHECKS
    folder: pathlib.Path = dataclasses.field(default_factory=home)
    tell: Tell = silent
    """Called every few seconds with those that have passed: what ReFrame prints goes into a file."""

    @property
    def printed(self) -> pathlib.Path:
        return raw_folder(self.report) / PRINTED

    def run(self, conductor: Conductor) -> None:
        """Have ReFrame run it. Its exit status says nothing of what did not run: the report has to be judged.

        :raises NoReportError: there is no report that is whole; the message ends with ReFrame's last lines, or a part
            is left as ``REPORT.part``.
        :raises StoppedError: there was a reason to stop; ReFrame has cancelled its jobs, and a whole report is kept.
        :raises InputError: ReFrame is not installed.
        :raises OSError: the storage could not keep the report.
        """
        conductor.stop.check()
        part = _part(self.report)
        raw = raw_folder(self.report).resolve()
        command = [
            str(reframe()), "-C", str(self.settings.resolve()), "-c", str(self.checks), "-R", "--nocolor",
            f"--stage={raw / STAGE}", f"--output={raw / OUTPUT}", *self.options,
        ]  # fmt: skip
        make_folder(self.folder)
        make_folder(raw)
        with self.printed.open("wb") as printed:
            child = subprocess.Popen(
                [*command, f"--report-file={part}"], stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                cwd=self.folder, pass_fds=conductor.locks, env={**os.environ, HOME_VARIABLE: str(home())},
                # So that Ctrl-C reaches this process alone, which passes it on once.
                start_new_session=True,
            )  # fmt: skip
        try:
            wait(child, conductor.stop, conductor.patience_s, self.tell)
        finally:
            if part.exists():
                _keep(part, self.report)
        if not self.report.exists():
            raise NoReportError(f"ReFrame wrote no report: {last_words(self.printed)}")
        add_accounting(self.report, self.settings.parent)


def recover(report: pathlib.Path) -> None:
    """Keep what a session left whose conductor was killed, if it is whole; nothing may run in its folder any more."""
    with contextlib.suppress(NoReportError):
        if _part(report).exists():
            _keep(_part(report), report)


def reframe() -> pathlib.Path:
    """The program of this Python environment.

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
    """The last lines of what ReFrame printed that say anything."""
    with printed.open("rb") as file:
        file.seek(max(0, printed.stat().st_size - 8192))
        lines = [line for line in clean(file.read().decode("utf-8", "replace")).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return one_line("; ".join(errors[-3:] or lines[-3:]), 400) or "it printed nothing"


def _part(report: pathlib.Path) -> pathlib.Path:
    return report.with_name(f"{report.name}.part")


def _keep(part: pathlib.Path, report: pathlib.Path) -> None:
    try:
        with part.open("rb") as file:
            json.load(file)
            os.fsync(file.fileno())
    except ValueError:
        where = clean(str(part))
        raise NoReportError(f"ReFrame's report is not complete, is the disk full? It is left in {where}") from None
    part.replace(report)
    sync_folder(report.parent)
