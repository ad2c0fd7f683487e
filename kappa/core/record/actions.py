"""Record actions on nodes, also declined ones, with their reasons: one file each in ``results/SITE/history/actions``.

Kappa writes a file before the command runs, so that each command has a record, and again when it knows the outcome.
"""

import datetime
import pathlib
from typing import Literal

import msgspec
from msgspec import Struct

from kappa.core.ground.documents import load_json
from kappa.core.ground.whole_files import make_folder, write_atomically

FOLDER = "actions"
# The beginning of a drain's reason; the number of the action follows.
MARK = "kappa-quarantine"

ActionKind = Literal["drain", "keep", "return", "release"]
Outcome = Literal["begun", "done", "declined", "failed"]


class Evidence(Struct, frozen=True):
    """A finding that names a node.

    ``kind`` is one of ``kappa.core.vocabulary.rules.EVIDENCE``, or ``test`` if the node failed its test. ``check``,
    ``case`` and ``partition`` say what ran and where, ``text`` what it found.
    """

    kind: str
    check: str
    case: str
    partition: str
    text: str


class Action(Struct, frozen=True, kw_only=True):
    """An action on a node.

    ``keep``: the quarantine continues, because the node did not pass its test. ``return``: the node is given back after
    a test. ``release``: it is given back without a test. Times are in seconds since 1970. ``report`` is the report with
    the evidence.
    """

    what: ActionKind
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
        """The number of the action in a drain's reason: its time to the millisecond."""
        moment = datetime.datetime.fromtimestamp(self.time, datetime.UTC)
        return f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03}"

    @property
    def mark(self) -> str:
        """The beginning of the drain's reason."""
        return f"{MARK} {self.number}:"

    @property
    def quarantines(self) -> bool:
        """Whether a command ran that drains the node. Only Slurm tells whether it had an effect, even if it failed."""
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
    """Return all actions, oldest first.

    :raises InputError: a file is not readable or not valid; names the file and the key.
    """
    found = [load_json(path, Action) for path in sorted((history / FOLDER).glob("*.json"))]
    return sorted(found, key=lambda action: action.time)
