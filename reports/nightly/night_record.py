"""``night.json``, which the night's conductor writes when it starts and completes as it goes on."""

import pathlib
from dataclasses import dataclass
from typing import Annotated

import msgspec

from kappa.core.ground.typed import load_json
from kappa.core.record.actions import Action

FILE = "night.json"
MAIN = "run-report.json"

DAY = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="a date as YYYY-MM-DD")]


@dataclass(frozen=True)
class Record:
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


def load_record(folder: pathlib.Path) -> Record:
    """:raises InputError: the file cannot be read or has a wrong key; names both."""
    return load_json(folder / FILE, Record)
