"""Verdict and section of a clause about outages: a pure function of the contract and of the outage log."""

import pathlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, counted, duration, figure
from kappa.core.ground.node_lists import folded
from reports.acceptance.campaign.layout import LOG, WEEKS
from reports.acceptance.campaign.measured import left_out
from reports.acceptance.campaign.seal import Proof
from reports.acceptance.kinds.clause import Clause, ClauseVerdict, Evidence
from reports.acceptance.kinds.pages import (
    BLUE,
    BOTTOM,
    GREY,
    HEIGHT,
    LEFT,
    ORANGE,
    TOP,
    WIDTH,
    YELLOW,
    Axis,
    Box,
    Chart,
)
from reports.acceptance.outages.account import (
    REMOVED,
    SCHEDULED,
    Counts,
    Downtime,
    Favour,
    Interrupt,
    Outage,
    Place,
    TimeAccount,
    disputed,
    outages_of,
    period_of,
)
from reports.acceptance.outages.log import OUTAGES, OutageLog, altered_raw, load_log, utc
from reports.acceptance.outages.statistics import Mean, RateTrend, laplace_trend, mean_time
from reports.acceptance.outages.terms import OutageTerms
from reports.show.provenance import Listing

# A larger share of the period without observation leaves the clause incomplete.
MOST_NOT_OBSERVED = 0.01
_INTERRUPTS_SHOWN = 60
_LISTED = 8
_BARS = 120
# In the order of ``Downtime.shares``.
_CLASSES = ("scheduled", "excluded or not counted", "unscheduled", "not observed")
_COLOURS = (BLUE, GREY, ORANGE, YELLOW)
_RIGHT = WIDTH - 20


@dataclass(frozen=True)
class OutageFigures:
    """The figures for one party's view of disputed entries; times in hours, of the nodes in node-hours.

    ``met`` is ``None`` while the period, or the test, is not at its end: ``lacking`` gives the reason.
    """

    met: bool | None
    lacking: str
    end: int
    account: TimeAccount
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class OutageDetail:
    """``figures`` are those with all that is disputed counted, ``for_vendor`` those without.

    ``mtbf`` is over the interrupts that count, ``mtti`` over all. ``shares``: see ``Downtime.shares``.
    """

    begin: int
    figures: OutageFigures
    for_vendor: OutageFigures
    disputed: tuple[int, ...]
    mtbf: Mean
    mtti: Mean
    trend: RateTrend | None
    attributions: Mapping[str, int]
    edges: list[int]
    shares: list[list[float]]


def judge_outages(
    clause: Clause, evidence: Evidence, of: Place, counts: Counts, figures_of: Callable[[Downtime], OutageFigures]
) -> ClauseVerdict:
    """Judge a clause by the log; judge disputed entries both ways. The kind adds value and interval."""
    terms, parties = evidence.contract.observation, tuple(evidence.contract.parties)
    assert terms
    log = evidence.read(load_log)
    period = period_of(log, parties, terms)
    remarks = [*log.remarks, *_odd_entries(log, terms)]
    if isinstance(period, str):
        return ClauseVerdict(clause, None, problems=(period,), remarks=tuple(remarks))

    def down(counts: Counts, favour: Favour) -> Downtime:
        return Downtime(outages_of(log, parties, terms, counts, favour), terms, period, of)

    open_ids = disputed(log, parties, counts)
    for_buyer = down(counts, "buyer")
    worst = figures_of(for_buyer)
    best = figures_of(down(counts, "vendor")) if open_ids else worst
    # Where nothing was taken out, the interrupts that count are all.
    of_all = down("all", "buyer") if any(one.kind == REMOVED for one in for_buyer.outages) else for_buyer
    account, end = worst.account, worst.end
    edges = np.linspace(period.begin, max(end, period.begin + 1), _BARS + 1)
    detail = OutageDetail(
        begin=period.begin,
        figures=worst,
        for_vendor=best,
        disputed=open_ids,
        mtbf=mean_time(account.up, len(worst.interrupts)),
        mtti=mean_time(account.up, sum(one.start <= end for one in of_all.interrupts())),
        trend=laplace_trend(for_buyer.uptime.before([one.start for one in worst.interrupts]).tolist(), account.up),
        attributions=_attributions(one for one in for_buyer.outages if one.start < end and one.end > period.begin),
        edges=edges.tolist(),
        shares=for_buyer.shares(edges),
    )
    problems = []
    if worst.met is None:
        problems.append(worst.lacking)
    elif worst.met is not best.met:
        entries = f"{counted(len(open_ids), 'entry', 'entries')} that not all parties agreed to ({_ids(open_ids)})"
        problems.append(f"{entries} decide: not met with, {'met' if best.met else best.lacking} without")
    share = account.not_observed / account.period if account.period else 1.0
    if share > MOST_NOT_OBSERVED:
        problems.append(f"{figure(100 * share, 3)} % of the period was not observed; at most 1 % is allowed")
    if detail.trend and detail.trend.significant:
        way = "ever faster" if detail.trend.score > 0 else "ever slower"
        remarks.append(
            f"interrupts come {way} (Laplace {figure(detail.trend.score, 3)}): the test assumes a steady rate"
        )
    if open_ids and not problems:
        remarks.append(
            f"{counted(len(open_ids), 'disputed entry', 'disputed entries')}: the verdict is the same without"
        )
    return ClauseVerdict(
        clause, None if problems else worst.met, problems=tuple(problems), remarks=tuple(remarks), detail=detail
    )


def _odd_entries(log: OutageLog, terms: OutageTerms) -> Iterator[str]:
    """Yield remarks on entries with a wrong time."""
    future, late = [], []
    for entry in log.latest.values():
        if entry.what in OUTAGES and not entry.scheduled and entry.start > entry.recorded:
            future.append(entry.number)
        if entry.scheduled and all(v.recorded > v.start - terms.notice_h * 3600 for v in log.versions(entry)):
            late.append(entry.number)
    if future:
        yield f"entries that begin after they were recorded: a clock was wrong ({_ids(future)})"
    if late:
        yield f"entries that say scheduled with too little notice: they are unscheduled ({_ids(late)})"


def _attributions(outages: Iterator[Outage]) -> dict[str, int]:
    """Return the number of entries by attribution, or by the reason of the exclusion."""
    attribution = {
        one.entry.number: "scheduled" if one.kind == SCHEDULED else one.entry.exclusion or one.entry.attribution
        for one in outages
    }
    return dict(sorted(Counter(name or "unattributed" for name in attribution.values()).items()))


def _ids(numbers: "list[int] | tuple[int, ...]") -> str:
    return ", ".join(map(str, numbers[:_LISTED])) + (", …" if len(numbers) > _LISTED else "")


def prove_log(dossier: pathlib.Path) -> Proof:
    """Check the chain of the outage log, and the raw answers that it names."""
    proof = Proof([], [], [])
    if not (dossier / LOG).exists():
        return proof
    try:
        log = load_log(dossier)
    except InputError as err:
        proof.problems.append(str(err))
        return proof
    too_large = {file.path for file in left_out(dossier)}
    proof.problems.extend(line for line in altered_raw(dossier, log) if line.rpartition(" ")[2] not in too_large)
    proof.good.append(f"{LOG}: {log.lines} lines, each with the hash of the one before; the last is {log.last_hash}")
    if (dossier / WEEKS).exists():
        proof.unchecked.append(f"{WEEKS}/ has signatures of weeks from an earlier version; this version checks none")
    return proof


def facts_of(detail: OutageDetail, unit: str) -> list[tuple[str, str]]:
    account, trend, other = detail.figures.account, detail.trend, detail.for_vendor
    hours = (account.scheduled, account.removed, account.unscheduled, account.not_observed)
    times = [
        f"{figure(value)} {unit} {name}" for value, name in zip((account.up, *hours), ("up", *_CLASSES), strict=True)
    ]
    facts = [
        ("Period", f"{_moment(detail.begin)} to {_moment(detail.figures.end)} UTC, {figure(account.period)} {unit}"),
        ("Time", ", ".join(times)),
        ("MTBF", f"{_mean(detail.mtbf, unit)}, {counted(len(detail.figures.interrupts), 'interrupt')} that count"),
        ("MTTI", f"{_mean(detail.mtti, unit)}, interrupts of any attribution"),
        ("Availability", _percent(account.availability)),
        ("Attribution", ", ".join(f"{count} {name}" for name, count in detail.attributions.items()) or "no outage"),
        (
            "Trend",
            f"Laplace {figure(trend.score, 3)}, by chance in {figure(100 * trend.chance, 2)} %" if trend else NOTHING,
        ),
    ]
    if detail.disputed:
        entries = f"{counted(len(detail.disputed), 'entry', 'entries')} ({_ids(detail.disputed)}), counted above"
        without = f"{counted(len(other.interrupts), 'interrupt')}, availability {_percent(other.account.availability)}"
        facts.append(("Disputed", f"{entries}; without: {without}"))
    return facts


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{figure(value)} %"


def _mean(mean: Mean, unit: str) -> str:
    if mean.value is None or mean.high is None:
        return f"≥ {figure(mean.low)} {unit} ({100 * mean.confidence:g} %)"
    return f"{figure(mean.value)} {unit} ({figure(mean.low)} … {figure(mean.high)}, {100 * mean.confidence:g} %)"


def _moment(moment: float) -> str:
    return f"{utc(moment):%Y-%m-%d %H:%M}"


def timeline(clause: Clause, detail: OutageDetail) -> Chart:
    """Return a chart of the share of system or nodes that was down, or not observed, over the period."""
    edges, totals = detail.edges, [100 * sum(shares) for shares in zip(*detail.shares, strict=True)]
    y = Axis((0, max(*totals, 1)), HEIGHT - BOTTOM, TOP, logarithmic=False)
    width = (_RIGHT - LEFT) / len(totals)
    shapes = []
    for number, shares in enumerate(zip(*detail.shares, strict=True)):
        below = 0.0
        for share, name, colour in zip(shares, _CLASSES, _COLOURS, strict=True):
            if share > 0:
                title = f"{_moment(edges[number])} to {_moment(edges[number + 1])}: {figure(100 * share, 3)} % {name}"
                low, high = y.at(below), y.at(below + 100 * share)
                x = round(LEFT + number * width, 1)
                shapes.append(Box(x, high, round(width, 1), max(1.0, low - high), colour, title=title))
                below += 100 * share
    days = [utc(edges[number]) for number in range(0, len(totals), len(totals) // 6)]
    return Chart(
        f"{clause.text} (times)",
        f"{_moment(edges[0])} to {_moment(edges[-1])} UTC",
        "Down by class: blue scheduled, grey excluded or not counted, orange unscheduled. Yellow: not observed.",
        tuple(shapes),
        [(LEFT + 20 * number * width, f"{day:%d %b}") for number, day in enumerate(days)],
        y.ticks,
        y_title="%",
        right=_RIGHT,
    )


def interrupts_table(detail: OutageDetail) -> Listing:
    interrupts = detail.figures.interrupts
    rows = [
        (
            _moment(one.start),
            duration(one.end - one.start) if one.end > one.start else NOTHING,
            folded(one.nodes) or "system",
            one.cause,
            _ids(one.entries),
        )
        for one in interrupts[:_INTERRUPTS_SHOWN]
    ]
    more = len(interrupts) - len(rows)
    note = f"and {counted(more, 'more interrupt')}; {LOG} has all entries" if more else ""
    return Listing("Interrupts", ("Begin (UTC)", "Duration", "Nodes", "Cause", "Entries"), rows, note=note)


def document_of(detail: OutageDetail, test: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return times in hours, of a clause about nodes in node-hours; an infinite bound is ``null``."""
    means = {"mtbf": detail.mtbf, "mtti": detail.mtti}
    return {
        "outages": {
            "begin": detail.begin,
            "end": detail.figures.end,
            "test": test,
            "interrupts": len(detail.figures.interrupts),
            "hours": asdict(detail.figures.account),
            **{name: {"value": mean.value, "low": mean.low, "high": mean.high} for name, mean in means.items()},
            "trend": detail.trend.score if detail.trend else None,
            "disputed": [str(number) for number in detail.disputed],
        }
    }
