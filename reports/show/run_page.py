"""The verdict as one self-contained HTML page: works from a file, without a network, and on paper."""

import pathlib

from kappa.core.ground import figures, node_lists
from reports.compare.earlier import NO_PAST, Past
from reports.predicted.counterparts import predicted_pairs
from reports.predicted.plot import predicted_plots
from reports.show import provenance
from reports.show.curve_plots import curve_plots
from reports.show.headroom_bar import BOUND_AT
from reports.show.heat_map_plots import heat_map_plots
from reports.show.html_page import render_page
from reports.show.link_table import busiest_links
from reports.show.mpi_libraries import library_listings
from reports.show.node_strips import node_strips
from reports.show.output_tails import output_tails
from reports.show.pair_plots import pair_plots
from reports.show.result_groups import groups
from reports.show.scaling_plots import scaling_plots
from reports.verdict.advice import equal_reasons, operator_line
from reports.verdict.gaps import grouped
from reports.verdict.judge import Verdict
from reports.verdict.loose import tightness_of
from reports.verdict.observations import observations
from reports.verdict.ranked_evidence import drain_suggestions, ranked_evidence
from reports.verdict.sight import sight_of
from reports.verdict.state import State
from reports.verdict.summary import checks_run, fabrics_simulated, headline, known_failure, tally

_FUNCTIONS = {
    "State": State,
    "bound_at": BOUND_AT,
    "checks_run": checks_run,
    "counted": figures.counted,
    "duration": figures.duration,
    "equal_reasons": equal_reasons,
    "figure": figures.figure,
    "folded": node_lists.folded,
    "grouped": grouped,
    "headline": headline,
    "known_failure": known_failure,
    "moment": figures.moment,
    "most_open": 20,  # failures whose cards are open: a broken partition fails in every case
    "operator_line": operator_line,
    "tally": tally,
}


def render(verdict: Verdict, past: Past = NO_PAST, folder: pathlib.Path | None = None) -> str:
    """The page. Everything from the report is escaped; only this package's and Bokeh's own scripts may run.

    :param past: the runs before it, the last of which stands beside each metric.
    :param folder: where it will lie, from which it links to raw output; default: beside the report.
    """
    run = pathlib.Path(verdict.session.path).parent
    curves = [*curve_plots(verdict.cases), *heat_map_plots(verdict.cases), *scaling_plots(verdict.cases)]
    pairs, not_kept = pair_plots(verdict.cases)
    predicted = predicted_pairs(verdict)
    predictions = predicted_plots(predicted)
    evidence = ranked_evidence(verdict.cases)
    return render_page(
        "report.html.j2",
        [*curves, *pairs, *predictions],
        _FUNCTIONS,
        verdict=verdict,
        tails=lambda failed: output_tails(failed, run, folder or run),
        session=verdict.session,
        groups=groups(verdict.cases, past),
        last=past.last,
        sight=sight_of(verdict.cases),
        tightness=tightness_of(verdict.cases),
        curves=curves,
        strips=node_strips(verdict.cases),
        pairs=pairs,
        pairs_not_kept=not_kept,
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
