"""All nights of a site, oldest first; the summary of a night that has ended is written once."""

import pathlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.raw_output import CONFIRMATIONS
from kappa.core.sites.expected import Site
from reports.nightly import night as night_file
from reports.nightly import night_record as record_file
from reports.nightly.night import Night, load_night, to_json
from reports.nightly.night_record import load_record, report_files
from reports.nightly.summarise import summarise

NIGHTS = "nights"
# Seconds after its deadline within which a night that was lost may still leave a report, and is judged each time.
LATE_S = 86400.0


@dataclass(frozen=True)
class Archive:
    nights: tuple[Night, ...]
    running: tuple[str, ...]
    """Folders of nights that have not ended, and still may."""
    damaged: tuple[str, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The site's nodes, as the newest night that saw any lists them."""
        return next((night.nodes for night in reversed(self.nights) if night.nodes), ())

    @property
    def before(self) -> Night | None:
        """What the newest night is compared with: the last one before it that came to its end."""
        return next((night for night in reversed(self.nights[:-1]) if night.ended is not None), None)

    @property
    def lost(self) -> tuple[Night, ...]:
        """Nights between these two: their machine failed."""
        return self.nights[self.nights.index(self.before) + 1 if self.before else 0 : -1]

    @property
    def nodes_with_turns(self) -> tuple[str, ...]:
        """Those of ``nodes`` that the rotation can measure; of a night that does not say it, all."""
        newest = next((night for night in reversed(self.nights) if night.nodes), None)
        return () if newest is None else newest.nodes if newest.single is None else newest.single

    @property
    def last_turn(self) -> dict[str, float]:
        return {node: night.started for night in self.nights for node in night.planned}

    @property
    def last_covered(self) -> dict[str, float]:
        return {node: night.started for night in self.nights for node in night.covered}


def open_archive(results: pathlib.Path, site: Site, now: float | None = None) -> Archive:
    """Every night below ``results``; one that neither ended nor has time left is judged as it is."""
    now = time.time() if now is None else now
    nights, running, damaged = [], [], []
    folders = sorted(path.parent for path in (results / NIGHTS).glob(f"*/{record_file.FILE}"))
    for folder in folders:
        try:
            if (folder / night_file.FILE).exists() and not _may_be_late((kept := load_night(folder)), folder, now):
                nights.append(kept)
                continue
            record = load_record(folder)
            # There are never two at once: an earlier one than the newest has ended, in whatever way.
            if record.ended is None and now < record.deadline and folder == folders[-1]:
                running.append(folder.name)
                continue
            night = summarise(folder, record, site)
        except InputError as err:
            damaged.append(str(err))
            continue
        nights.append(night)
        _keep(folder / night_file.FILE, night)
    nights.sort(key=lambda night: (night.night, night.started))
    return Archive(tuple(nights), tuple(running), tuple(damaged))


def _may_be_late(kept: Night, folder: pathlib.Path, now: float) -> bool:
    """Whether more may have come of a night that never said that it ended: what its conductor started goes on alone."""
    if kept.ended is not None:
        return False
    if now < load_record(folder).deadline + LATE_S:
        return True
    summarised = (folder / night_file.FILE).stat().st_mtime
    found = (folder / record_file.FILE, *report_files(folder), *folder.glob(f"{CONFIRMATIONS}/*.json"))
    # Of the change, not of the contents: a report has its name only after it was written.
    return any(path.stat().st_ctime >= summarised for path in found)


def _keep(path: pathlib.Path, night: Night) -> None:
    """A summary that cannot be kept is made again next time."""
    try:
        write_atomically(path, to_json(night))
    except InputError as err:
        print(f"warning: {clean(str(err))}", file=sys.stderr)


def reports_of(results: pathlib.Path, nights: Iterable[Night]) -> list[pathlib.Path]:
    """The ReFrame reports of ``nights`` that exist."""
    return [path for night in nights for path in report_files(results / NIGHTS / night.folder)]
