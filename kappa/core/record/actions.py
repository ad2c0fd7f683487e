"""What was done to nodes, or left undone and why: a file for each action in ``results/SITE/history/actions``.

A file is written before the command runs, so that none goes without a record, and again when its outcome is known.
"""

import datetime
import pathlib
from typing import Literal

import msgspec
from msgspec import Struct

from kappa.core.ground.documents import load_json
from kappa.core.ground.whole_files import make_folder, write_atomically

FOLDER = "actions"
# What begins a drain's reason, with the number of the action that gave it.
MARK = "kappa-quarantine"

What = Literal["drain", "keep", "return", "release"]
Outcome = Literal["begun", "done", "declined", "failed"]


class Evidence(Struct, frozen=True):
    """A finding that names a node: its ``kind`` (as in ``kappa.core.vocabulary.rules``, or ``test`` when it failed
    its test), the check and its case, where it ran, and what it found."""

    kind: str
    check: str
    case: str
    partition: str
    text: str


class Action(Struct, frozen=True, kw_only=True):
    """``keep``: a quarantine that goes on, because its test was not passed; ``return``: given back after a test;
    ``release``: without. Times in seconds since 1970; ``report`` is where the evidence was measured."""

    what: What
    node: str
    time: float
    outcome: Outcome
    said: str = ""
    until: float | None = None
    command: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    report: str = ""

    @property
    def number(self) -> str:
        """By which a drain's reason tells of it, to the millisecond."""
        moment = datetime.datetime.fromtimestamp(self.time, datetime.UTC)
        return f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03}"

    @property
    def mark(self) -> str:
        """What the reason of its drain begins with."""
        return f"{MARK} {self.number}:"

    @property
    def quarantines(self) -> bool:
        """Whether a command was run that takes the node out: Slurm says whether it did, also where it failed."""
        return self.what in ("drain", "keep") and self.outcome != "declined"


def keep_action(history: pathlib.Path, action: Action) -> None:
    """Write or replace the record of an action.

    :raises InputError: it cannot be written.
    """
    folder = history / FOLDER
    make_folder(folder)
    text = msgspec.json.format(msgspec.json.encode(action), indent=1).decode()
    write_atomically(folder / f"{action.number}-{action.what}-{action.node}.json", f"{text}\n")


def load_actions(history: pathlib.Path) -> list[Action]:
    """All of them, oldest first.

    :raises InputError: one cannot be read; names the file and the key.
    """
    found = [load_json(path, Action) for path in sorted((history / FOLDER).glob("*.json"))]
    return sorted(found, key=lambda action: action.time)
