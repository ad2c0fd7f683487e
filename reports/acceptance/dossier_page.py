"""Render the dossier as one page without a script, for a browser and paper, with a chart of each clause's samples."""

import functools
import hashlib
import math
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from markupsafe import Markup
from msgspec import structs

from kappa.core.ground import figures, node_lists
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.ground.folders import SUITE
from kappa.core.record.model import Case
from kappa.core.sites.contract import Contract
from reports.acceptance.campaign import ATTEMPTS, CaseSeries
from reports.acceptance.judge import Acceptance, ClauseOutcome, ClauseVerdict, ContractVerdict
from reports.acceptance.measured import RawFile
from reports.acceptance.outage_page import OutageSection, measured_words, planned_tests, section_of
from reports.acceptance.pieces_page import commitment_table, piece_table
from reports.show import provenance
from reports.show.html_page import round_steps, template_environment
from reports.verdict.excuse import judge_attempt

WIDTH, HEIGHT = 680, 210
LEFT, RIGHT, TOP, BOTTOM = 78, 150, 12, 34
# Above this ratio of largest to smallest value the axis is logarithmic.
_LOGARITHMIC_FROM = 30
_MOST_COLUMNS = 12
NODES_SHOWN = 24


@dataclass(frozen=True)
class ChartDot:
    x: float
    y: float
    holds: bool
    disturbed: bool
    title: str


@dataclass(frozen=True)
class ChartLine:
    """Draw a level across the chart; ``label_y`` is the height at which its label touches no other."""

    kind: str
    y: float
    label: str
    label_y: float


@dataclass(frozen=True)
class Chart:
    """Hold a chart; lengths are in pixels from the top left. ``forbidden`` and ``band`` are (y, height)."""

    ticks: list[tuple[float, str]]
    columns: list[tuple[float, str]]
    dots: list[ChartDot]
    lines: list[ChartLine]
    forbidden: tuple[float, float]
    band: tuple[float, float] | None
    x_title: str
    y_title: str
    summary: str

    width, height, left, top = WIDTH, HEIGHT, LEFT, TOP
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM


def chart_of(verdict: ClauseVerdict) -> Chart | None:
    """Return the chart of a clause, or ``None`` without samples."""
    if not verdict.samples or verdict.value is None:
        return None
    clause, interval = verdict.clause, verdict.interval
    by_node = clause.statistic.kind == "every_node"
    worst = "worst node" if by_node else str(clause.statistic)
    levels = [("threshold", clause.threshold, clause.limit), ("statistic", verdict.value, worst)]
    if clause.predicted:
        levels.append(("predicted", clause.predicted.value, "predicted"))
    ends = (interval.low, interval.high) if interval else (None, None)
    values = [sample.value for sample in verdict.samples]
    y, ticks = _scale([*values, *(value for _, value, _ in levels), *(end for end in ends if end is not None)])
    names = sorted({sample.node or "" for sample in verdict.samples}) if by_node else []
    count = len(names) if by_node else clause.repeats
    x_of = [LEFT + (number + 0.5) * (WIDTH - LEFT - RIGHT) / count for number in range(count)]
    threshold = y(clause.threshold)
    down = clause.comparison == "at_least"
    return Chart(
        ticks=ticks,
        columns=_columns(x_of, names if by_node else [str(number + 1) for number in range(count)]),
        dots=[
            ChartDot(
                x=x_of[names.index(sample.node or "") if by_node else sample.repeat - 1],
                y=y(sample.value),
                holds=clause.holds(sample.value),
                disturbed=bool(sample.load),
                title=f"repeat {sample.repeat}, {sample.node or ' '.join(sample.nodes)}: {figure(sample.value)}"
                + (f"; {sample.load}" if sample.load else ""),
            )
            for sample in verdict.samples
        ],
        lines=_apart([ChartLine(kind, y(value), label, y(value)) for kind, value, label in levels]),
        forbidden=(threshold, HEIGHT - BOTTOM - threshold) if down else (TOP, threshold - TOP),
        band=(y(ends[1]), y(ends[0]) - y(ends[1])) if ends[0] is not None and ends[1] is not None else None,
        x_title="node" if by_node else "repeat",
        y_title=clause.unit or "value",
        summary=f"{len(values)} samples from {figure(min(values))} to {figure(max(values))} {clause.unit}".rstrip(),
    )


def _scale(values: Sequence[float]) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Return a function from a value to pixels, and the ticks, for an axis that shows all ``values``."""
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low >= _LOGARITHMIC_FROM
    if logarithmic:
        start, end = math.log10(low) - 0.1, math.log10(high) + 0.1
        exponents = range(math.floor(start), math.ceil(end) + 1)
        step = max(1, math.ceil(len(exponents) / 6))
        candidates = [10.0**exponent for exponent in exponents if exponent % step == 0]
    else:
        margin = 0.08 * (high - low or abs(high) or 1)
        start, end = (0 if 0 <= low < 0.5 * high else low - margin), high + margin
        candidates = round_steps(start, end)

    def place(value: float) -> float:
        position = ((math.log10(value) if logarithmic else value) - start) / (end - start)
        return round(HEIGHT - BOTTOM - position * (HEIGHT - TOP - BOTTOM), 1)

    return place, [(place(tick), figure(tick)) for tick in candidates if TOP <= place(tick) <= HEIGHT - BOTTOM]


def _columns(places: list[float], names: list[str]) -> list[tuple[float, str]]:
    """Return at most ``_MOST_COLUMNS`` labels with their places."""
    step = math.ceil(len(names) / _MOST_COLUMNS)
    return [(places[number], names[number][:14]) for number in range(0, len(names), step)]


def _apart(lines: list[ChartLine]) -> list[ChartLine]:
    """Return the lines with their labels moved so that none overlaps, within the chart."""
    gap = 14.0
    ordered = sorted(lines, key=lambda line: line.y)
    free = TOP + 4.0
    for number, line in enumerate(ordered):
        ordered[number] = replace(line, label_y=max(line.y, free))
        free = ordered[number].label_y + gap
    limit = float(HEIGHT - BOTTOM)
    for number, line in reversed(list(enumerate(ordered))):
        ordered[number] = replace(line, label_y=min(line.label_y, limit))
        limit = ordered[number].label_y - gap
    return ordered


@dataclass(frozen=True)
class Raw:
    """Count the raw results in a dossier; ``size`` is in bytes."""

    count: int
    size: int


def render(verdict: ContractVerdict, raw: Raw, left_out: list[RawFile], evidence: str) -> str:
    """Return the page. Every value from the contract or a result is escaped, and no script may run.

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
    suite_revisions = provenance.suite_revisions(cases)
    return template_environment("reports.acceptance").get_template("dossier.html.j2").render(
        verdict=verdict,
        contract=verdict.contract,
        ClauseOutcome=ClauseOutcome,
        Acceptance=Acceptance,
        counts=[(_mandatory(verdict, outcome), outcome) for outcome in ClauseOutcome],
        renderer=renderer(),
        against=[v for v in verdict.clauses if v.clause.mandatory and v.outcome in standing],
        waived=[v for v in verdict.clauses if v.outcome is ClauseOutcome.WAIVED],
        charts={v.clause.id: chart_of(v) for v in verdict.clauses},
        outages=_outage_sections(verdict),
        pieces={v.clause.id: piece_table(v) for v in verdict.clauses},
        listings=provenance.listings(cases),
        commitments=commitment_table(verdict, suite_revisions),
        suite_revisions=suite_revisions,
        sessions=sessions,
        period=sorted(
            [*(session.time_start for session in sessions), *(o.started for v in verdict.clauses for o in v.operations)]
        ),
        raw=raw,
        left_out=left_out,
        evidence=evidence,
        style=stylesheet(),
        figure=figure,
        folded=node_lists.folded,
        moment=figures.moment,
        measured=measured,
        interval=interval,
        headline=headline,
        worst_nodes=worst_nodes,
        nodes_shown=NODES_SHOWN,
    )


def _outage_sections(verdict: ContractVerdict) -> dict[str, OutageSection | None]:
    """Clause id -> its section, or ``None``; the weeks of the outage log are in the first."""
    weeks = verdict.weeks
    found: dict[str, OutageSection | None] = {}
    for clause in verdict.clauses:
        found[clause.clause.id] = section_of(clause.clause, clause.outages, weeks) if clause.outages else None
        weeks = {} if clause.outages else weeks
    return found


def characteristic_page(contract: Contract) -> str:
    """A page with the operating characteristic of each reliability clause; everything in it is escaped."""
    return template_environment("reports.acceptance").get_template("characteristic.html.j2").render(
        contract=contract, tests=planned_tests(contract), style=stylesheet(), renderer=renderer()
    )


def stylesheet() -> Markup:
    return Markup(resources.files("reports.acceptance").joinpath("templates", "dossier.css").read_text("utf-8"))


def _in_any_copy(case: Case) -> Case:
    """Return the case with folders relative to the campaign, so that every copy gives the same page."""
    folders = {name: getattr(case, name) for name in ("stagedir", "outputdir")}
    inside = {name: path.rpartition(f"/{ATTEMPTS}/") for name, path in folders.items() if path}
    return structs.replace(case, **{name: f"{ATTEMPTS}/{tail}" for name, (_, found, tail) in inside.items() if found})


def headline(verdict: ContractVerdict) -> str:
    """Return the verdict in one sentence."""
    counts = [(_mandatory(verdict, outcome), outcome.word) for outcome in ClauseOutcome]
    words = ", ".join(f"{number} {word}" for number, word in counts if number)
    optional = len(verdict.clauses) - sum(number for number, _ in counts)
    besides = f" {figures.counted(optional, 'optional clause')} without effect on the verdict." if optional else ""
    less = f" The contract {verdict.families}." if str(verdict.families) else ""
    count = figures.counted(sum(number for number, _ in counts), "mandatory clause")
    return f"{count}: {words or 'none'}.{besides}{less}"


def _mandatory(verdict: ContractVerdict, outcome: ClauseOutcome) -> int:
    return sum(v.outcome is outcome for v in verdict.clauses if v.clause.mandatory)


@functools.cache
def renderer() -> str:
    """Return the version of the suite that makes a page: a SHA-256 over the code that judges and renders."""
    digest = hashlib.sha256()
    for path in sorted(path for top in ("kappa", "reports") for path in (SUITE / top).rglob("*")):
        if path.suffix in (".py", ".j2", ".css"):
            digest.update(f"{path.relative_to(SUITE)}\0".encode() + path.read_bytes())
    return f"Kappa {digest.hexdigest()[:16]}"


def measured(verdict: ClauseVerdict) -> str:
    """Return the statistic with its unit, with enough digits to differ from the threshold."""
    if verdict.outages and verdict.outages.test:
        return measured_words(verdict.clause, verdict.outages)
    if verdict.value is None:
        return NOTHING
    clause = verdict.clause
    same = verdict.value == clause.threshold
    text = figure(verdict.value) if same else figures.figure_apart(verdict.value, clause.threshold)
    return "; ".join([f"{text} {clause.unit}".rstrip(), *verdict.broken])


def interval(verdict: ClauseVerdict) -> str:
    """Return the confidence interval with its unit and method, or only the method without an interval."""
    found = verdict.interval
    if found is None:
        return NOTHING
    if found.low is None or found.high is None:
        return found.method
    return f"{figure(found.low)} … {figure(found.high)} {verdict.clause.unit}".rstrip() + f" ({found.method})"


def worst_nodes(verdict: ClauseVerdict) -> list[tuple[str, str, str]]:
    """Return the worst nodes first: (node, its values in order of the repeats, the load by other processes)."""
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
