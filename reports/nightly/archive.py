"""Read all nights of a site, oldest first: summaries, the last coverage of each node, and a calendar."""

import calendar
import datetime
import pathlib
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements, load_acknowledgements
from kappa.core.record.runs import CONFIRMATIONS
from kappa.core.sites.load import Site
from reports.nightly.night import RECORD, SUMMARY, Night, load_night, load_record, report_files, to_json
from reports.nightly.summarise import summarise

NIGHTS = "nights"
# A lost night may still leave a report for so many seconds after its deadline. Until then Kappa judges it each time.
LATE_S = 86400.0


@dataclass(frozen=True)
class Archive:
    """Hold the nights of a site, oldest first; ``damaged`` are the problems of unreadable nights."""

    nights: tuple[Night, ...]
    running: tuple[str, ...]
    """Folders of nights that have not ended and still may end."""
    damaged: tuple[str, ...]
    acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the site's nodes, from the newest night that lists any."""
        return next((night.nodes for night in reversed(self.nights) if night.nodes), ())

    @property
    def before(self) -> Night | None:
        """Return the last night before the newest that ended; the newest is compared with it."""
        return next((night for night in reversed(self.nights[:-1]) if night.ended is not None), None)

    @property
    def lost(self) -> tuple[Night, ...]:
        """Return the nights between ``before`` and the newest; they did not end."""
        return self.nights[self.nights.index(self.before) + 1 if self.before else 0 : -1]

    @property
    def nodes_with_turns(self) -> tuple[str, ...]:
        """Return the ``nodes`` that the rotation can measure; all nodes if the night did not record them."""
        newest = next((night for night in reversed(self.nights) if night.nodes), None)
        return () if newest is None else newest.nodes if newest.single is None else newest.single

    @property
    def last_turn(self) -> dict[str, float]:
        return {node: night.started for night in self.nights for node in night.planned}

    @property
    def last_covered(self) -> dict[str, float]:
        return {node: night.started for night in self.nights for node in night.covered}


def open_archive(results: pathlib.Path, site: Site, now: float | None = None) -> Archive:
    """Read every night below ``results``; judge a night as it is if it has not ended and its time is over.

    :raises InputError: the site is not usable; this is no damage of a night.
    """
    site.require_expectations()
    now = time.time() if now is None else now
    nights, running, damaged = [], [], []
    folders = sorted(path.parent for path in (results / NIGHTS).glob(f"*/{RECORD}"))
    for folder in folders:
        try:
            if (folder / SUMMARY).exists() and not _may_be_late((kept := load_night(folder)), folder, now):
                nights.append(kept)
                continue
            record = load_record(folder)
            # Nights never overlap, so every night before the newest has ended in some way.
            if record.ended is None and now < record.deadline and folder == folders[-1]:
                running.append(folder.name)
                continue
            night = summarise(folder, record, site)
        except InputError as err:
            damaged.append(str(err))
            continue
        nights.append(night)
        _keep(folder / SUMMARY, night)
    nights.sort(key=lambda night: (night.night, night.started))
    acknowledged = NOTHING_ACKNOWLEDGED
    try:
        acknowledged = load_acknowledgements(results, datetime.date.fromtimestamp(now))
    except InputError as err:
        damaged.append(f"no finding counts as acknowledged: {err}")
    return Archive(tuple(nights), tuple(running), tuple(damaged), acknowledged)


def _may_be_late(kept: Night, folder: pathlib.Path, now: float) -> bool:
    """Return whether a night without a recorded end may have new reports, because its jobs go on alone."""
    if kept.ended is not None:
        return False
    if now < load_record(folder).deadline + LATE_S:
        return True
    summarised = (folder / SUMMARY).stat().st_mtime
    found = (folder / RECORD, *report_files(folder), *folder.glob(f"{CONFIRMATIONS}/*.json"))
    # ctime, not mtime: a report is renamed to its final name only after it was written.
    return any(path.stat().st_ctime >= summarised for path in found)


def _keep(path: pathlib.Path, night: Night) -> None:
    """Write a summary; if that fails, print a warning, and the next call makes the summary again."""
    try:
        write_atomically(path, to_json(night))
    except InputError as err:
        print(f"warning: {clean(str(err))}", file=sys.stderr)


def reports_of(results: pathlib.Path, nights: Iterable[Night]) -> list[pathlib.Path]:
    """Return the existing ReFrame reports of ``nights``."""
    return [path for night in nights for path in report_files(results / NIGHTS / night.folder)]


@dataclass(frozen=True)
class NodeCoverage:
    """Describe the coverage of a node. ``last``: the newest night that covered it."""

    node: str
    last: datetime.date | None
    overdue: bool


def node_coverage(archive: Archive) -> list[NodeCoverage]:
    """Return every node in the rotation, the longest not covered first.

    The newest night states within how many nights the rotation covers each node. A node is overdue if so many nights
    have passed since it was covered, or since the first night.
    """
    if not archive.nights:
        return []
    promised = archive.nights[-1].nights
    seen: dict[str, tuple[datetime.date, int]] = {}
    for number, night in enumerate(reversed(archive.nights)):
        for node in night.covered:
            seen.setdefault(node, (night.day, number))
    found = []
    for node in archive.nodes_with_turns:
        day, passed = seen.get(node, (None, len(archive.nights)))
        found.append(NodeCoverage(node, day, bool(promised) and passed >= promised))
    return sorted(found, key=lambda one: (one.last or datetime.date.min, one.node))


Week = list["Day"]


@dataclass(frozen=True)
class Day:
    """Describe a day of the calendar.

    ``date`` is ``None`` outside the month; ``night`` is the day's worst night, or ``None``; ``runs`` counts its nights.
    """

    date: datetime.date | None
    night: Night | None
    runs: int

    @property
    def missed(self) -> bool:
        return self.date is not None and self.night is None


@dataclass(frozen=True)
class Month:
    title: str
    year: int
    weeks: list[Week]


def months(nights: Sequence[Night]) -> list[Month]:
    """Return every month from the last night back to the first."""
    if not nights:
        return []
    by_day: dict[datetime.date, list[Night]] = {}
    for night in nights:
        by_day.setdefault(night.day, []).append(night)
    first, last = min(by_day), max(by_day)
    found = []
    year, month = last.year, last.month
    while (year, month) >= (first.year, first.month):
        weeks = [
            [_day(date, month, by_day) for date in week] for week in calendar.Calendar().monthdatescalendar(year, month)
        ]
        found.append(Month(f"{calendar.month_name[month]} {year}", year, weeks))
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return found


def _day(date: datetime.date, month: int, by_day: dict[datetime.date, list[Night]]) -> Day:
    if date.month != month:
        return Day(None, None, 0)
    nights = by_day.get(date, [])
    worst = max(nights, key=lambda night: night.state.severity, default=None)
    return Day(date, worst, len(nights))
