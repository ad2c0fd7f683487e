"""Render the verdict as one self-contained HTML page that works as a file, without a network, and on paper."""

import os
import pathlib
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kappa.core.ground import figures, node_lists
from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import figure
from kappa.core.ground.redaction import Redaction
from kappa.core.ground.whole_files import read_end
from kappa.core.record.model import OTHER_NODES, REMAINING_NODES, SAME_ALLOCATION, SAME_NODES, Case
from kappa.core.vocabulary.checks import catalogue
from reports.compare.figures import NO_PAST, Past
from reports.predicted.pairs import predicted_pairs
from reports.show import provenance
from reports.show.curve_plots import curve_plots, predicted_plots, scaling_plots, without_plot
from reports.show.heat_maps import heat_map_plots, pair_plots
from reports.show.html_page import render_page
from reports.show.mpi_libraries import library_listings
from reports.show.node_strips import node_strips, without_strip
from reports.show.private_words import redaction_of
from reports.show.result_rows import BOUND_AT, docs_command, groups
from reports.show.sparklines import HEIGHT, WIDTH
from reports.show.timeline import timeline
from reports.verdict.advice import equal_reasons, operator_line
from reports.verdict.bounds import sensitivity_of, tightness_of
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.named_findings import finding_of
from reports.verdict.state import State, grouped
from reports.verdict.summary import (
    changed_site,
    checks_run,
    fabrics_simulated,
    headline,
    known_failure,
    rerun_command,
    tally,
)
from reports.verdict.suspects import drain_suggestions, observations, ranked_evidence

LINES, LINE_CHARS = 30, 400
# More than is shown, because a secret may have several lines.
_END_BYTES, _END_LINES = 2**14, 3 * LINES
_WHEN = {
    "": "at first",
    SAME_ALLOCATION: "again in the same allocation",
    SAME_NODES: "again on the same nodes",
    OTHER_NODES: "on other nodes",
    REMAINING_NODES: "on the remaining nodes",
}
#: The most links listed for one case.
MOST_LINKS = 3
_FUNCTIONS = {
    "State": State,
    "bound_at": BOUND_AT,
    "checks_run": checks_run,
    "counted": figures.counted,
    "docs_command": docs_command,
    "duration": figures.duration,
    "equal_reasons": equal_reasons,
    "figure": figures.figure,
    "folded": node_lists.folded,
    "grouped": grouped,
    "changed_site": changed_site,
    "headline": headline,
    "known_failure": known_failure,
    "moment": figures.moment,
    "most_open": 20,  # failures shown unfolded: a broken partition fails in every case
    "operator_line": operator_line,
    "documented": catalogue,
    "rerun_command": rerun_command,
    "spark_size": (WIDTH, HEIGHT),
    "tally": tally,
}


@dataclass(frozen=True)
class OutputTail:
    """Hold the last lines of an output file. ``link`` leads from the page's folder to the whole file."""

    title: str
    text: str
    link: str


def output_tails(failed: CaseVerdict, run: pathlib.Path, page: pathlib.Path, redaction: Redaction) -> list[OutputTail]:
    """Return the end of standard output and error of each measurement, oldest first; empty files are left out.

    Only files in the folder ``run`` count: a file elsewhere may belong to a later run, or to another program.

    :param page: the folder of the page.
    """
    several = len(failed.measurements) > 1
    return [
        tail
        for attempt in failed.measurements
        for tail in _tails(attempt.case, _WHEN.get(attempt.case.purpose, "") if several else "", run, page, redaction)
    ]


def kept_file(path: str | None, run: pathlib.Path) -> pathlib.Path | None:
    """Return the regular file at ``path`` if it lies in the folder ``run`` after links are resolved, else ``None``."""
    file = pathlib.Path(path or "").resolve()
    return file if path and file.is_relative_to(run.resolve()) and file.is_file() else None


def link_to(file: pathlib.Path, page: pathlib.Path) -> str:
    """Return the relative link from the folder ``page``, so that a folder with both can be copied."""
    return urllib.parse.quote(os.path.relpath(file, page.resolve()))


def _tails(case: Case, when: str, run: pathlib.Path, page: pathlib.Path, redaction: Redaction) -> Iterator[OutputTail]:
    for what, path in (("standard output", case.output), ("standard error", case.error_output)):
        file = kept_file(path, run)
        if file is None or not (text := _last_lines(file, redaction)):
            continue
        yield OutputTail(", ".join(filter(None, (what, when))), text, link_to(file, page))


def _last_lines(file: pathlib.Path, redaction: Redaction) -> str:
    try:
        text = clean(read_end(file, _END_BYTES)).rstrip()
    except OSError as err:
        return f"(cannot be read: {err.strerror})"
    # Remove secrets before cutting, because a secret may span several lines or the end of a line.
    text = redaction.text("\n".join(text.splitlines()[-_END_LINES:]), file.name)
    lines = text.splitlines()[-LINES:]
    return "\n".join(line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in lines)


@dataclass(frozen=True)
class BusiestLinks:
    """Hold a case and its busiest links in words."""

    title: str
    share: float
    links: str


def busiest_links(cases: Sequence[CaseVerdict]) -> list[BusiestLinks]:
    """Return the simulated cases, the one with the busiest link first."""
    found = []
    for case in (verdict.case for verdict in cases):
        links = case.simulation.busiest[:MOST_LINKS] if case.simulation else ()
        if links:
            words = "; ".join(
                f"{one.name} {one.share:.0%} of {figure(one.bandwidth_gb_s)} GB/s, {figure(one.carried_bytes / 1e6)} MB"
                for one in links
            )
            found.append(BusiestLinks(case.title, links[0].share, words))
    return sorted(found, key=lambda row: -row.share)


def address(title: str) -> str:
    """Return the URL fragment for a title; it is the same in every run."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")


def addresses(cases: Sequence[CaseVerdict]) -> dict[int, str]:
    """Return the URL fragment of each case by its ``id``; cases with equal titles are numbered."""
    seen: Counter[str] = Counter()
    found = {}
    for case in cases:
        name = address(case.title)
        seen[name] += 1
        found[id(case)] = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return found


def _acknowledged(verdict: Verdict, failed: Sequence[CaseVerdict]) -> list[str]:
    """Return a line for each acknowledgement of ``failed``; it states the number of cases unless it covers all."""
    known = Counter(str(one) for case in failed if (one := verdict.acknowledged.of(finding_of(case))))
    return [line if count == len(failed) else f"{count} of {len(failed)}: {line}" for line, count in known.items()]


def render(verdict: Verdict, past: Past = NO_PAST, folder: pathlib.Path | None = None) -> str:
    """Return the page. Every value from the report is escaped; only scripts of this package and of Bokeh may run.

    :param past: the earlier runs; the page shows the last one beside each metric.
    :param folder: the folder of the page, for links to raw output; the default is the report's folder.
    """
    run = pathlib.Path(verdict.session.path).parent
    curves = [*curve_plots(verdict.cases), *heat_map_plots(verdict.cases), *scaling_plots(verdict.cases)]
    pairs, not_kept = pair_plots(verdict.cases)
    predicted = predicted_pairs(verdict)
    predictions = predicted_plots(predicted)
    evidence = ranked_evidence(verdict.cases)
    places = addresses(verdict.cases_in(State.FAIL))
    redaction = redaction_of(verdict)
    return render_page(
        "report.html.j2",
        [*curves, *pairs, *predictions],
        _FUNCTIONS,
        verdict=verdict,
        address=address,
        address_of=lambda failed: places[id(failed)],
        acknowledged=lambda failed: _acknowledged(verdict, failed),
        tails=lambda failed: output_tails(failed, run, folder or run, redaction),
        session=verdict.session,
        groups=groups(verdict.cases, past),
        last=past.last,
        sight=sensitivity_of(verdict.cases),
        tightness=tightness_of(verdict.cases),
        curves=curves,
        strips=node_strips(verdict.cases),
        pairs=pairs,
        pairs_not_kept=not_kept,
        few=[*without_plot(verdict.cases), *without_strip(verdict.cases)],
        timeline=timeline(verdict.cases),
        libraries=library_listings([found.case for found in verdict.cases]),
        predicted=predicted,
        predicted_plots=predictions,
        worse=[pair for pair in predicted if pair.is_worse],
        past_limit=[pair for pair in predicted if pair.passes_limit],
        links=busiest_links(verdict.cases),
        simulated=fabrics_simulated(verdict.cases),
        evidence=evidence,
        observations=observations(verdict.cases),
        drain_suggestions=drain_suggestions(evidence),
        provenance=provenance.listings(verdict.cases),
        suite_revisions=provenance.suite_revisions(verdict.cases),
    )
