"""Note each case in the session's journal when it ends (``kappa/core/record/journal.py``), if there is a journal."""

import os
import pathlib

from reframe.utility import jsonext

from kappa.core.record.journal import VARIABLE, Journal
from reframe_checks.base.reframe_internals import as_reported, session_info, when_cases_end


def keep_journal() -> None:
    """Write the journal whose path the environment variable gives."""
    path = os.environ.get(VARIABLE)
    if path:
        when_cases_end(CaseJournal(pathlib.Path(path)).note)


class CaseJournal:
    def __init__(self, path: pathlib.Path) -> None:
        self._journal = Journal(path)
        self._info: dict = {}
        self._numbers: dict[int, int] = {}

    def note(self, task) -> None:
        if not self._info:
            self._info = session_info()
            self._journal.add(jsonext.dumps({"session_info": self._info}))
        run, case = as_reported(task, self._info)
        # ReFrame keeps its tasks, so their ids are unique.
        number = self._numbers.setdefault(id(task), len(self._numbers))
        self._journal.add(jsonext.dumps({"number": number, "run": run, "case": case}))
