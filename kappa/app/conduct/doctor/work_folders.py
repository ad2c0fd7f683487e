"""Folders of this look alone, in each place where the site's jobs write: what this machine puts there nodes read."""

import contextlib
import pathlib
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from kappa.core.ground.processes import Stop
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.sites.places import results_folder
from kappa.core.sites.site_file import SiteDescription

_RUN = "#!/bin/sh\necho runs\n"
_PATIENCE_S = 20.0


def places(site: SiteDescription) -> dict[str, pathlib.Path]:
    """Where jobs write, by what is kept there: results with the stage of jobs, and what is built."""
    kept = site.base / ".kappa"
    found = {"results": results_folder(site.name), ".kappa": kept}
    for name, one in site.described.environments.items():
        if one.build_dir and not (folder := site.base / one.build_dir).is_relative_to(kept):
            found[f"build_dir of {name}"] = folder
    return found


@contextlib.contextmanager
def work_folders(where: Mapping[str, pathlib.Path], token: str) -> Iterator[dict[str, pathlib.Path]]:
    """A new folder in each of ``where``, with the file ``login`` and a program; nothing of them is left afterwards.

    :raises InputError: one cannot be made or written to.
    """
    made: list[pathlib.Path] = []
    try:
        found = {}
        for name, place in where.items():
            made += [folder for folder in (place, *place.parents) if not folder.exists()]
            folder = place / f"kappa-doctor-{token}"
            make_folder(folder)
            write_atomically(folder / "login", f"{token}\n")
            write_atomically(folder / "run", _RUN, 0o700)
            found[name] = folder
        yield found
    finally:
        for place in where.values():
            shutil.rmtree(place / f"kappa-doctor-{token}", ignore_errors=True)
        for folder in sorted(made, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()


def seen_here(folder: pathlib.Path, nodes: Collection[str], token: str, stop: Stop) -> Sequence[str]:
    """Those of ``nodes`` whose file is here with what it holds; a server may take a while to tell.

    :raises StoppedError: there is a reason to stop.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        # A change of its own makes a client of NFS look again.
        look = folder / ".look"
        look.touch()
        look.unlink(missing_ok=True)  # others look here at the same time
        found = [node for node in nodes if _first_word(folder / f"node-{node}") == token]
        if len(found) == len(nodes) or time.monotonic() > deadline:
            return found
        stop.check()
        time.sleep(0.2)


def _first_word(path: pathlib.Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(200).partition(" ")[0]
    except OSError:
        return ""
