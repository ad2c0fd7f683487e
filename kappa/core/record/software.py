"""Keep the last accepted and the last found state of programs and libraries below a site's results.

``software/PARTITION.ENVIRONMENT.json`` is the accepted state: the first run's, until ``kappa software SITE --accept``
accepts the newest run's state, ``….found.json``.
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
    """A state. ``files`` maps paths to SHA-256; ``since`` is the day (UTC) of the acceptance or of the run."""

    since: str
    files: dict[str, str]


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

    def note(self, files: dict[str, str]) -> Software:
        """Keep ``files`` as the found state. Return the accepted state; without one, accept ``files``.

        :raises InputError: a file is damaged or cannot be written.
        """
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        make_folder(self.folder)
        text = msgspec.json.format(msgspec.json.encode(Software(today, files), order="sorted")).decode()
        write_atomically(self.folder / (self.name + FOUND), f"{text}\n")
        if (accepted := self.accepted()) is None:
            self.accept()
            return Software(today, files)
        return accepted

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
