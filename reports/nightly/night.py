"""Define the files of a night: ``night.json``, which its conductor writes, and ``summary.json``, made after its end.

A summary has a few kilobytes, so that ten years of nights load in seconds.
"""

import datetime
import json
import pathlib
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec

from kappa.core.ground.documents import load_json
from kappa.core.ground.figures import counted
from kappa.core.record.actions import Action
from reports.verdict.state import State

RECORD = "night.json"
MAIN = "run-report.json"

DAY = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="a date as YYYY-MM-DD")]
SUMMARY = "summary.json"


@dataclass(frozen=True)
class NightRecord:
    """Record a night; times are in seconds since 1970.

    - ``night``: the day that the night counts for.
    - ``nights``: the rotation covers each node within so many nights; 0 without a rotation.
    - ``planned``: the nodes due in the rotation.
    - ``ended``: ``None`` while the night runs, and after its machine failed.
    - ``cut``: the reason why the night was cut, or empty.
    - ``unscheduled``: the reason why the next night is not submitted, or empty.
    - ``actions``: actions on nodes by the site's quarantine rule, or the reasons against them.
    - ``not_acted``: the reason why the rule was not carried out, or empty.
    """

    night: DAY
    started: float
    deadline: float
    mode: str
    nights: Annotated[int, msgspec.Meta(ge=0)]
    planned: tuple[str, ...] = ()
    ended: float | None = None
    cut: str = ""
    unscheduled: str = ""
    actions: tuple[Action, ...] = ()
    not_acted: str = ""


def rotation_reports(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the ReFrame reports on the nodes due in the rotation, one for each partition.

    Early nights have them in one folder, without confirmations.
    """
    return sorted([*folder.glob("rotation/*/run-report.json"), *folder.glob("rotation/run-report-*.json")])


def report_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the existing ReFrame reports of the night, without those of re-measurements."""
    main = folder / MAIN
    return [*([main] if main.exists() else []), *rotation_reports(folder)]


def load_record(folder: pathlib.Path) -> NightRecord:
    """Read ``night.json``.

    :raises InputError: the file is unreadable or has a wrong key; the message names both.
    """
    return load_json(folder / RECORD, NightRecord)


@dataclass(frozen=True)
class Problem:
    """Describe a failed or unstable case: ``line`` has the failure and its nodes, ``hint`` the thing to look at."""

    case: str
    state: State
    line: str
    hint: str


@dataclass(frozen=True)
class Night:
    """Summarise a night; times are in seconds since 1970.

    ``suspects``: node -> evidence. ``nodes``: all nodes of the site. ``planned``: the nodes due in the rotation.
    ``covered``: the planned nodes with a result.
    """

    night: DAY
    started: float
    ended: float | None
    mode: str
    state: State
    headline: str
    sessions: tuple[str, ...]
    counts: dict[str, int]
    problems: tuple[Problem, ...]
    gaps: tuple[str, ...]
    suspects: dict[str, tuple[str, ...]]
    planned: tuple[str, ...]
    covered: tuple[str, ...]
    nodes: tuple[str, ...]
    nights: Annotated[int, msgspec.Meta(ge=0)]
    drain: tuple[str, ...]
    """Suggested commands for an operator; Kappa does not run them."""
    actions: tuple[str, ...] = ()
    """Actions on nodes by the site's quarantine rule, or the reasons against them."""
    single: tuple[str, ...] | None = None
    """The ``nodes`` that have a check of one node; ``None`` if not recorded."""
    passed: tuple[str, ...] | None = None
    """The passed cases; ``None`` if not recorded."""
    budget: str = ""
    """The budget in node-hours; empty without one."""
    left_out: tuple[str, ...] = ()
    """The checks that the night left out for its budget."""
    folder: str = ""

    @property
    def left_out_by_budget(self) -> str:
        """Return the checks left out by the budget in a sentence; empty if there are none."""
        if not self.left_out:
            return ""
        checks = f"{counted(len(self.left_out), 'check')}, {', '.join(self.left_out)}"
        return f"Left out by the budget of {self.budget} node-hours: {checks}"

    @property
    def day(self) -> datetime.date:
        return datetime.date.fromisoformat(self.night)

    @property
    def has_page(self) -> bool:
        """Return whether the night has a ``report.html``; a night that was lost or cut early has none."""
        return bool(self.sessions)


def to_json(night: Night) -> str:
    document = msgspec.to_builtins(night)
    del document["folder"]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load_night(folder: pathlib.Path) -> Night:
    """Read ``summary.json``.

    :raises InputError: the summary is missing or damaged; the message names the file and the key.
    """
    return replace(load_json(folder / SUMMARY, Night), folder=folder.name)
