"""``kappa site``."""

from __future__ import annotations

import argparse
import datetime
import difflib
import pathlib
import re
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, name
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.folders import known_sites, only_site, own_sites
from kappa.core.ground.processes import stopping
from kappa.core.ground.whole_files import make_folder, write_atomically

if TYPE_CHECKING:
    from kappa.app.survey.found import Survey

_NEW = """\
Describe this login node's cluster as the site NAME. Kappa asks Slurm for nodes, partitions, switches and settings, and
runs one job of seconds on each kind of node. It writes each value with its source.

First load the modules with which you compile. Afterwards answer each FILL IN in site.yaml and expected.yaml. Each one
marks a value that Kappa could not find, and makes every verdict INCOMPLETE.

If the site exists already, Kappa writes nothing. It shows what changed on the cluster and how the files would change.
With --write it updates the files that you have not edited.

Exit status: 0 written, or nothing has changed; 1 something has changed; 2 error.

examples:
  kappa site new mycluster
  kappa site new mycluster --path /opt/osu/bin --access=--account=hpc
  kappa site new mycluster                         the second time: show what changed since
  kappa site new mycluster --write                 and update the files
"""
#: The survey from which Kappa wrote the site, in the site's folder.
FOUND = "found.json"
_JOB_S = 120.0
_READABLE = 0o644


def add_arguments(to: CommandParser) -> None:
    to.describe("Describe a cluster as a site, list the sites, and accept the changed programs of one.")
    to.add_command("new", "write a site by asking the cluster", _add_new)
    to.add_command("list", "list all sites and their folders", lambda listing: listing.set_defaults(act=_list))
    to.add_command("software", "list programs and libraries that have changed, and accept them", "software")


def _add_new(to: CommandParser) -> None:
    to.describe(_NEW, _new)
    to.add_argument("site", metavar="NAME", type=name, help="the new site, a folder in site_configs or in --sites")
    to.add_argument(
        "--path", metavar="FOLDER", action="append", default=[],
        help="a folder with benchmark programs, first on PATH; repeat for more",
    )  # fmt: skip
    to.add_argument(
        "--access", metavar="OPTION", action="append", default=[],
        help="a Slurm option for every job, for instance --access=--account=NAME; repeat for more",
    )  # fmt: skip
    to.add_argument(
        "--wait", metavar="S", type=float, default=_JOB_S, help=f"wait S seconds for each job (default: {_JOB_S:g})"
    )
    to.add_argument("--write", action="store_true", help="update the files of an existing site")


def _new(options: argparse.Namespace) -> int:
    from kappa.app.conduct.surveying import Asker, survey
    from kappa.app.survey.found import Survey
    from kappa.core.ground.documents import load_json

    folder = only_site(options.site) or own_sites() / options.site
    before = load_json(folder / FOUND, Survey) if (folder / FOUND).is_file() else None
    if before is None and folder.exists():
        raise InputError(f"{clean(str(folder))} exists, and `kappa site new` did not write it: choose another name")
    path, access = options.path, options.access
    if before and not (path or access):
        path, access = before.path, before.access
    with stopping() as stop:
        now = survey(Asker(stop, path, access, options.wait), path, access, _say)
    today = datetime.date.today()
    if before is None:
        return _first(folder, now, today)
    return _again(folder, before, now, today, write=options.write)


def _list(options: argparse.Namespace) -> int:
    for site, folder in sorted(known_sites().items()):
        _say(f"{site}: {folder}")
    return 0


def _first(folder: pathlib.Path, survey: Survey, today: datetime.date) -> int:
    from kappa.app.survey.limits import too_small
    from kappa.app.survey.site_files import asked, site_files

    _update(folder, survey, site_files(folder.name, survey, today))
    _say(f"written to {folder}")
    for title, part in survey.parts.items():
        for limit in too_small(part):
            _say(f"limit too small on {title}: {limit}")
    questions = asked(survey)
    if questions:
        _say(f"{counted(len(questions), 'place')} to fill in:")
    for question in questions:
        _say(f"  {question}")
    _say(f"next: kappa doctor {folder.name}, then kappa validate {folder.name} smoke")
    return 0


def _again(folder: pathlib.Path, before: Survey, now: Survey, today: datetime.date, *, write: bool) -> int:
    from kappa.app.survey.found import changes
    from kappa.app.survey.site_files import site_files

    changed = changes(before, now)
    if not changed:
        _say("the cluster has not changed")
        return 0
    for line in changed:
        _say(line)
    was, new = (site_files(folder.name, survey, today) for survey in (before, now))
    for path in sorted({*was, *new}):
        old_lines, new_lines = (files.get(path, "").splitlines(keepends=True) for files in (was, new))
        _say("".join(difflib.unified_diff(old_lines, new_lines, f"{path}, then", f"{path}, now")))
    if not write:
        _say("nothing was written; add --write to update the files")
        return 1
    differing = {path: text for path, text in new.items() if text != was.get(path)}
    edited = [path for path in differing if _edited(folder / path, was.get(path, ""))]
    for path in edited:
        _say(f"{path}: not updated, because you have edited it; apply the change above by hand")
    _update(folder, now, {path: text for path, text in differing.items() if path not in edited})
    return 1


def _update(folder: pathlib.Path, survey: Survey, files: dict[str, str]) -> None:
    """Write the files and the survey, and check that the site can be used."""
    from kappa.app.conduct.preflight import require_sound
    from kappa.app.survey.found import kept
    from kappa.core.sites.load import Site

    for path, text in {**files, FOUND: kept(survey)}.items():
        make_folder((folder / path).parent)
        write_atomically(folder / path, text, _READABLE)
    require_sound(Site(folder))


def _edited(path: pathlib.Path, written: str) -> bool:
    """Return whether the user edited the file. Dates do not count: a reference keeps its first date."""
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    return bool(there) and _undated(there) != _undated(written)


def _undated(text: str) -> str:
    return re.sub(r"\bdate: \S+", "", text)


def _say(words: str) -> None:
    if words:
        print(clean(words), flush=True)
