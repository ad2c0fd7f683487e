"""What the cases of a site took and wrote in its stored runs."""

import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from reports.acceptance.series import Series

REPORT = "run-report.json"
# The newest runs that are read.
REPORTS_READ = 40


@dataclass(frozen=True)
class Took:
    """A job: ``seconds`` for which it held ``nodes``, and the bytes that it wrote to the storage it measured."""

    seconds: float
    nodes: int
    written_bytes: int

    @property
    def node_hours(self) -> float:
        return self.seconds * self.nodes / 3600


def took(case: Case) -> Took | None:
    """By Slurm's accounting; ``None`` where that did not tell, or nothing ran."""
    if case.job_s is None or not case.job_nodes:
        return None
    return Took(case.job_s, case.job_nodes, case.written_bytes)


def stored_reports(results: pathlib.Path) -> list[pathlib.Path]:
    """The reports of a site's runs and nights, newest first; their folders are named after the time."""
    found = [*results.glob(f"runs/*/{REPORT}"), *results.glob(f"nights/*/{REPORT}")]
    return sorted(found, key=lambda path: path.parent.name, reverse=True)


def stored_sessions(results: pathlib.Path, before: str = "") -> list[Session]:
    """The newest sessions of a site, newest first.

    :param before: ReFrame's start time of a session: only older ones.
    """
    sessions: list[Session] = []
    for path in stored_reports(results):
        if len(sessions) == REPORTS_READ:
            break
        try:
            session = load_session(path)
        except InputError:
            continue  # one that is being written, or was cut off
        if not before or session.time_start < before:
            sessions.append(session)
    return sessions


def past_of(sessions: Iterable[Session]) -> dict[Series, Sequence[Took]]:
    """By series what each job took that passed, newest first as the sessions are."""
    found: dict[Series, list[Took]] = {}
    for case in (case for session in sessions for run in session.runs for case in run if case.result == "pass"):
        # Measured twice in the job, it took twice as long as it usually does.
        if case.first is None and (of_case := took(case)):
            found.setdefault(Series.of(case), []).append(of_case)
    return dict(found)
