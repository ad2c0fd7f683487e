"""``night.json``, which the night's conductor writes when it starts and completes as it goes on."""

import json
import pathlib
from dataclasses import dataclass
from typing import Any

from kappa.ground.clean_text import clean, clean_object
from kappa.ground.errors import InputError
from kappa.record import schema
from kappa.record.schema import NUMBER, STRING, STRINGS

FILE = "night.json"
MAIN = "run-report.json"

_SCHEMA: schema.Schema = {
    "type": "object",
    "required": ["night", "started", "deadline", "mode", "nights"],
    "properties": {
        "night": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "started": NUMBER,
        "deadline": NUMBER,
        "mode": STRING,
        "nights": {"type": "integer", "minimum": 0},
        "planned": STRINGS,
        "ended": {"type": ["number", "null"]},
        "cut": STRING,
        "unscheduled": STRING,
    },
}


@dataclass(frozen=True)
class Record:
    """Times in seconds since 1970. ``night`` is the day it counts for, ``nights`` what the rotation was promised
    (0 without one), ``planned`` the nodes whose turn it was. ``ended`` is ``None`` as long as it runs, or for ever when
    its machine died; ``cut`` says what ended it before it was done, ``unscheduled`` why the next is not submitted."""

    night: str
    started: float
    deadline: float
    mode: str
    nights: int
    planned: tuple[str, ...] = ()
    ended: float | None = None
    cut: str = ""
    unscheduled: str = ""


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
    document = load_object(folder / FILE, _SCHEMA)
    known = {key: document[key] for key in _SCHEMA["properties"] if key in document}
    return Record(**{**known, "planned": tuple(document.get("planned", []))})


def load_object(path: pathlib.Path, shape: schema.Schema) -> dict[str, Any]:
    """A small JSON file of the nightly's own, with every string clean.

    :raises InputError: it cannot be read or has a wrong key; names both.
    """
    source = clean(str(path))
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=clean_object)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except ValueError as err:
        raise InputError(f"{source}: not valid JSON: {clean(str(err))}") from err
    schema.check(document, shape, source)
    return dict(document)
