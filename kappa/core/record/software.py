"""Keep the last accepted and the last found state of programs and libraries below a site's results.

``software/PARTITION.ENVIRONMENT.json`` is the accepted state: the first run's, until ``kappa site software
SITE --accept`` accepts the newest run's state, ``….found.json``.
"""

import datetime
import os
import pathlib
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from kappa.core.ground.documents import load_json
from kappa.core.ground.whole_files import make_folder, write_atomically

ACCEPTED, FOUND = ".json", ".found.json"


class Software(Struct, frozen=True):
    """A state. ``files`` maps paths to SHA-256; ``since`` is the day (UTC) of the acceptance or of the run.

    ``searched`` is a digest of how the files were found. A state of an older Kappa has none.
    """

    since: str
    files: dict[str, str]
    searched: str = ""


@dataclass(frozen=True)
class Kept:
    """The two files of a partition and environment, ``name``, in ``folder``."""

    folder: pathlib.Path
    name: str

    def accepted(self) -> Software | None:
        """:raises InputError: the file is damaged."""
        return self._read(ACCEPTED)

    def found(self) -> Software | None:
        """:raises InputError: the file is damaged."""
        return self._read(FOUND)

    def _read(self, ending: str) -> Software | None:
        path = self.folder / (self.name + ending)
        return load_json(path, Software) if path.exists() else None

    def note(self, files: dict[str, str], searched: str) -> Software:
        """Keep ``files`` as the found state. Return the accepted state; without one, accept ``files``.

        After a wider search, files that the accepted state lacks are accepted: no run had looked for them before.

        :raises InputError: a file is damaged or cannot be written.
        """
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        make_folder(self.folder)
        self._write(FOUND, Software(today, files, searched))
        if (accepted := self.accepted()) is None:
            self.accept()
            return Software(today, files, searched)
        if accepted.searched == searched:
            return accepted
        wider = Software(accepted.since, {**files, **accepted.files}, searched)
        self._write(ACCEPTED, wider)
        return wider

    def _write(self, ending: str, state: Software) -> None:
        text = msgspec.json.format(msgspec.json.encode(state, order="sorted")).decode()
        write_atomically(self.folder / (self.name + ending), f"{text}\n")

    def accept(self) -> None:
        """Accept the found state."""
        os.replace(self.folder / (self.name + FOUND), self.folder / (self.name + ACCEPTED))


def kept_in(results: pathlib.Path) -> list[Kept]:
    """Return all states below a site's results."""
    folder = results / "software"
    names = {path.name.removesuffix(FOUND).removesuffix(ACCEPTED) for path in folder.glob(f"*{ACCEPTED}")}
    return [Kept(folder, name) for name in sorted(names)]


def kept_of(results: pathlib.Path, partition: str, environment: str) -> Kept:
    return Kept(results / "software", f"{partition}.{environment}")


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return a line for each path that is new, is gone or has other content."""
    found = []
    for path in sorted({*before, *now}):
        if before.get(path) != now.get(path):
            what = "is new" if path not in before else "is gone" if path not in now else "has other content"
            found.append(f"{path} {what}")
    return found
