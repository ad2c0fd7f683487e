"""Render the dossier as one page without a script, for a browser and paper, with a chart of each clause's samples."""

import functools
import hashlib
import pathlib
from collections.abc import Sequence
from importlib import resources

from markupsafe import Markup
from msgspec import structs

from kappa.core.ground import figures, node_lists
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.ground.folders import SUITE
from kappa.core.record.model import Case
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.layout import ATTEMPTS
from reports.acceptance.campaign.measured import RawFile
from reports.acceptance.kinds.clause import ClauseOutcome, ClauseVerdict, ContractVerdict
from reports.acceptance.listing import count_mandatory, headline
from reports.acceptance.requirements import requirement_matrix, uncovered
from reports.show import provenance
from reports.show.html_page import template_environment
from reports.verdict.excuse import judge_attempt


def render(verdict: ContractVerdict, raw: Sequence[int], left_out: Sequence[RawFile], evidence: str) -> str:
    """Return the page. Every value from the contract or a result is escaped, and no script may run.

    :param raw: the size of each raw file, in bytes.
    :param left_out: raw files that are too large for the dossier.
    :param evidence: SHA-256 over contract and raw results.
    """
    standing = (ClauseOutcome.NOT_MET, ClauseOutcome.INCOMPLETE)
    cases = [
        judge_attempt(_in_any_copy(case))
        for attempt in verdict.attempts
        for case in attempt.cases
        if CaseSeries.of(case) == attempt.series
    ]
    sessions = [attempt.session for attempt in verdict.attempts if attempt.session]
    samples = [sample for judged in verdict.clauses for sample in judged.samples]
    moments = [*(session.time_start for session in sessions), *(one.started for one in samples if one.started)]
    return (
        template_environment("reports.acceptance")
        .get_template("dossier.html.j2")
        .render(
            verdict=verdict,
            contract=verdict.contract,
            ClauseOutcome=ClauseOutcome,
            counts=[(count_mandatory(verdict, outcome), outcome) for outcome in ClauseOutcome],
            renderer=renderer(),
            against=[v for v in verdict.clauses if v.clause.mandatory and v.outcome in standing],
            waived=[v for v in verdict.clauses if v.outcome is ClauseOutcome.WAIVED],
            sections={v.clause.id: v.clause.section(v) for v in verdict.clauses},
            requirements=requirement_matrix(verdict),
            uncovered=uncovered(verdict.contract, verdict.requirements),
            listings=provenance.listings(cases),
            suite_revisions=provenance.suite_revisions(cases),
            sessions=sessions,
            period=sorted(moments),
            raw=raw,
            left_out=left_out,
            evidence=evidence,
            style=Markup(resources.files("reports.acceptance").joinpath("templates", "dossier.css").read_text("utf-8")),
            figure=figure,
            folded=node_lists.folded,
            moment=figures.moment,
            interval=interval,
            headline=headline,
        )
    )


def _in_any_copy(case: Case) -> Case:
    """Return the case with folders relative to the campaign, so that every copy gives the same page."""
    folders = {name: getattr(case, name) for name in ("stagedir", "outputdir")}
    parts = {name: path.rpartition(f"/{ATTEMPTS}/") for name, path in folders.items() if path}
    return structs.replace(case, **{name: f"{ATTEMPTS}/{tail}" for name, (_, inside, tail) in parts.items() if inside})


@functools.cache
def renderer() -> str:
    """Return the version of the suite that makes a page: a SHA-256 over the code that judges and renders."""
    digest = hashlib.sha256()
    for path in sorted(path for top in ("kappa", "reports") for path in (SUITE / top).rglob("*")):
        if path.suffix in (".py", ".j2", ".css"):
            digest.update(f"{path.relative_to(SUITE)}\0".encode() + path.read_bytes())
    return f"Kappa {digest.hexdigest()[:16]}"


def interval(verdict: ClauseVerdict) -> str:
    """Return the confidence interval with its unit and method, or only the method without an interval."""
    if verdict.interval is None:
        return NOTHING
    low, high, method = verdict.interval.low, verdict.interval.high, verdict.interval.method
    if low is None or high is None:
        return method
    return f"{figure(low)} … {figure(high)} {verdict.clause.unit}".rstrip() + f" ({method})"


def to_pdf(page: str, path: pathlib.Path) -> None:
    """Print the page to A4 as tagged PDF/UA-1, so that a screen reader finds its headings, tables and pictures.

    WeasyPrint is a Python package on Pango that a login node can have. It needs no browser, no display and no user
    namespaces, unlike Chromium. It reads nothing from the network here, and gives the same bytes again.

    :raises InputError: WeasyPrint or the Pango library is missing.
    """
    try:
        import weasyprint  # noqa: PLC0415 (loads Pango, which only this needs)
    except (ImportError, OSError) as err:
        remedy = "install WeasyPrint and the library Pango, or leave out the PDF with --no-pdf"
        raise InputError(f"cannot print the PDF: {err}; {remedy}") from err
    weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf(path, pdf_identifier=b"kappa", pdf_variant="pdf/ua-1")


def _refuse(url: str) -> dict[str, object]:
    raise ValueError(f"the dossier must not refer to anything outside itself, found {url}")
