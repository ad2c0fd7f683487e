"""The raw output of old runs and nights is removed, by the rule ``keep`` in ``site.yaml``; what was measured stays.

A run is a folder of ``results/SITE/runs`` or ``nights`` whose name begins with its time. Its page, whose links would
lead nowhere, says so instead. An acceptance has its own folder, which nothing here touches.
"""

import datetime
import itertools
import pathlib
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kappa.app.conduct.validation import REPORT
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.actions import load_actions
from kappa.core.record.load import PAGE, PRINTED, load_session, raw_output_below
from kappa.core.sites.load import Site
from kappa.core.vocabulary.rules import Keep
from reports.history import dataset
from reports.history.dataset import History
from reports.history.judgement import judge_history
from reports.verdict.judge import judge
from reports.verdict.state import State

_NAME = re.compile(r"(\d{8}T\d{6})")
_DAY_S = 86400.0
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<title>Raw output removed</title>
<p>The raw output of this run is removed, as <code>keep</code> of <code>site.yaml</code> says, and the page that led
there with it. <code>kappa html</code> with this folder makes the page again from the report.</p>
</html>
"""
# As `kappa history` judges without options.
_NEWEST, _FALSE_ALARMS = 500, 0.001


@dataclass(frozen=True)
class KeptRun:
    """A run or night that has raw output; ``began`` in seconds since 1970."""

    folder: pathlib.Path
    began: float

    def failed(self, site: Site) -> bool:
        """Also when it cannot be told."""
        reports = [self.folder / REPORT, *self.folder.glob(f"rotation/*/{REPORT}")]
        try:
            return any(judge(load_session(report), site).state is State.FAIL for report in reports)
        except InputError:
            return True


def remove_old_output(site: Site, results: pathlib.Path, now: float | None = None) -> list[pathlib.Path]:
    """Remove it, where the site has a rule; returns the folders of the runs that it was of.

    Nothing else may use the results meanwhile (``using``).

    :raises InputError: the site, an action on a node or the history cannot be read, or output cannot be removed.
    """
    keep = site.description.described.keep if site.description else None
    if keep is None:
        return []
    # A run that cannot be judged counts as failed: that must not be for the site.
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
    """``remove_old_output``, told; what goes wrong is told, too, and changes no verdict."""
    try:
        removed = remove_old_output(site, results)
    except InputError as err:
        print(f"kappa: warning: old raw output is not removed: {clean(str(err))}", file=sys.stderr, flush=True)
        return
    if removed:
        names = ", ".join(sorted(clean(run.name) for run in removed))
        print(f"raw output removed, as `keep` of site.yaml says: {names}", flush=True)


def runs_with_output(results: pathlib.Path) -> list[KeptRun]:
    """Newest first."""
    found = []
    for folder in itertools.chain((results / "runs").glob("*"), (results / "nights").glob("*")):
        name = _NAME.match(folder.name)
        if name and next(raw_output_below(folder), None):
            found.append(KeptRun(folder, datetime.datetime.strptime(name[1], "%Y%m%dT%H%M%S").timestamp()))
    return sorted(found, key=lambda run: -run.began)


def superfluous(runs: Sequence[KeptRun], keep: Keep, site: Site, now: float) -> list[KeptRun]:
    """Those of ``runs``, newest first, of which no number of the rule keeps the output; never the newest."""
    old = [
        run
        for number, run in enumerate(runs)
        if number >= max(1, keep.runs or 0) and (keep.days is None or now - run.began > keep.days * _DAY_S)
    ]
    kept = list(itertools.islice((run for run in old if run.failed(site)), keep.failures))
    return [run for run in old if run not in kept]


def cited_by_actions(history: pathlib.Path) -> Iterator[str]:
    """All that is in the paths of the runs for which a node was taken out that has not been given back."""
    newest = {action.node: action for action in load_actions(history) if action.outcome == "done"}
    for action in newest.values():
        if action.quarantines and action.report:
            yield from pathlib.Path(action.report).parts


def cited_by_findings(history: pathlib.Path, runs: Sequence[KeptRun]) -> Iterator[str]:
    """The names of the ``runs``, newest first, in which a series became worse that still is, and of its newest."""
    if not dataset.files(history):
        return
    for one in judge_history(History(history), _NEWEST, _FALSE_ALARMS):
        times = one.series.times
        for moment in (times[min(one.finding.at, len(times) - 1)], times[-1]) if one.worse else ():
            yield next((run.folder.name for run in runs if run.began <= moment), "")


def _remove(run: pathlib.Path) -> None:
    try:
        # First what leads to it.
        for page in run.rglob(PAGE):
            write_atomically(page, _PAGE)
        for printed in run.rglob(PRINTED):
            printed.unlink()
        for folder in list(raw_output_below(run)):
            shutil.rmtree(folder)
    except OSError as err:
        raise InputError(f"{err.filename}: cannot be removed: {err.strerror}") from err
