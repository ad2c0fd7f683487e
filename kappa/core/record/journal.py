"""Write and read the journal of a session: its cases as they end. ReFrame may be killed before it writes its report.

Each line is a JSON object. The program that starts ReFrame makes the empty file. ReFrame adds one ``{"session_info":
…}``, and a ``{"number": N, "run": N, "case": …}`` for each case that has ended, in the format of its report.
"""

import contextlib
import json
import os
import pathlib
from typing import Any

#: The variable that gives ReFrame the file; without it ReFrame writes no journal.
VARIABLE = "KAPPA_JOURNAL"
_SUFFIX = ".journal"


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
