"""Write the outputs of a site's nights: dashboard, message, JUnit XML and a text file for node_exporter."""

import pathlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SIMULATED_SITE
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.sites.load import Site
from reports.nightly.archive import Archive, open_archive, reports_of
from reports.nightly.junit import junit
from reports.nightly.night import load_record
from reports.nightly.summarise import judge_night
from reports.verdict.judge import EXIT_STATUS
from reports.verdict.state import State

if TYPE_CHECKING:
    from reports.history.judgement import JudgedSeries
    from reports.nightly.alert import NightAlert

# SciPy, Arrow and Bokeh take seconds to load, and the start of a night does not need them.
# ruff: noqa: PLC0415

NEWEST = 500
ALERT = "alert.json"


def publish(
    site: Site,
    results: pathlib.Path,
    textfile: pathlib.Path | None = None,
    *,
    gate: bool = False,
    link: str = "",
    deliver: "Callable[[NightAlert], None] | None" = None,
) -> int:
    """Write ``results/nightly`` and return the exit status of the newest night.

    :param textfile: the folder of node_exporter's file; the default is ``results/nightly``.
    :param gate: also fail if a series is worse than before.
    :param link: the URL under which ``results`` is served, for links.
    :param deliver: called with the alert when everything is written.

    :raises InputError: there is no night, or something cannot be read or written.
    """
    from reports.nightly.alert import NO_LINKS, Links, make_alert
    from reports.nightly.dashboard import render
    from reports.nightly.message import message
    from reports.nightly.prometheus import prometheus

    archive = open_archive(results, site)
    if not archive.nights:
        damaged = "".join(f"; {problem}" for problem in archive.damaged)
        raise InputError(f"{results}: no night has ended yet; start one with `kappa night run {site.name}`{damaged}")
    problem = ""
    try:
        findings = _findings(results, archive)
    except InputError as err:
        # A damaged history does not hide the verdict.
        findings, problem = [], str(err)
        archive = replace(archive, damaged=(*archive.damaged, f"not compared with the past: {problem}"))
    night = archive.nights[-1]
    links = Links.of(link) if link else NO_LINKS
    folder = results / "nights" / night.folder
    output = results / "nightly"
    make_folder(output)
    write_atomically(output / "index.html", render(site.name, archive, findings))
    judged = judge_night(folder, load_record(folder), site)
    write_atomically(output / "junit.xml", junit(site.name, night, judged, findings, problem, archive.acknowledged))
    metrics = (textfile or output) / f"{site.name}.prom"
    # node_exporter is another user.
    write_atomically(metrics, prometheus(site.name, archive, findings, links), 0o644 if textfile else 0o600)
    text = message(site.name, archive, findings, list(filter(None, (links.report(night), links.dashboard))))
    write_atomically(output / "message.md", text)
    alert = make_alert(site.name, archive, findings, text, links)
    write_atomically(output / ALERT, alert.document)
    for damage in archive.damaged:
        print(f"left out: {clean(damage)}", file=sys.stderr)
    print(text)
    print(f"dashboard: {clean(str(output / 'index.html'))}")
    if deliver:
        deliver(alert)
    return EXIT_STATUS[_with_history(night.state, findings, problem) if gate else night.state]


def _with_history(state: State, findings: "list[JudgedSeries]", problem: str) -> State:
    if any(one.worse for one in findings):
        return State.FAIL
    return State.INCOMPLETE if problem and state is State.PASS else state


def _findings(results: pathlib.Path, archive: Archive) -> "list[JudgedSeries]":
    """Judge every series; join the sets of nodes if none was measured often enough."""
    from reports.history import dataset
    from reports.history.dataset import History
    from reports.history.ingest import ingest
    from reports.history.judgement import false_alarms_of, judge_all, nightly_series

    folder = results / "history"
    present = dataset.sessions(folder)
    # Reading every report of years takes minutes.
    new = [night for night in archive.nights if not present.issuperset(night.sessions)]
    done = ingest(reports_of(results, new), folder, of_fabrics=results.name == SIMULATED_SITE)
    for problem in done.damaged:
        print(f"left out of the history: {clean(problem)}", file=sys.stderr)
    try:
        history = History(folder)
    except InputError:
        return []  # no night has a measurement yet
    series = nightly_series(history, NEWEST)
    return judge_all(history, series, false_alarms_of(series))
