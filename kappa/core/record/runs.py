"""The folders of runs in a site's results: of ``kappa validate``, of nights, and of ReFrame started by hand.

::

    runs/20261122T101500-nightly/run-report.json     kappa validate
    nights/20261122T020000/run-report.json           a night
    reports/run-report-7.json                        reframe -r

Beside ``run-report.json`` of a run or night lie ``record.json``, all that was measured (``load.py``), and
``verdict.json``, what the judge concluded.
"""

import contextlib
import datetime
import os
import pathlib
import re
from collections.abc import Iterator

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import results_folder, site_with_results

# ReFrame's folders: the first for failed and running cases, the second for passed ones.
STAGE, OUTPUT = "stage", "output"
# Folder beside the output of a re-measurement in the same allocation: the output of the first measurement.
FIRST_FOLDER = "first_measurement"
# Folder beside STAGE and OUTPUT, not deleted with them: figures of pairs that are too many for the report.
MATRICES = "matrices"
# ReFrame's own output.
PRINTED = "reframe.out"
# The page beside a report with links to its raw output.
PAGE = "report.html"
# Folder beside a report with the reports of re-measurements in other jobs.
CONFIRMATIONS = "confirmations"
PATTERNS = ("run-report*.json", "report*.json")
#: The lock of a site's results.
RESULTS_LOCK = "lock"
RUN_REPORT, RECORD, VERDICT = "run-report.json", "record.json", "verdict.json"
_FOLDERS = ("runs", "nights")
_BY_HAND = "reports"
_TIME = re.compile(r"\d{8}T\d{6}")


def raw_folder(report: pathlib.Path) -> pathlib.Path:
    """Return the folder with ``STAGE``, ``OUTPUT`` and ``PRINTED`` of this report's session.

    Several sessions may confirm one run, so each confirmation has its own folder.
    """
    return report.with_suffix("") if report.parent.name == CONFIRMATIONS else report.parent


def raw_output_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield every folder ``STAGE`` or ``OUTPUT`` of the sessions whose reports are below ``folder``."""
    for place, names, _ in os.walk(folder):
        raw = [name for name in names if name in (STAGE, OUTPUT)]
        names[:] = [name for name in names if name not in raw]
        yield from (pathlib.Path(place, name) for name in raw)


def find_report(run: pathlib.Path) -> pathlib.Path:
    """Return the report file ``run``, or the newest report in the folder ``run``.

    :raises InputError: there is none.
    """
    if not run.is_dir():
        return run
    found = {path for pattern in PATTERNS for path in run.glob(pattern) if path.is_file()}
    if not found:
        raise InputError(f"{run}: no {' or '.join(PATTERNS)} in this folder")
    return max(found, key=lambda path: (path.stat().st_mtime, path.name))


def reports_of(results: pathlib.Path) -> list[pathlib.Path]:
    """Return the reports in a site's ``results``, or in its folder of runs or nights, newest first."""
    if results.name in _FOLDERS:
        found = {report for pattern in PATTERNS for report in results.glob(f"*/{pattern}")}
    else:
        found = {report for kind in _FOLDERS for pattern in PATTERNS for report in results.glob(f"{kind}/*/{pattern}")}
        found |= {report for pattern in PATTERNS for report in (results / _BY_HAND).glob(pattern)}
    return sorted(filter(pathlib.Path.is_file, found), key=lambda report: (_began(report), str(report)), reverse=True)


def _began(report: pathlib.Path) -> float:
    """Return the start in seconds since 1970: from the name of the run's folder, or else the time of the file."""
    named = began(report.parent.name)
    return report.stat().st_mtime if named is None else named


def began(folder: str) -> float | None:
    """Return the time in the name of a run's folder, in seconds since 1970; ``None`` without a time."""
    named = _TIME.match(folder)
    with contextlib.suppress(ValueError, OverflowError):
        return datetime.datetime.strptime(named[0], "%Y%m%dT%H%M%S").timestamp() if named else None
    return None


def find_run(run: str) -> pathlib.Path:
    """Return the report that ``run`` names.

    :param run: a report, or a folder of reports or of runs or a site, whose newest report is returned.

    :raises InputError: there is none, or no such file, folder or site.
    """
    path = pathlib.Path(run)
    of_site = (path / "settings.py").is_file()
    if path.exists() and not path.is_dir():
        return path
    if path.is_dir() and not of_site:
        with contextlib.suppress(InputError):
            return find_report(path)
        if found := reports_of(path):
            return found[0]
    if not of_site and (path.name != run or path.suffix == ".json"):
        raise _no_run(path)
    return newest_run(site_with_results(run))


def _no_run(path: pathlib.Path) -> InputError:
    if path.is_dir():
        return InputError(f"{clean(str(path))}: no {' or '.join(PATTERNS)} in this folder, and no run below it")
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = suggestion(path.name, (one.name for one in beside))
    return InputError(f"there is no file or folder {clean(str(path))}: {near}")


def newest_run(site: str) -> pathlib.Path:
    """Return the newest report of the site of this name.

    :raises InputError: there is none.
    """
    results = results_folder(site)
    if not (found := reports_of(results)):
        raise InputError(f"the site {site} has no run in {clean(str(results))}: `kappa validate {site}` makes one")
    return found[0]
