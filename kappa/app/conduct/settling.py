"""Settle the dead sessions of a run that a command is to read."""

import functools
import pathlib
import sys

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, results_with, site_with_results
from kappa.core.ground.locks import locked
from kappa.core.record.journal import UNFINISHED, unsettled, unsettled_in
from kappa.core.record.runs import RESULTS_LOCK


def settle_given(run: str) -> None:
    """Keep the reports of dead sessions of a run that a command is to read. Start no program.

    Do nothing but say so while the run is being measured, or if it does not lie in the user's own results: its files
    may be from anybody.

    :param run: a report or its folder, or a site, whose runs are all settled.
    """
    path, say = pathlib.Path(run), functools.partial(print, file=sys.stderr, flush=True)
    if path.exists() and not (path / "settings.py").is_file():
        folder = path if path.is_dir() else path.parent
        results, left = results_with(folder), unsettled_in(folder)
    else:
        try:
            results = results_folder(site_with_results(run))
        except InputError:
            return  # `find_run` reports the error
        left = unsettled(results)
    if not left:
        return
    where = clean(str(left[0].parent))
    if results is None:
        say(f"{where}: {UNFINISHED}: it does not lie in your results")
        return
    # Rarely: to load what ends a session takes longer than to read a run.
    from kappa.app.conduct.leftovers import job_ended, settle_all  # noqa: PLC0415

    try:
        with locked(results / RESULTS_LOCK, has_ended=job_ended(None)):
            if settle_all(None, left, results, say):
                say(f"{where}: the next `kappa validate` of the site cancels its jobs")
    except InputError as err:
        say(f"{where}: {UNFINISHED}: {err}")
