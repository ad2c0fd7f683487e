"""The dossier as one page without a script: for a browser, and the same for paper."""

import pathlib
from dataclasses import dataclass
from importlib import resources

import jinja2
from markupsafe import Markup

from kappa.ground import figures, node_lists
from kappa.ground.errors import InputError
from kappa.ground.figures import NOTHING, figure
from reports.acceptance.chart import chart_of
from reports.acceptance.judge import Acceptance, ClauseVerdict, Outcome, Verdict
from reports.acceptance.series import Series
from reports.show import provenance
from reports.verdict.case_verdict import judge_case

NODES_SHOWN = 24


@dataclass(frozen=True)
class RawFile:
    """``path`` within the dossier."""

    path: str
    size: int
    sha256: str


def render(verdict: Verdict, raw: list[RawFile], left_out: list[RawFile], evidence: str) -> str:
    """The page. Everything that comes from the contract or a result is escaped, and no script may run.

    :param left_out: raw files too large for the dossier.
    :param evidence: SHA-256 over all that the verdict follows from.
    """
    standing = (Outcome.NOT_MET, Outcome.INCOMPLETE)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports.acceptance"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    cases = [
        judge_case(case) for attempt in verdict.attempts for case in attempt.cases if Series.of(case) == attempt.series
    ]
    sessions = [attempt.session for attempt in verdict.attempts if attempt.session]
    return environment.get_template("dossier.html.j2").render(
        verdict=verdict,
        contract=verdict.contract,
        Outcome=Outcome,
        Acceptance=Acceptance,
        counts=[(verdict.count(outcome), outcome) for outcome in Outcome],
        against=[v for v in verdict.clauses if v.clause.mandatory and v.outcome in standing],
        waived=[v for v in verdict.clauses if v.outcome is Outcome.WAIVED],
        charts={v.clause.id: chart_of(v) for v in verdict.clauses},
        listings=provenance.listings(cases),
        suite_revisions=provenance.suite_revisions(cases),
        sessions=sessions,
        period=sorted(session.time_start for session in sessions),
        raw=raw,
        left_out=left_out,
        evidence=evidence,
        style=Markup(resources.files("reports.acceptance").joinpath("templates", "dossier.css").read_text("utf-8")),
        figure=figure,
        folded=node_lists.folded,
        moment=figures.moment,
        measured=measured,
        interval=interval,
        headline=headline,
        worst_nodes=worst_nodes,
        nodes_shown=NODES_SHOWN,
    )


def headline(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    mandatory = [v for v in verdict.clauses if v.clause.mandatory]
    words = ", ".join(
        f"{sum(v.outcome is outcome for v in mandatory)} {outcome.word}"
        for outcome in Outcome
        if any(v.outcome is outcome for v in mandatory)
    )
    less = f" The contract {verdict.families}." if str(verdict.families) else ""
    return f"Of {figures.counted(len(mandatory), 'mandatory clause')}: {words or 'none'}.{less}"


def measured(verdict: ClauseVerdict) -> str:
    """The statistic with its unit, with enough digits to be told from the threshold."""
    if verdict.value is None:
        return NOTHING
    clause = verdict.clause
    same = verdict.value == clause.threshold
    text = figure(verdict.value) if same else figures.figure_apart(verdict.value, clause.threshold)
    return f"{text} {clause.unit}".rstrip()


def interval(verdict: ClauseVerdict) -> str:
    found = verdict.interval
    if found is None:
        return NOTHING
    if found.low is None or found.high is None:
        return found.method
    return f"{figure(found.low)} … {figure(found.high)} {verdict.clause.unit}".rstrip() + f" ({found.method})"


def worst_nodes(verdict: ClauseVerdict) -> list[tuple[str, str]]:
    """The nodes that are nearest to failing, or fail, first: (node, its figures in order of the repeats)."""
    found: dict[str, list[float]] = {}
    for sample in verdict.samples:
        found.setdefault(sample.node or "", []).append(sample.value)
    at_least = verdict.clause.comparison == "at_least"
    order = sorted(found, key=lambda node: min(found[node]) if at_least else -max(found[node]))
    return [(node, ", ".join(figure(value, 6) for value in found[node])) for node in order[:NODES_SHOWN]]


def to_pdf(page: str, path: pathlib.Path) -> None:
    """Print the page to A4.

    WeasyPrint: a Python package on Pango that a login node can have, needs no browser, no display and no user
    namespaces (which Chromium's sandbox does), reads nothing from the network here, and prints the same bytes again.

    :raises InputError: WeasyPrint or the Pango library that it loads is not there.
    """
    try:
        import weasyprint  # noqa: PLC0415 (loads Pango, which only this needs)
    except (ImportError, OSError) as err:
        remedy = "install WeasyPrint and the library Pango, or go without by --no-pdf"
        raise InputError(f"cannot print the PDF: {err}; {remedy}") from err
    weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf(path, pdf_identifier=b"kappa")


def _refuse(url: str) -> dict[str, object]:
    raise ValueError(f"the dossier refers to nothing outside itself, not to {url}")
