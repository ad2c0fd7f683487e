"""Findings that somebody has acknowledged until a day, and why: ``results/SITE/acknowledged.jsonl``, a line each.

The file only grows: the newest line about a finding counts, and one without a day takes an acknowledgement back. An
acknowledgement changes no verdict.
"""

import datetime
import pathlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import Struct

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import fit, json_text, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.ground.whole_files import write_atomically

FILE = "acknowledged.jsonl"
_LOCK = ".acknowledged.lock"
_LIMIT_BYTES = 4 << 20
#: Characters of a reason.
MOST_REASON = 300

Kind = Literal["node", "case", "series"]


class NamedFinding(Struct, frozen=True):
    """A finding by the name that pages and messages give it: a suspect node, the title of a case that failed, or a
    series that became worse. ``nodes`` are all the nodes that it speaks against, empty where it names none."""

    kind: Kind
    name: str = msgspec.field(name="finding")
    nodes: tuple[str, ...] = ()


class AlertedFindings(Struct, frozen=True):
    """The newest night's findings in `results/SITE/nightly/alert.json`."""

    findings: tuple[NamedFinding, ...]


class Acknowledgement(Struct, frozen=True, kw_only=True):
    """``until``: the last day on which it applies, ``None`` for one that is taken back; ``time`` in s since 1970."""

    kind: Kind
    finding: str
    until: datetime.date | None
    reason: str
    by: str
    time: float

    def applies(self, day: datetime.date) -> bool:
        return self.until is not None and day <= self.until

    def __str__(self) -> str:
        return one_line(f"acknowledged until {self.until} by {self.by}: {self.reason}", 2 * MOST_REASON)


@dataclass(frozen=True)
class Acknowledgements:
    """The newest acknowledgement of each finding, also those that have expired or were taken back."""

    newest: Mapping[tuple[str, str], Acknowledgement] = field(default_factory=dict)
    day: datetime.date = datetime.date.min
    """On which they are asked for."""

    @property
    def applying(self) -> tuple[Acknowledgement, ...]:
        return tuple(one for one in self.newest.values() if one.applies(self.day))

    def of(self, finding: NamedFinding) -> Acknowledgement | None:
        """Return what acknowledges ``finding``: its own, or those of all the nodes that it speaks against.

        Of several nodes, the acknowledgement that ends first.
        """
        if own := self._applying(finding.kind, finding.name):
            return own
        of_nodes = [self._applying("node", node) for node in finding.nodes]
        known = [one for one in of_nodes if one]
        if not known or len(known) < len(of_nodes):
            return None
        return min(known, key=lambda one: one.until or datetime.date.max)

    def of_node(self, node: str) -> Acknowledgement | None:
        return self.of(NamedFinding("node", node))

    def _applying(self, kind: str, name: str) -> Acknowledgement | None:
        found = self.newest.get((kind, name))
        return found if found and found.applies(self.day) else None


NOTHING_ACKNOWLEDGED = Acknowledgements()


def load_acknowledgements(results: pathlib.Path, day: datetime.date | None = None) -> Acknowledgements:
    """Return those in the folder ``results`` of a site, which has none without the file.

    :param day: on which they are asked for (default: today).

    :raises InputError: the file cannot be read; names the line.
    """
    return Acknowledgements(_newest(_lines(results / FILE)), day or datetime.date.today())


def acknowledge(
    results: pathlib.Path, acknowledgement: Acknowledgement, waiting: Callable[[], object] = lambda: None
) -> None:
    """Add a line; a reader sees the file with it or without it.

    :param waiting: called again and again while another process adds one; what it raises ends the waiting.

    :raises InputError: the file cannot be read or written.
    """
    with locked(results / _LOCK, waiting=waiting):
        present = [*_lines(results / FILE), acknowledgement]
        write_atomically(results / FILE, "".join(f"{msgspec.json.encode(one).decode()}\n" for one in present))


def acknowledgements_near(run: pathlib.Path) -> Acknowledgements:
    """Return those of the results in which the report ``run`` lies: ``results/SITE/runs/TIME/run-report.json``.

    :raises InputError: the file cannot be read; names the line.
    """
    folders = [folder for folder in run.absolute().parents[:5] if (folder / FILE).is_file()]
    return load_acknowledgements(folders[0]) if folders else NOTHING_ACKNOWLEDGED


def _lines(path: pathlib.Path) -> list[Acknowledgement]:
    if not path.exists():
        return []
    source = clean(str(path))
    lines = enumerate(json_text(path, source, _LIMIT_BYTES).splitlines(), start=1)
    return [_parsed(line, f"{source}: line {number}") for number, line in lines if line.strip()]


def _parsed(line: str, source: str) -> Acknowledgement:
    found = fit(parse_json(line, source), Acknowledgement, source)
    if found.until is not None and not found.reason.strip():
        raise InputError(f"{source}: reason: expected why it is acknowledged, found nothing")
    return found


def _newest(lines: Iterable[Acknowledgement]) -> dict[tuple[str, str], Acknowledgement]:
    return {(one.kind, one.finding): one for one in lines}
