"""The commands ``nightly SITE`` and ``nightly-plan SITE``."""

import argparse
import os
import pathlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.ground.whole_files import make_folder, write_atomically, written_beside
from kappa.sites.expected import Site, find_site, load_site
from reports.history.command import history_folder
from reports.nightly.archive import Archive, open_archive, reports_of
from reports.nightly.junit import junit
from reports.nightly.night_record import load_record
from reports.nightly.rotation import tonight
from reports.nightly.summarise import judge_night, single_nodes
from reports.verdict.judge import EXIT_STATUS
from reports.verdict.state import State

if TYPE_CHECKING:
    from reports.history.gate import Judged

# SciPy, Arrow and Bokeh take seconds to load, which the other commands need not wait for.
# ruff: noqa: PLC0415

_DESCRIPTION = """\
Take in what the nights left, hold it against the site's history, and write results/SITE/nightly/:

  index.html   dashboard: calendar of verdicts, trends, suspects, coverage of nodes
  message.md   what changed since last night, what to do first
  junit.xml    the newest night and its history for CI servers
  SITE.prom    the newest night for node_exporter's textfile collector

Exit status: that of the newest night, 0 PASS, 1 FAIL, 2 INCOMPLETE, or there is none; with --gate also 1 when a series
is worse than before, and 2 when the history cannot say."""
NEWEST, FALSE_ALARMS = 500, 0.001


def add_commands(commands: Any) -> None:
    site = argparse.ArgumentParser(add_help=False)
    site.add_argument("site", metavar="SITE", help="name of the site")
    site.add_argument("--results", metavar="DIR", type=pathlib.Path, help="the site's results (default: results/SITE)")
    nightly = commands.add_parser(
        "nightly",
        parents=[site],
        help="dashboard and message on a site's nights",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    nightly.add_argument(
        "--textfile", metavar="DIR", type=pathlib.Path, help="write SITE.prom there instead, node_exporter's directory"
    )
    nightly.add_argument(
        "--gate", action="store_true", help="the history counts, too: status 1 when a series is worse than before"
    )
    nightly.set_defaults(command=_nightly)
    plan = commands.add_parser(
        "nightly-plan",
        parents=[site],
        help="print the nodes whose turn it is tonight",
        description="Print the nodes to measure one by one, those whose last turn is longest ago and some that it\n"
        "left uncovered, a line for each partition that has any: its name, a tab, the nodes separated by commas.\n"
        "The nodes are those that PartitionState of the running night found able to take jobs, of the partitions on\n"
        "which that night ran a check of one node.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan.add_argument("--nights", metavar="N", type=_nights, required=True, help="nights within which all are covered")
    plan.add_argument("--night", metavar="DIR", type=pathlib.Path, required=True, help="folder of the running night")
    plan.set_defaults(command=_plan)


def _nights(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _site_and_results(options: argparse.Namespace) -> tuple[Site, pathlib.Path]:
    results = options.results or history_folder(options.site).parent
    return load_site(find_site((options.site,))), results


def _plan(options: argparse.Namespace) -> int:
    site, results = _site_and_results(options)
    archive = open_archive(results, site)
    usable = single_nodes(judge_night(options.night, load_record(options.night), site).cases, usable=True)
    able = {node for nodes in usable.values() for node in nodes}
    turn = tonight(able, archive.last_turn, archive.last_covered, options.nights)
    for partition, nodes in usable.items():
        if members := [node for node in nodes if node in turn]:
            print(partition, ",".join(members), sep="\t")
    return 0


def _nightly(options: argparse.Namespace) -> int:
    from reports.nightly.dashboard import render
    from reports.nightly.message import message
    from reports.nightly.prometheus import prometheus

    site, results = _site_and_results(options)
    archive = open_archive(results, site)
    if not archive.nights:
        damaged = "".join(f"; {problem}" for problem in archive.damaged)
        raise InputError(f"{results}: no night has ended yet; site_configs/nightly {site.name} runs one{damaged}")
    problem = ""
    try:
        findings = _findings(results, archive)
    except InputError as err:
        # A history that is damaged hides no verdict.
        findings, problem = [], str(err)
        archive = replace(archive, damaged=(*archive.damaged, f"not held against the past: {problem}"))
    night = archive.nights[-1]
    folder = results / "nights" / night.folder
    output = results / "nightly"
    make_folder(output)
    write_atomically(output / "index.html", render(site.name, archive, findings))
    judged = judge_night(folder, load_record(folder), site)
    write_atomically(output / "junit.xml", junit(site.name, night, judged, findings, problem))
    metrics = (options.textfile or output) / f"{site.name}.prom"
    with written_beside(metrics) as file:
        file.write(prometheus(site.name, archive, findings).encode("utf-8"))
        if options.textfile:
            # Before it has its name: node_exporter is another user, and reads it at any time.
            os.fchmod(file.fileno(), 0o644)
    text = message(site.name, archive, findings)
    write_atomically(output / "message.md", text)
    for problem in archive.damaged:
        print(f"left out: {clean(problem)}", file=sys.stderr)
    print(text)
    print(f"dashboard: {clean(str(output / 'index.html'))}")
    return EXIT_STATUS[_with_history(night.state, findings, problem) if options.gate else night.state]


def _with_history(state: State, findings: "list[Judged]", problem: str) -> State:
    if any(one.worse for one in findings):
        return State.FAIL
    return State.INCOMPLETE if problem and state is State.PASS else state


def _findings(results: pathlib.Path, archive: Archive) -> "list[Judged]":
    """Every series judged by itself; across nodes where no set of nodes was measured often enough."""
    from reports.history import dataset
    from reports.history.gate import judge_all
    from reports.history.ingest import ingest
    from reports.history.query import History
    from reports.nightly.series import nightly_series

    folder = results / "history"
    present = dataset.sessions(folder)
    # Reading every report of years takes minutes.
    new = [night for night in archive.nights if not present.issuperset(night.sessions)]
    done = ingest(reports_of(results, new), folder)
    for problem in done.damaged:
        print(f"left out of the history: {clean(problem)}", file=sys.stderr)
    try:
        history = History(folder)
    except InputError:
        return []  # no night has measured anything yet
    return judge_all(history, nightly_series(history, NEWEST), FALSE_ALARMS)
