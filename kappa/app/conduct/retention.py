"""Remove the raw output of old runs and nights by the rule ``keep`` in ``site.yaml``. The measured values stay.

A run is a folder in ``results/SITE/runs`` or ``nights`` whose name begins with its time. Only output beside ReFrame's
own output, which a session wrote, is removed. The run's page, whose links would be broken, is replaced by a note.
Acceptances have their own folders, which this module does not touch.
"""

import itertools
import os
import pathlib
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kappa.app.conduct.validation import REPORT
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.actions import load_actions
from kappa.core.record.load import load_session
from kappa.core.record.runs import PAGE, PRINTED, began, raw_output_below
from kappa.core.sites.load import Site
from kappa.core.vocabulary.rules import Keep
from reports.history import dataset
from reports.history.dataset import History
from reports.history.judgement import judge_history
from reports.verdict.state import State
from reports.verdict.stored import verdict_of

_DAY_S = 86400.0
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<title>Raw output removed</title>
<p>Kappa removed the raw output of this run and its page, by the rule <code>keep</code> in <code>site.yaml</code>. To
make the page again from the report, run <code>kappa show --format page</code> with this folder.</p>
</html>
"""
# The defaults of `kappa history`.
_NEWEST, _FALSE_ALARMS = 500, 0.001


@dataclass(frozen=True)
class KeptRun:
    """A run or night with raw output. ``began`` is in seconds since 1970."""

    folder: pathlib.Path
    began: float

    def failed(self, site: Site) -> bool:
        """Return whether the run failed, or cannot be judged."""
        reports = [self.folder / REPORT, *self.folder.glob(f"rotation/*/{REPORT}")]
        try:
            return any(verdict_of(load_session(report), site).state is State.FAIL for report in reports)
        except InputError:
            return True


def remove_old_output(site: Site, results: pathlib.Path, now: float | None = None) -> list[pathlib.Path]:
    """Remove old raw output if the site has a rule. Return the folders of these runs.

    The caller must hold the results (``using``).

    :raises InputError: the site, an action on a node or the history cannot be read, or output cannot be removed.
    """
    keep = site.description.described.keep if site.description else None
    if keep is None:
        return []
    # Runs that cannot be judged count as failed. A broken site must not cause that.
    site.require_expectations()
    runs = runs_with_output(results)
    old = superfluous(runs, keep, site, time.time() if now is None else now)
    if not old:
        return []
    cited = {*cited_by_actions(results / "history"), *cited_by_findings(results / "history", runs)}
    gone = [run.folder for run in old if run.folder.name not in cited]
    for one in gone:
        _remove(one)
    return gone


def tidy(site: Site, results: pathlib.Path) -> None:
    """Call ``remove_old_output``, and print what it removed. An error is a warning and changes no verdict."""
    try:
        removed = remove_old_output(site, results)
    except InputError as err:
        print(f"kappa: warning: old raw output was not removed: {clean(str(err))}", file=sys.stderr, flush=True)
        return
    if removed:
        names = ", ".join(sorted(clean(run.name) for run in removed))
        print(f"raw output removed by `keep` in site.yaml: {names}", flush=True)


def runs_with_output(results: pathlib.Path) -> list[KeptRun]:
    """Return the runs and nights with raw output, newest first."""
    found = []
    for folder in itertools.chain((results / "runs").glob("*"), (results / "nights").glob("*")):
        begun = began(folder.name)
        if begun is not None and next(_own_raw_output(folder), None):
            found.append(KeptRun(folder, begun))
    return sorted(found, key=lambda run: -run.began)


def _own_raw_output(run: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the raw output of this user's sessions in a run. It follows no link."""
    for folder in () if run.is_symlink() else raw_output_below(run):
        status = folder.lstat()
        own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if own and (folder.parent / PRINTED).is_file():
            yield folder


def superfluous(runs: Sequence[KeptRun], keep: Keep, site: Site, now: float) -> list[KeptRun]:
    """Return the runs whose output the rule does not keep, newest first. The newest run is always kept."""
    old = [
        run
        for number, run in enumerate(runs)
        if number >= max(1, keep.runs or 0) and (keep.days is None or now - run.began > keep.days * _DAY_S)
    ]
    kept = list(itertools.islice((run for run in old if run.failed(site)), keep.failures))
    return [run for run in old if run not in kept]


def cited_by_actions(history: pathlib.Path) -> Iterator[str]:
    """Yield the parts of the paths of runs for which a node is still in quarantine."""
    newest = {action.node: action for action in load_actions(history) if action.outcome == "done"}
    for action in newest.values():
        if action.quarantines and action.report:
            yield from pathlib.Path(action.report).parts


def cited_by_findings(history: pathlib.Path, runs: Sequence[KeptRun]) -> Iterator[str]:
    """Yield, for each series that is worse than before, the run in which it became worse, and its newest run.

    :param runs: newest first.
    """
    if not dataset.files(history):
        return
    for one in judge_history(History(history), _NEWEST, _FALSE_ALARMS):
        times = one.series.times
        for moment in (times[min(one.finding.at, len(times) - 1)], times[-1]) if one.worse else ():
            yield next((run.folder.name for run in runs if run.began <= moment), "")


def _remove(run: pathlib.Path) -> None:
    try:
        # First the pages that link to the output.
        for page in run.rglob(PAGE):
            write_atomically(page, _PAGE)
        raw = list(_own_raw_output(run))
        for folder in raw:
            shutil.rmtree(folder)
        for place in {folder.parent for folder in raw}:
            (place / PRINTED).unlink()
    except OSError as err:
        raise InputError(f"{err.filename}: cannot be removed: {err.strerror}") from err
