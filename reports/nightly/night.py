"""A night in a few kilobytes: what is kept of it for good, so that ten years of nights are read in seconds."""

import datetime
import json
import pathlib
from dataclasses import asdict, dataclass
from typing import Any

from kappa.record import schema
from kappa.record.schema import NUMBER, STRING, STRINGS
from reports.nightly.night_record import load_object
from reports.verdict.state import State

FILE = "summary.json"
_PROBLEM: schema.Schema = {
    "type": "object",
    "required": ["case", "state", "line", "hint"],
    "additionalProperties": False,
    "properties": {"case": STRING, "state": {"enum": [state.name for state in State]}, "line": STRING, "hint": STRING},
}
_SCHEMA: schema.Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "night": {"type": "string", "format": "date"},
        "started": NUMBER,
        "ended": {"type": ["number", "null"]},
        "mode": STRING,
        "state": {"enum": ["PASS", "FAIL", "INCOMPLETE"]},
        "headline": STRING,
        "sessions": STRINGS,
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "problems": {"type": "array", "items": _PROBLEM},
        "gaps": STRINGS,
        "suspects": {"type": "object", "additionalProperties": STRINGS},
        "planned": STRINGS,
        "covered": STRINGS,
        "nodes": STRINGS,
        "nights": {"type": "integer", "minimum": 0},
        "drain": STRINGS,
    },
}
_SCHEMA["required"] = list(_SCHEMA["properties"])
# Summaries of an earlier version have none.
_SCHEMA["properties"] |= {key: {"type": ["array", "null"], "items": STRING} for key in ("single", "passed")}


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

    folder: str
    night: str
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
    nights: int
    drain: tuple[str, ...]
    """Commands that an operator may want; nothing runs them."""
    single: tuple[str, ...] | None = None
    """Those of ``nodes`` for which there is a check of one node; ``None`` when it was not recorded."""
    passed: tuple[str, ...] | None = None
    """The cases that passed; ``None`` when they were not recorded."""

    @property
    def day(self) -> datetime.date:
        return datetime.date.fromisoformat(self.night)

    @property
    def has_page(self) -> bool:
        """Whether its ``report.html`` was written: not when it was lost or cut before ReFrame left a report."""
        return bool(self.sessions)


def to_json(night: Night) -> str:
    document = {key: value for key, value in asdict(night).items() if key != "folder"}
    document["state"] = night.state.name
    document["problems"] = [{**asdict(problem), "state": problem.state.name} for problem in night.problems]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load_night(folder: pathlib.Path) -> Night:
    """:raises InputError: there is no summary, or it is damaged; names the file and the key."""
    found = load_object(folder / FILE, _SCHEMA)
    typed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
    typed["state"] = State[found["state"]]
    typed["problems"] = tuple(Problem(**{**one, "state": State[one["state"]]}) for one in found["problems"])
    typed["suspects"] = {node: tuple(evidence) for node, evidence in found["suspects"].items()}
    return Night(folder=folder.name, **typed)
