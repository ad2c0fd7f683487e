"""Display of a clause about outages on page and terminal: facts, operating characteristic, timeline, interrupts."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from kappa.core.ground.figures import NOTHING, counted, duration, figure
from kappa.core.ground.node_lists import folded
from reports.acceptance.kinds.clause import Clause, Contract
from reports.acceptance.outages.account import COUNTED, HOUR_S, NOT_OBSERVED, REMOVED, SCHEDULED, Interrupt
from reports.acceptance.outages.statistics import (
    DAY_H,
    DemonstrationTest,
    Mean,
    demonstration_test,
    fixed_length,
    interrupts_at,
)
from reports.acceptance.outages.terms import Availability
from reports.acceptance.outages.verdict import INTERRUPTS_SHOWN, OutageVerdict

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 230, 62, 20, 14, 38
_ROW = 15
_POINTS = 81
MONTH_H = 30 * DAY_H
_BAR = 40
#: MTBF of the rows of a text plot, as parts of the way from the least to the promised value, by their logarithms.
_STEPS = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class CharacteristicCurve:
    """Probability of acceptance over MTBF, in pixels; ``marks`` are (x, y, label) of what the contract names."""

    points: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    marks: list[tuple[float, float, str]]
    unit: str
    summary: str

    width, height, left, top, right, bottom = WIDTH, HEIGHT, LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM


def characteristic(test: DemonstrationTest, unit: str) -> CharacteristicCurve:
    """The operating characteristic of a test, over a logarithmic axis around its two MTBFs."""
    reach = math.log(test.promised / test.least)
    low, high = math.log(test.least) - 1.2 * reach, math.log(test.promised) + 1.2 * reach

    def x(mtbf: float) -> float:
        return round(LEFT + (math.log(mtbf) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def y(probability: float) -> float:
        return round(HEIGHT - BOTTOM - probability * (HEIGHT - TOP - BOTTOM), 1)

    values = [math.exp(low + (high - low) * step / (_POINTS - 1)) for step in range(_POINTS)]
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
    buyer, vendor = test.accepts(test.least), test.accepts(test.promised)
    return CharacteristicCurve(
        points=" ".join(f"{x(mtbf)},{y(test.accepts(mtbf))}" for mtbf in values),
        x_ticks=[(x(tick), figure(tick, 2)) for tick in ticks if low < math.log(tick) < high],
        y_ticks=[(y(share), f"{100 * share:g} %") for share in (0, 0.25, 0.5, 0.75, 1)],
        marks=[
            (x(test.least), y(buyer), f"least {figure(test.least)}: {figure(100 * buyer, 3)} % accepted"),
            (x(test.promised), y(vendor), f"promised {figure(test.promised)}: {figure(100 * vendor, 3)} %"),
        ],
        unit=unit,
        summary=f"accepts {figure(100 * buyer, 3)} % at {figure(test.least)} {unit}, "
        f"{figure(100 * vendor, 3)} % at {figure(test.promised)} {unit}",
    )


@dataclass(frozen=True)
class PlannedTest:
    """A reliability clause before anybody signs; ``hours`` is its length in hours of a machine without an outage."""

    clause: Clause
    test: DemonstrationTest
    nodes: int

    @property
    def hours(self) -> float:
        return self.test.length / self.nodes

    @property
    def curve(self) -> CharacteristicCurve:
        return characteristic(self.test, self.clause.unit)

    @property
    def lines(self) -> list[str]:
        """In words: length, interrupts, both risks, and what 30 days can show."""
        test, unit = self.test, self.clause.unit
        length = f"{figure(test.length)} {unit}"
        if unit != "h":
            length += f" = {figure(self.hours)} h of {counted(self.nodes, 'node')}"
        risks = (
            f"a machine of {figure(test.least)} {unit} is accepted in {figure(100 * test.buyer_risk, 3)} %, "
            f"one of {figure(test.promised)} {unit} is rejected in {figure(100 * test.vendor_risk, 3)} %"
        )
        return [
            f"uptime to observe: {length}, {figure(self.hours / DAY_H, 3)} days; outages and exclusions extend it",
            f"interrupts allowed: {test.allowed}; one more ends the test, and no test is accepted early",
            f"risks: {risks}",
            *self._of_a_month,
        ]

    @property
    def _of_a_month(self) -> list[str]:
        block = self.clause.reliability
        assert block
        if self.hours <= MONTH_H:
            return [f"30 days are enough: the test takes {figure(self.hours / DAY_H, 3)}"]
        month = MONTH_H * self.nodes
        found = fixed_length(month, block.promised_h, block.least_h, block.buyer_risk, block.vendor_risk)
        unit = self.clause.unit
        if not found.possible:
            return [
                f"30 days cannot show it: even without an interrupt they show {figure(found.shows)} {unit} at most "
                f"at the buyer's risk of {figure(100 * block.buyer_risk)} %",
            ]
        scale = month / self.test.length
        return [
            f"30 days cannot keep both risks: {counted(found.allowed, 'interrupt')} would give the buyer "
            f"{figure(100 * found.buyer_risk, 3)} %, but the vendor {figure(100 * found.vendor_risk, 3)} %",
            f"instead: {math.ceil(self.hours / DAY_H)} days, a promise of {math.ceil(found.promise_kept)} {unit}, "
            "or larger risks",
            f"30 days with {counted(self.test.allowed, 'interrupt')} tell {figure(scale * self.test.least, 3)} from "
            f"{figure(month / interrupts_at(self.test.allowed, block.vendor_risk), 3)} {unit} at these risks",
        ]

    @property
    def plot(self) -> list[str]:
        """The operating characteristic as text: a row for each MTBF."""
        rows = []
        for step in _STEPS:
            mtbf = self.test.least * (self.test.promised / self.test.least) ** step
            accepted = self.test.accepts(mtbf)
            bar = "█" * round(_BAR * accepted)
            what = {0.0: " least", 1.0: " promised"}.get(step, "")
            left = f"{figure(mtbf, 3):>8} {self.clause.unit}"
            rows.append(f"{left} │{bar:<{_BAR}}│ {100 * accepted:5.1f} % accepted{what}")
        return rows


def planned_tests(contract: Contract) -> list[PlannedTest]:
    """The reliability clauses of a contract, each with its test."""
    nodes = len(contract.observation.node_names) if contract.observation else 1
    return [
        PlannedTest(
            clause,
            demonstration_test(block.promised_h, block.least_h, block.buyer_risk, block.vendor_risk),
            nodes if block.of == "nodes" else 1,
        )
        for clause in contract.clauses
        if (block := clause.reliability)
    ]


def planned_availability(block: Availability) -> str:
    """An availability clause in words, with the downtime that it allows."""
    down = block.period_h * (1 - block.least / 100)
    return (
        f"{figure(block.least)} % of {figure(block.period_h)} h ({figure(block.period_h / DAY_H, 3)} days) of the "
        f"{block.of}: at most {duration(HOUR_S * down)} of unscheduled downtime"
        + (" on average over the nodes" if block.of == "nodes" else "")
    )


@dataclass(frozen=True)
class TimelineBar:
    x: float
    width: float
    kind: str
    title: str


@dataclass(frozen=True)
class TimelineChart:
    """Rows of (y, name, bars), in pixels."""

    rows: list[tuple[float, str, list[TimelineBar]]]
    ticks: list[tuple[float, str]]
    height: int
    summary: str

    width, left, right, row = WIDTH, 90, WIDTH - RIGHT, _ROW


_KIND = {SCHEDULED: "scheduled", REMOVED: "removed", COUNTED: "unscheduled", NOT_OBSERVED: "unobserved"}


def timeline(found: OutageVerdict) -> TimelineChart:
    """Return the chart of times when system and nodes were down, and of unobserved times."""
    begin, end = found.period.begin, max(found.figures.end, found.period.begin + 1)
    left, right = TimelineChart.left, TimelineChart.right

    def x(moment: float) -> float:
        return round(left + (min(max(moment, begin), end) - begin) / (end - begin) * (right - left), 1)

    rows = []
    for number, (name, spans) in enumerate(found.rows):
        bars = [
            TimelineBar(x(start), max(1.2, x(stop) - x(start)), _KIND[kind], f"{_utc(start)} to {_utc(stop)}")
            for kind, start, stop in spans
            if start < end
        ]  # fmt: skip
        rows.append((TOP + number * (_ROW + 4.0), name, bars))
    days = (end - begin) / 86400
    step = max(1, math.ceil(days / 8))
    ticks = [(x(begin + day * 86400), f"{datetime.datetime.fromtimestamp(begin + day * 86400, datetime.UTC):%d %b}")
             for day in range(0, math.floor(days) + 1, step)]  # fmt: skip
    height = TOP + len(rows) * (_ROW + 4) + 26
    return TimelineChart(rows, ticks, height, f"{_utc(begin)} to {_utc(end)} UTC, {len(rows)} rows")


def _utc(moment: float) -> str:
    return f"{datetime.datetime.fromtimestamp(moment, datetime.UTC):%Y-%m-%d %H:%M}"


@dataclass(frozen=True)
class OutageSection:
    """A clause in the dossier; ``facts`` are (title, words), ``interrupts`` rows of a table."""

    facts: list[tuple[str, str]]
    curve: CharacteristicCurve | None
    timeline: TimelineChart
    interrupts: list[tuple[str, str, str, str, str]]
    more: int
    weeks: list[tuple[str, str]] = field(default_factory=list)


def section_of(clause: Clause, found: OutageVerdict, signed: dict[str, tuple[str, ...]]) -> OutageSection:
    """:param signed: week -> the parties whose signature on its last line is there."""
    account, block = found.figures.account, clause.outages
    assert block
    unit = "h" if block.of == "system" else "node-h"
    hours = {
        "up": account.up, "unscheduled": account.unscheduled, "scheduled": account.scheduled,
        "excluded or not counted": account.removed, "not observed": account.not_observed,
    }  # fmt: skip
    facts = [
        ("Period", f"{_utc(found.period.begin)} to {_utc(found.figures.end)} UTC, {figure(account.period)} {unit}"),
        ("Time", ", ".join(f"{figure(value)} {unit} {name}" for name, value in hours.items())),
        ("MTBF", f"{_mean(found.mtbf, unit)}, {counted(len(found.figures.interrupts), 'interrupt')} that count"),
        ("MTTI", f"{_mean(found.mtti, unit)}, interrupts of any attribution"),
        ("Availability", _availability(found)),
        ("Attribution", ", ".join(f"{count} {name}" for name, count in found.by_attribution.items()) or "no outage"),
        ("Exclusions", ", ".join(f"{name}: {figure(h)} h" for name, h in found.exclusions.items()) or "none"),
    ]
    if found.test:
        test = found.test
        facts.insert(1, (
            "Test",
            f"{figure(test.length)} {unit} of uptime, at most {counted(test.allowed, 'interrupt')}; "
            f"risks: buyer {figure(100 * test.buyer_risk, 3)} %, vendor {figure(100 * test.vendor_risk, 3)} %",
        ))  # fmt: skip
    trend = found.trend
    words = f"Laplace {figure(trend.score, 3)}, by chance in {figure(100 * trend.chance, 2)} %" if trend else NOTHING
    facts.append(("Trend", words))
    if found.disputed:
        other = found.for_vendor
        facts.append((
            "Disputed",
            f"{counted(len(found.disputed), 'entry', 'entries')} ({_ids(found.disputed)}), counted above; without: "
            f"{counted(len(other.interrupts), 'interrupt')}, availability {_percent(other.account.availability)}",
        ))  # fmt: skip
    interrupts = found.figures.interrupts
    return OutageSection(
        facts=facts,
        curve=characteristic(found.test, unit) if found.test else None,
        timeline=timeline(found),
        interrupts=[_row(one, found) for one in interrupts[:INTERRUPTS_SHOWN]],
        more=max(0, len(interrupts) - INTERRUPTS_SHOWN),
        weeks=[(week, ", ".join(who) or NOTHING) for week, who in signed.items()],
    )


def _ids(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{figure(value)} %"


def _availability(found: OutageVerdict) -> str:
    interval = f" ({figure(found.interval[0])} … {figure(found.interval[1])} %)" if found.interval else ""
    return f"{_percent(found.figures.account.availability)}{interval}"


def _mean(mean: Mean, unit: str) -> str:
    if mean.value is None:
        return f"≥ {figure(mean.low)} {unit} ({100 * mean.confidence:g} %)"
    return f"{figure(mean.value)} {unit} ({figure(mean.low)} … {figure(mean.high)}, {100 * mean.confidence:g} %)"


def _row(one: Interrupt, found: OutageVerdict) -> tuple[str, str, str, str, str]:
    nodes = folded(found.nodes_of.get(one.entries[0], ())) if one.entries else ""
    return (
        _utc(one.start), duration(one.end - one.start) if one.end > one.start else NOTHING, nodes or "system",
        one.cause, _ids(one.entries),
    )  # fmt: skip


def measured_words(clause: Clause, found: OutageVerdict) -> str:
    """The figure of the clause: interrupts and MTBF, or the availability."""
    if found.test:
        number = counted(len(found.figures.interrupts), "interrupt")
        unit = clause.unit
        mtbf = f", MTBF {figure(found.mtbf.value)} {unit}" if found.mtbf.value is not None else ""
        return f"{number} in {figure(found.figures.account.up)} {unit}{mtbf}"
    return _percent(found.figures.account.availability)
