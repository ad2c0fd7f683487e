"""The verdict as one self-contained HTML page: works from a file, without a network, and on paper."""

from kappa.ground import figures, node_lists
from reports.show import provenance
from reports.show.curve_plots import curve_plots
from reports.show.heat_map_plots import heat_map_plots
from reports.show.html_page import render_page
from reports.show.node_plots import node_plots
from reports.show.pair_plots import pair_plots
from reports.show.result_rows import rows
from reports.show.scaling_plots import scaling_plots
from reports.verdict.advice import operator_line
from reports.verdict.gaps import grouped
from reports.verdict.judge import Verdict
from reports.verdict.ranked_evidence import drain_suggestions, ranked_evidence
from reports.verdict.sight import sight_of
from reports.verdict.state import State
from reports.verdict.summary import headline, known_failure, tally

_FUNCTIONS = {
    "State": State,
    "duration": figures.duration,
    "folded": node_lists.folded,
    "grouped": grouped,
    "headline": headline,
    "known_failure": known_failure,
    "moment": figures.moment,
    "operator_line": operator_line,
    "tally": tally,
}


def render(verdict: Verdict) -> str:
    """The page. Everything from the report is escaped; only this package's and Bokeh's own scripts may run."""
    curves = [*curve_plots(verdict.cases), *heat_map_plots(verdict.cases), *scaling_plots(verdict.cases)]
    per_node = [*node_plots(verdict.cases), *pair_plots(verdict.cases)]
    evidence = ranked_evidence(verdict.cases)
    return render_page(
        "report.html.j2",
        [*curves, *per_node],
        _FUNCTIONS,
        verdict=verdict,
        session=verdict.session,
        rows=rows(verdict),
        sight=sight_of(verdict.cases),
        curves=curves,
        per_node=per_node,
        evidence=evidence,
        drain_suggestions=drain_suggestions(evidence),
        provenance=provenance.listings(verdict.cases),
        suite_revisions=provenance.suite_revisions(verdict.cases),
    )
