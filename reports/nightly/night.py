"""The files of a night: ``night.json``, which its conductor writes, and ``summary.json``, made once it has ended.

A summary has a few kilobytes, so that ten years of nights are read in seconds.
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
    """Times in seconds since 1970. ``night`` is the day it counts for, ``nights`` what the rotation was promised
    (0 without one), ``planned`` the nodes whose turn it was. ``ended`` is ``None`` as long as it runs, or for ever when
    its machine died; ``cut`` says what ended it before it was done, ``unscheduled`` why the next is not submitted.
    ``actions`` is what was done to nodes by the site's rule, or why not, ``not_acted`` what kept it from more."""

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
    """The ReFrame reports on the nodes whose turn it was, one for each partition.

    The first nights had them in one folder, without confirmations.
    """
    return sorted([*folder.glob("rotation/*/run-report.json"), *folder.glob("rotation/run-report-*.json")])


def report_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The ReFrame reports of the night that exist, but for those of what was measured again."""
    main = folder / MAIN
    return [*([main] if main.exists() else []), *rotation_reports(folder)]


def load_record(folder: pathlib.Path) -> NightRecord:
    """:raises InputError: the file cannot be read or has a wrong key; names both."""
    return load_json(folder / RECORD, NightRecord)


@dataclass(frozen=True)
class Problem:
    """A case that failed, or was unstable: ``line`` says what and where, ``hint`` what to look at."""

    case: str
    state: State
    line: str
    hint: str


@dataclass(frozen=True)
class Night:
    """Times in seconds since 1970; ``suspects`` maps a node to what speaks against it; ``nodes`` are all the site's,
    ``planned`` and ``covered`` those whose turn it was, and of them those that came to a result."""

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
    """Commands that an operator may want; nothing runs them."""
    actions: tuple[str, ...] = ()
    """Actions on nodes by the site's rule, and the reasons where there was none."""
    single: tuple[str, ...] | None = None
    """The ``nodes`` for which there is a check of one node; ``None`` when it was not recorded."""
    passed: tuple[str, ...] | None = None
    """The cases that passed; ``None`` when they were not recorded."""
    budget: str = ""
    """Node-hours; empty without one."""
    left_out: tuple[str, ...] = ()
    """The checks that it left out for its budget."""
    folder: str = ""

    @property
    def left_out_by_budget(self) -> str:
        """In a sentence; empty when nothing was."""
        if not self.left_out:
            return ""
        checks = f"{counted(len(self.left_out), 'check')}, {', '.join(self.left_out)}"
        return f"Left out by the budget of {self.budget} node-hours: {checks}"

    @property
    def day(self) -> datetime.date:
        return datetime.date.fromisoformat(self.night)

    @property
    def has_page(self) -> bool:
        """Whether its ``report.html`` was written: not when it was lost or cut before ReFrame left a report."""
        return bool(self.sessions)


def to_json(night: Night) -> str:
    document = msgspec.to_builtins(night)
    del document["folder"]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load_night(folder: pathlib.Path) -> Night:
    """:raises InputError: there is no summary, or it is damaged; names the file and the key."""
    return replace(load_json(folder / SUMMARY, Night), folder=folder.name)
