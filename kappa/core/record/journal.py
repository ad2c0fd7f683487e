"""Write and read the journal of a session: its cases as they end. ReFrame may be killed before it writes its report.

Each line is a JSON object. The program that starts ReFrame makes the empty file. ReFrame adds one ``{"session_info":
…}``, and a ``{"number": N, "run": N, "case": …}`` for each case that has ended, in the format of its report.
"""

import contextlib
import itertools
import json
import os
import pathlib
from typing import Any

from kappa.core.ground.whole_files import read_bytes
from kappa.core.record.reframe_report import MAX_REPORT_BYTES
from kappa.core.record.runs import CONFIRMATIONS

#: The variable that gives ReFrame the file; without it ReFrame writes no journal.
VARIABLE = "KAPPA_JOURNAL"
_SUFFIX = ".journal"
# The folders with reports of runs and nights, below the results of a site.
_FOLDERS = ("runs/*", "nights/*", "nights/*/rotation/*")
#: Said of a session that a command leaves as it is, before the reason.
UNFINISHED = "its session has not ended, and Kappa leaves it as it is"


def journal_of(report: pathlib.Path) -> pathlib.Path:
    return report.with_name(report.name + _SUFFIX)


def report_with(journal: pathlib.Path) -> pathlib.Path:
    """Return the path of the report that belongs to this journal."""
    return journal.with_name(journal.name.removesuffix(_SUFFIX))


class Journal:
    """Add lines to the file, each completely or not at all. Lines that a full disk refuses are added with the next."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._left = b""

    def add(self, line: str) -> None:
        self._left += line.encode("utf-8", "replace") + b"\n"
        with contextlib.suppress(OSError):
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                size = os.fstat(handle).st_size
                if os.write(handle, self._left) == len(self._left):
                    self._left = b""
                else:
                    os.ftruncate(handle, size)
            finally:
                os.close(handle)


def report_of(text: str, why: str) -> dict[str, Any] | None:
    """Return a report in ReFrame's format with the cases in a journal; ``None`` if no case had ended.

    :param text: the journal's text; its last line may be incomplete.
    :param why: the reason why the session did not end normally.
    """
    info: dict[str, Any] = {}
    cases: dict[int, tuple[int, Any]] = {}
    for line in text.split("\n"):
        # A foreign or incomplete line contains no case.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            found = json.loads(line)
            info |= found.get("session_info", {})
            if "case" in found:
                # A case that failed after it had passed is in the journal twice.
                cases[int(found["number"])] = int(found["run"]), found["case"]
    if not cases:
        return None
    runs = sorted({run for run, _ in cases.values()})
    return {
        "session_info": {**info, "cut": why},
        "runs": [
            {"run_index": run, "testcases": [case for of, case in cases.values() if of == run]} for run in runs
        ],
        "restored_cases": [],
    }  # fmt: skip


def part_of(report: pathlib.Path) -> pathlib.Path:
    """Return the path at which ReFrame writes ``report`` until it is complete."""
    return report.with_name(f"{report.name}.part")


def is_whole(part: pathlib.Path) -> bool:
    """Return whether ReFrame wrote the whole report."""
    try:
        json.loads(read_bytes(part, MAX_REPORT_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return True


def unsettled(results: pathlib.Path) -> list[pathlib.Path]:
    """Return the reports of all dead sessions of runs and nights, oldest first. A report may not exist yet.

    The caller must hold the results (``using``).
    """
    folders = itertools.chain.from_iterable(sorted(results.glob(pattern)) for pattern in _FOLDERS)
    return [report for folder in folders for report in unsettled_in(folder)]


def unsettled_in(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the reports of one run's dead sessions: first the run's own, then its re-measurements."""
    found: dict[pathlib.Path, None] = {}
    for place in (folder, folder / CONFIRMATIONS):
        found |= dict.fromkeys(map(report_with, sorted(place.glob("*.json.journal"))))
        found |= dict.fromkeys(part.with_suffix("") for part in sorted(place.glob("*.json.part")) if is_whole(part))
    return list(found)
