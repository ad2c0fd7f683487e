"""Clean up after a session that was killed or ran into a full disk: its jobs, its report or its finished cases.

A session has a journal (``kappa/core/record/journal.py``) until its report is kept and its jobs have ended. A journal
that exists while no process holds the lock of the results belongs to a dead session. A command that only reads a run
starts no program and keeps the journal: the next validation cancels the jobs.
"""

import contextlib
import json
import math
import os
import pathlib
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.results_disk import RESERVE
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import json_text, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.locks import Holder
from kappa.core.ground.whole_files import read_text, sync_folder, write_atomically
from kappa.core.record.journal import UNFINISHED, is_whole, journal_of, part_of, report_of
from kappa.core.record.reframe_report import MAX_REPORT_BYTES, cases_of
from kappa.core.record.runs import CONFIRMATIONS, STAGE, raw_folder
from kappa.core.sites.load import Site

# Longest time until cancelled jobs have left the queue, in seconds.
GONE_WITHIN_S = 60.0
_QUEUE = ("squeue", "--me", "--noheader", "--format=%i|%Z")
_ACTIVE = "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"
# Jobs that have processes. Slurm starts a pending job again under the same number.
_WITH_PROCESSES = (
    "squeue", "--me", "--noheader", "--format=%A", "--states=CONFIGURING,RUNNING,SUSPENDED,STOPPED,COMPLETING"
)  # fmt: skip
_TABLES = {"sessions", "testcases"}
_KILLED = "kappa was killed"
#: Largest difference between this machine's clock and Slurm's, in seconds (``preflight.py``).
CLOCK_ROOM_S = 60.0


class NoReportError(InputError):
    """ReFrame left no complete report. A report of the finished cases may exist."""


class Found(Enum):
    """Content of a dead session's report."""

    NOTHING = "no case had finished"
    CASES = "some cases had finished"
    WHOLE = "ReFrame's report is complete"


@dataclass(frozen=True)
class Settled:
    """The remains of a dead session. ``said``: in words, Kappa's actions besides keeping a complete report."""

    report: Found
    said: str


def settle(report: pathlib.Path, site: Site | None, why: str) -> Settled:
    """Cancel the jobs of a dead session, and keep its report, or make a report from its journal.

    No process may run in its folder any more. If Slurm does not answer, the journal stays for another attempt.

    :param site: without it, ask nothing of Slurm.
    :param why: why the session did not finish, for a report made from the journal.
    :raises InputError: a report cannot be written.
    """
    journal, part = journal_of(report), part_of(report)
    said, asked = _jobs_ended(site, report) if site else ([], False)
    if not report.exists() and is_whole(part):
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(report)
        sync_folder(report.parent)
    found = Found.WHOLE if report.exists() else Found.NOTHING
    if found is Found.NOTHING and journal.exists():
        document = report_of(_text(journal), why)
        if document is not None:
            write_atomically(report, json.dumps(document, indent=2))
            part.unlink(missing_ok=True)
            number = sum(len(run["testcases"]) for run in document["runs"])
            found, said = Found.CASES, [*said, f"{counted(number, 'case')} had finished"]
    if found is Found.NOTHING:
        said.append(found.value)
    (raw_folder(report) / RESERVE).unlink(missing_ok=True)
    if asked:
        journal.unlink(missing_ok=True)
    return Settled(found, "; ".join(said))


def note_cut(report: pathlib.Path, why: str, failed_since_s: float = math.inf) -> None:
    """Note in a report that its session was cut off, and which results say nothing about a node.

    These are aborted cases, and cases that failed after ``failed_since_s`` (seconds since 1970).

    :raises InputError: the report cannot be read or written.
    """
    source = clean(str(report))
    document = parse_json(json_text(report, source, MAX_REPORT_BYTES), source)
    if not isinstance(document, dict) or not isinstance(document.get("session_info"), dict):
        return  # the verdict reports the error
    document["session_info"]["cut"] = why
    for case in cases_of(document):
        ended_s = case.get("job_completion_time_unix") or failed_since_s
        late = case.get("result") == "fail" and ended_s >= failed_since_s - CLOCK_ROOM_S
        if case.get("result") == "abort" or late:
            case["lost_to"] = why
    write_atomically(report, json.dumps(document, indent=2), report.stat().st_mode & 0o777)


def _jobs_ended(site: Site, report: pathlib.Path) -> tuple[list[str], bool]:
    """End the session's jobs. Return what to print about them, and whether Slurm answered."""
    try:
        ended = end_jobs(site, report)
    except CommandError as err:
        return [f"its jobs are not known: {err}"], False
    return ([f"cancelled its {counted(len(ended), 'job')} ({', '.join(ended)})"] if ended else []), True


def job_ended(site: Site | None) -> Callable[[Holder], bool]:
    """Return a function that returns whether Slurm has ended the job in which the holder of a lock ran."""

    def has_ended(holder: Holder) -> bool:
        if not holder.job or holder.job == Holder.me().job:  # a job that Slurm has started again
            return bool(holder.job)
        with contextlib.suppress(InputError):
            if site and site.description:
                return holder.job not in NodeCommands(site.description).run(_WITH_PROCESSES).split()
        return False

    return has_ended


def _not_own(report: pathlib.Path, results: pathlib.Path) -> str:
    """Return why a session is not this user's, of these results; empty if it is. Links are resolved."""
    place = report.parent.resolve()
    run = place.parent if place.name == CONFIRMATIONS else place
    run = run.parents[1] if run.parent.name == "rotation" else run
    if run.parent not in [(results / kind).resolve() for kind in ("runs", "nights")]:
        return f"it does not lie in the runs and nights of {clean(str(results))}"
    for path in filter(os.path.lexists, (place, journal_of(report), part_of(report))):
        status = path.lstat()
        if status.st_uid != os.geteuid():
            return f"{clean(path.name)} belongs to another user"
        if path != place and not stat.S_ISREG(status.st_mode):
            return f"{clean(path.name)} is no regular file"
    return ""


def _text(journal: pathlib.Path) -> str:
    try:
        return read_text(journal, MAX_REPORT_BYTES, errors="replace")
    except OSError as err:
        raise InputError(f"{clean(str(journal))}: {err.strerror}") from err


def end_jobs(site: Site, report: pathlib.Path) -> list[str]:
    """Cancel the user's jobs that run in the session's folder, wait until they are gone, and return their numbers.

    :raises CommandError: Slurm does not answer.
    """
    partitions = site.description.described.partitions.values() if site.description else ()
    if site.description is None or all(one.scheduler == "local" for one in partitions):
        return []
    commands = NodeCommands(site.description)
    # A link from here to the stage folder of another session would cancel that session's jobs.
    stage = raw_folder(report.parent.resolve() / report.name) / STAGE
    jobs = list(_jobs_in(stage, commands.run([*_QUEUE, _ACTIVE])))
    if jobs:
        commands.run(["scancel", *jobs])
        deadline_s = time.monotonic() + GONE_WITHIN_S
        while time.monotonic() < deadline_s and any(_jobs_in(stage, commands.run(_QUEUE))):
            time.sleep(0.5)
    return jobs


def _jobs_in(stage: pathlib.Path, said: str) -> Iterator[str]:
    for line in said.splitlines():
        number, _, folder = line.strip().partition("|")
        if number.isdecimal() and pathlib.PurePath(folder).is_relative_to(stage):
            yield number


def settle_all(
    site: Site | None, reports: Sequence[pathlib.Path], results: pathlib.Path, say: Callable[[str], object]
) -> list[pathlib.Path]:
    """Settle the dead sessions of these ``results``, and ``say`` what they left. Return the new reports, for a verdict.

    Leave a session as it is if its files are not this user's, or lie elsewhere. ``site`` as in ``settle``.

    :raises InputError: a report cannot be written.
    """
    new = []
    for report in reports:
        where = clean(str(report.parent))
        if why := _not_own(report, results):
            say(f"{where}: {UNFINISHED}: {why}")
            continue
        there = report.exists()
        settled = settle(report, site, _KILLED)
        if settled.report is not Found.NOTHING and not there:
            note_cut(report, _KILLED)
        if not there or settled.said:
            say(f"{where}: {_KILLED}: {settled.said or settled.report.value}")
        new += [report] if settled.report is not Found.NOTHING and not there else []
    return new


def usable_database(results: pathlib.Path, say: Callable[[str], object]) -> None:
    """Rename ReFrame's database if it is damaged or has no tables, for instance after the disk was full.

    ReFrame then makes a new one. Kappa reads reports only, not the database.
    """
    path = results / "results.db"
    if not path.is_file():
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.OperationalError:
        return  # another program has locked the database, or it cannot be read now
    except sqlite3.DatabaseError as err:
        problem = one_line(clean(str(err)), 100)
    else:
        problem = "" if tables >= _TABLES else "no tables"
    if problem:
        aside = path.with_name(f"results.db.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        path.replace(aside)
        say(f"{clean(str(path))} is not usable ({problem}): renamed to {aside.name}; ReFrame makes a new one")
