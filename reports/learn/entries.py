"""The references that a site's files hold, each with its bounds and its age."""

import datetime
import fnmatch
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.learn.samples import Place


@dataclass(frozen=True)
class Entry:
    """Bounds are absolute, infinite where unbounded; ``bounds`` is ``None`` when the file's are no numbers."""

    place: Place
    bounds: tuple[float, float] | None
    since: datetime.date | None
    """Of the first entry of ``$sources`` that matches, as ReFrame's checks take it."""


def entries(documents: Mapping[str, Any], pattern: str) -> Iterator[Entry]:
    """Every reference of the files, read as YAML, whose dotted name the shell pattern ``pattern`` matches."""
    for file, document in documents.items():
        for keys, value in _lists(document):
            place = Place(file, keys)
            if fnmatch.fnmatchcase(place.dotted, pattern):
                yield Entry(place, _bounds(value), _since(place.dotted, document.get("$sources")))


def _lists(node: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for key, value in node.items():
        keys = (*above, str(key))
        if str(key).startswith("$"):
            continue  # $index and $sources
        if isinstance(value, list):
            yield keys, value
        elif isinstance(value, dict):
            yield from _lists(value, keys)


def _bounds(entry: list[Any]) -> tuple[float, float] | None:
    try:
        value, lower, upper = (None if item is None else float(item) for item in entry[:3])
    except (TypeError, ValueError):
        return None
    if value is None:
        return None
    scale = abs(value) or 1.0
    return (-math.inf if lower is None else value + lower * scale, math.inf if upper is None else value + upper * scale)


def _since(dotted: str, sources: Any) -> datetime.date | None:
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict) and fnmatch.fnmatchcase(dotted, str(source.get("match"))):
            date = source.get("date")
            # A point in time is a date, too, but cannot be compared with one.
            date = date.date() if isinstance(date, datetime.datetime) else date
            return date if isinstance(date, datetime.date) else None
    return None
