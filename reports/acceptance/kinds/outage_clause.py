"""The common part of clauses about outages: a verdict from the outage log, and a section of the dossier."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from kappa.core.ground.documents import Path
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, counted, duration, figure
from kappa.core.ground.node_lists import folded
from kappa.core.ground.order_statistics import Interval
from reports.acceptance.campaign.layout import LOG, WEEKS
from reports.acceptance.campaign.measured import left_out
from reports.acceptance.campaign.seal import Proof
from reports.acceptance.kinds import pages
from reports.acceptance.kinds.clause import Clause, ClauseEvidence, ClauseVerdict, Contract
from reports.acceptance.outages.account import (
    Counts,
    Downtime,
    Favour,
    Outage,
    OutageRules,
    Place,
    TimeAccount,
)
from reports.acceptance.outages.interrupt_statistics import (
    CONFIDENCE,
    CONFIDENCE_OF_NONE,
    DemonstrationTest,
    Mean,
    chance_of,
    laplace_trend,
    mean_time,
)
from reports.acceptance.outages.log import OUTAGES, OutageLog, altered_raw, load_log, utc
from reports.show.provenance import Listing

# A larger share of the period without observation leaves the clause incomplete.
_MOST_NOT_OBSERVED = 0.01
_INTERRUPTS_SHOWN = 60
_BARS = 120
# In the order of ``Downtime.shares``.
_CLASSES = {
    "scheduled": pages.BLUE,
    "excluded or not counted": pages.GREY,
    "unscheduled": pages.ORANGE,
    "not observed": pages.YELLOW,
}


class OutageBlock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The block of a clause. ``counts``: outages attributed to the vendor, or of any attribution."""

    of: Place
    counts: Literal["vendor", "any"] = "any"

    @property
    def unit(self) -> str:
        return "h" if self.of == "system" else "node-h"


@dataclass(frozen=True)
class OutageFigures:
    """Hold the figures for a party's view of disputed entries; times in hours, of the nodes in node-hours.

    ``met`` is ``None`` while the period, or the test, is not at its end: ``lacking`` gives the reason.
    """

    met: bool | None
    lacking: str
    end: int
    account: TimeAccount
    interrupts: list[Outage]
    test: DemonstrationTest | None = None


@dataclass(frozen=True)
class OutageDetail:
    """Hold the figures with all disputed entries counted, and ``for_vendor`` without.

    ``mtbf`` is over the interrupts that count, ``mtti`` over all. ``shares``: see ``Downtime.shares``.
    """

    begin: int
    figures: OutageFigures
    for_vendor: OutageFigures
    disputed: list[str]
    mtbf: Mean
    mtti: Mean
    trend: float | None
    shares: list[list[float]]


class OutageClause(Clause, frozen=True, kw_only=True):
    """A clause about outages. A kind adds its block, plan, figures, and value."""

    @property
    def block(self) -> OutageBlock:
        raise NotImplementedError

    def figures(self, down: Downtime) -> OutageFigures:
        raise NotImplementedError

    def value_of(self, detail: OutageDetail) -> tuple[float | None, Interval]:
        raise NotImplementedError

    @property
    def evidence(self) -> str:
        return "outage log"

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        if contract.observation is None:
            yield (), f"{self.id} is about outages: expected contract.observation"

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        """Judge the clause by the log; judge disputed entries both ways."""
        contract, log, counts = evidence.contract, evidence.read(load_log), self.block.counts
        assert contract.observation
        rules = OutageRules(log, tuple(contract.parties), contract.observation)
        verdict = ClauseVerdict(self, None, remarks=(*log.remarks, *_future_entries(log)))
        period = rules.period()
        if isinstance(period, str):
            return replace(verdict, problems=(period,))

        def down(counts: Counts, favour: Favour) -> Downtime:
            return Downtime(rules.outages(counts, favour), rules.terms, period, self.block.of)

        for_buyer, open_ids = down(counts, "buyer"), rules.disputed(counts)
        worst = self.figures(for_buyer)
        # Where nothing was taken out, the interrupts that count are all.
        of_all = down("all", "buyer") if for_buyer.removes else for_buyer
        up, end, starts = worst.account.up, worst.end, [interrupt.start for interrupt in worst.interrupts]
        detail = OutageDetail(
            begin=period.begin,
            figures=worst,
            for_vendor=self.figures(down(counts, "vendor")) if open_ids else worst,
            disputed=open_ids,
            mtbf=mean_time(up, len(starts)),
            mtti=mean_time(up, sum(interrupt.start <= end for interrupt in of_all.interrupts)),
            trend=laplace_trend(for_buyer.uptime_before(starts), up),
            shares=for_buyer.shares(np.linspace(period.begin, max(end, period.begin + 1), _BARS + 1)),
        )
        value, interval = self.value_of(detail)
        problems = tuple(_problems(detail))
        return replace(
            verdict,
            met=None if problems else worst.met,
            value=value,
            interval=interval,
            problems=problems,
            remarks=(*verdict.remarks, *_remarks(detail, bool(problems))),
            detail=detail,
        )

    def prove(self, evidence: ClauseEvidence, keys: Sequence[str]) -> Proof:
        """Check the chain of the outage log, and the raw answers that it names."""
        dossier, proof = evidence.campaign.folder, Proof([], [], [])
        if not (dossier / LOG).exists():
            return proof
        try:
            log = evidence.read(load_log)
        except InputError as err:
            return Proof([str(err)], [], [])
        too_large = {file.path for file in left_out(dossier)}
        proof.problems.extend(line for line in altered_raw(log) if line.rpartition(" ")[2] not in too_large)
        proof.good.append(
            f"{LOG}: {log.lines} lines, each with the hash of the line before; the last is {log.last_hash}"
        )
        if (dossier / WEEKS).exists():
            proof.unchecked.append(f"signatures in {WEEKS}/ are from an earlier version; this version checks none")
        return proof

    def section(self, verdict: ClauseVerdict) -> pages.Section:
        detail: OutageDetail | None = verdict.detail
        if detail is None:
            return pages.Section()
        return pages.Section(
            tuple(self._facts(detail)), (self._timeline(detail),), (_table(detail.figures.interrupts),)
        )

    def _facts(self, detail: OutageDetail) -> Iterator[tuple[str, str]]:
        figures, trend, other, unit = detail.figures, detail.trend, detail.for_vendor, self.block.unit
        account, interrupts = figures.account, counted(len(figures.interrupts), "interrupt")
        hours = (account.scheduled, account.removed, account.unscheduled, account.not_observed)
        times = [f"{figure(h)} {unit} {name}" for h, name in zip((account.up, *hours), ("up", *_CLASSES), strict=True)]
        yield "Period", f"{_minute(detail.begin)} to {_minute(figures.end)} UTC, {figure(account.period)} {unit}"
        yield "Time", ", ".join(times)
        yield "MTBF", f"{_mean(detail.mtbf, unit)}, {interrupts} that count"
        yield "MTTI", f"{_mean(detail.mtti, unit)}, interrupts of any attribution"
        yield "Availability", _percent(account.availability)
        if trend is not None:
            yield "Trend", f"Laplace {figure(trend, 3)}, by chance in {figure(100 * chance_of(trend), 2)} %"
        if detail.disputed:
            without = f"{counted(len(other.interrupts), 'interrupt')}, {_percent(other.account.availability)} available"
            yield "Disputed", f"{_entries(detail.disputed)}, counted above; without: {without}"

    def _timeline(self, detail: OutageDetail) -> pages.Chart:
        """Return a chart of the share of system or nodes that was down, or not observed, over the period."""
        begin, step_s = detail.begin, (max(detail.figures.end, detail.begin + 1) - detail.begin) / _BARS
        right, shapes = pages.WIDTH - 20, []
        width, highest = (right - pages.LEFT) / _BARS, max(map(sum, detail.shares))
        y = pages.Axis((0, max(1.0, highest)), pages.HEIGHT - pages.BOTTOM, pages.TOP, logarithmic=False)
        for number, shares in enumerate(detail.shares):
            x, minute = round(pages.LEFT + number * width, 1), _minute(begin + number * step_s)
            levels = itertools.pairwise(y.at(level) for level in itertools.accumulate(shares, initial=0.0))
            for (low, high), share, (name, colour) in zip(levels, shares, _CLASSES.items(), strict=True):
                if share > 0:
                    title = f"{minute}: {figure(share, 3)} % {name}"
                    shapes.append(pages.Box(x, high, width, max(1.0, low - high), colour, title=title))
        return pages.Chart(
            f"{self.text} (times)",
            f"{_minute(begin)} to {_minute(detail.figures.end)} UTC",
            "Down: blue scheduled, grey excluded or not counted, orange unscheduled. Yellow: not observed.",
            tuple(shapes),
            [(pages.LEFT + bar * width, f"{utc(begin + bar * step_s):%d %b}") for bar in range(0, _BARS, 20)],
            y.ticks,
            y_title="%",
            right=right,
        )

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        """Return times in hours, of a clause about nodes in node-hours; an infinite bound is ``null``."""
        detail: OutageDetail | None = verdict.detail
        if detail is None:
            return {}
        figures = detail.figures
        document = {
            "begin": detail.begin,
            "end": figures.end,
            "test": figures.test and figures.test.document,
            "interrupts": len(figures.interrupts),
            "hours": asdict(figures.account),
            "mtbf": asdict(detail.mtbf),
            "mtti": asdict(detail.mtti),
            "trend": detail.trend,
            "disputed": detail.disputed,
        }
        return {"outages": document}


def _future_entries(log: OutageLog) -> Iterator[str]:
    ids = [
        entry.id
        for entry in log.latest.values()
        if entry.what in OUTAGES and not entry.scheduled and entry.start and entry.start > entry.recorded
    ]
    if ids:
        yield f"{_entries(ids)} begin after they were recorded: a clock was wrong"


def _problems(detail: OutageDetail) -> Iterator[str]:
    worst, best = detail.figures, detail.for_vendor
    if worst.met is None:
        yield worst.lacking
    elif worst.met is not best.met:
        without = "met" if best.met else best.lacking
        yield f"{_entries(detail.disputed)} not agreed by all parties decide: not met with, {without} without"
    share = worst.account.not_observed / worst.account.period if worst.account.period else 1.0
    if share > _MOST_NOT_OBSERVED:
        yield f"{figure(100 * share, 3)} % of the period was not observed; at most 1 % is allowed"


def _remarks(detail: OutageDetail, is_open: bool) -> Iterator[str]:
    trend = detail.trend
    if trend is not None and chance_of(trend) < 1 - CONFIDENCE:
        way = "ever faster" if trend > 0 else "ever slower"
        yield f"interrupts come {way} (Laplace {figure(trend, 3)}): the test assumes a steady rate"
    if detail.disputed and not is_open:
        yield f"{_entries(detail.disputed)} disputed: the verdict is the same without"


def _entries(ids: Sequence[str]) -> str:
    return f"{counted(len(ids), 'entry', 'entries')} ({_listed(ids)})"


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:8]) + (", …" if len(ids) > 8 else "")


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{figure(value)} %"


def _mean(mean: Mean, unit: str) -> str:
    if mean.value is None or mean.high is None:
        return f"≥ {figure(mean.low)} {unit} ({100 * CONFIDENCE_OF_NONE:g} %)"
    return f"{figure(mean.value)} {unit} ({figure(mean.low)} … {figure(mean.high)}, {100 * CONFIDENCE:g} %)"


def _minute(moment: float) -> str:
    return f"{utc(moment):%Y-%m-%d %H:%M}"


def _table(interrupts: list[Outage]) -> Listing:
    rows = [
        (
            _minute(interrupt.start),
            duration(interrupt.end - interrupt.start) if interrupt.end > interrupt.start else NOTHING,
            folded(interrupt.nodes) or "system",
            interrupt.cause,
            (interrupt.entries[0].attribution if interrupt.entries else None) or NOTHING,
            _listed([entry.id for entry in interrupt.entries]),
        )
        for interrupt in interrupts[:_INTERRUPTS_SHOWN]
    ]
    more = len(interrupts) - len(rows)
    note = f"and {counted(more, 'more interrupt')}; {LOG} has all entries" if more else ""
    header = ("Begin (UTC)", "Duration", "Nodes", "Cause", "Attribution", "Entries")
    return Listing("Interrupts", header, rows, note=note)
