"""The dossier as one page without a script: for a browser, and the same for paper."""

import functools
import hashlib
import pathlib
from dataclasses import dataclass
from importlib import resources

import jinja2
from markupsafe import Markup
from msgspec import structs

from kappa.core.ground import figures, node_lists
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.ground.folders import SUITE
from kappa.core.record.model import Case
from reports.acceptance.campaign import ATTEMPTS
from reports.acceptance.chart import chart_of
from reports.acceptance.judge import Acceptance, ClauseVerdict, Outcome, Verdict
from reports.acceptance.series import Series
from reports.show import provenance
from reports.verdict.case_verdict import judge_case

NODES_SHOWN = 24


@dataclass(frozen=True)
class Raw:
    """The raw results in a dossier; ``size`` in bytes."""

    count: int
    size: int


@dataclass(frozen=True)
class RawFile:
    """``path`` within the dossier."""

    path: str
    size: int
    sha256: str


def render(verdict: Verdict, raw: Raw, left_out: list[RawFile], evidence: str) -> str:
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
        judge_case(_in_any_copy(case))
        for attempt in verdict.attempts
        for case in attempt.cases
        if Series.of(case) == attempt.series
    ]
    sessions = [attempt.session for attempt in verdict.attempts if attempt.session]
    return environment.get_template("dossier.html.j2").render(
        verdict=verdict,
        contract=verdict.contract,
        Outcome=Outcome,
        Acceptance=Acceptance,
        counts=[(_mandatory(verdict, outcome), outcome) for outcome in Outcome],
        renderer=renderer(),
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


def _in_any_copy(case: Case) -> Case:
    """With its folders as they are called in the campaign and in every copy of it: the page is to be the same."""
    folders = {name: getattr(case, name) for name in ("stagedir", "outputdir")}
    inside = {name: path.rpartition(f"/{ATTEMPTS}/") for name, path in folders.items() if path}
    return structs.replace(case, **{name: f"{ATTEMPTS}/{tail}" for name, (_, found, tail) in inside.items() if found})


def headline(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    counts = [(_mandatory(verdict, outcome), outcome.word) for outcome in Outcome]
    words = ", ".join(f"{number} {word}" for number, word in counts if number)
    optional = len(verdict.clauses) - sum(number for number, _ in counts)
    besides = f" {figures.counted(optional, 'optional clause')} besides, which decide nothing." if optional else ""
    less = f" The contract {verdict.families}." if str(verdict.families) else ""
    count = figures.counted(sum(number for number, _ in counts), "mandatory clause")
    return f"Of {count}: {words or 'none'}.{besides}{less}"


def _mandatory(verdict: Verdict, outcome: Outcome) -> int:
    return sum(v.outcome is outcome for v in verdict.clauses if v.clause.mandatory)


@functools.cache
def renderer() -> str:
    """What made a page: a SHA-256 over this version of what judges and shows."""
    digest = hashlib.sha256()
    for path in sorted(path for top in ("kappa", "reports") for path in (SUITE / top).rglob("*")):
        if path.suffix in (".py", ".j2", ".css"):
            digest.update(f"{path.relative_to(SUITE)}\0".encode() + path.read_bytes())
    return f"Kappa {digest.hexdigest()[:16]}"


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


def worst_nodes(verdict: ClauseVerdict) -> list[tuple[str, str, str]]:
    """The nodes that are nearest to failing, or fail, first: (node, its figures in order of the repeats, the load)."""
    found: dict[str, list[float]] = {}
    for sample in verdict.samples:
        found.setdefault(sample.node or "", []).append(sample.value)
    at_least = verdict.clause.comparison == "at_least"
    order = sorted(found, key=lambda node: min(found[node]) if at_least else -max(found[node]))
    loads = {sample.node or "": sample.load for sample in verdict.samples if sample.load}
    return [
        (node, ", ".join(figure(value, 6) for value in found[node]), loads.get(node, ""))
        for node in order[:NODES_SHOWN]
    ]


def to_pdf(page: str, path: pathlib.Path) -> None:
    """Print the page to A4, tagged (PDF/UA-1), so that a screen reader has its headings, tables and pictures.

    WeasyPrint: a Python package on Pango that a login node can have, needs no browser, no display and no user
    namespaces (which Chromium's sandbox does), reads nothing from the network here, and prints the same bytes again.

    :raises InputError: WeasyPrint or the Pango library that it loads is not there.
    """
    try:
        import weasyprint  # noqa: PLC0415 (loads Pango, which only this needs)
    except (ImportError, OSError) as err:
        remedy = "install WeasyPrint and the library Pango, or go without by --no-pdf"
        raise InputError(f"cannot print the PDF: {err}; {remedy}") from err
    weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf(path, pdf_identifier=b"kappa", pdf_variant="pdf/ua-1")


def _refuse(url: str) -> dict[str, object]:
    raise ValueError(f"the dossier refers to nothing outside itself, not to {url}")
