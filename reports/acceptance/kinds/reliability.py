"""A clause about the mean time between failures (MTBF) of the system or of its nodes, as a test of both parties' risks.

::

    reliability: {of: system, promised_h: 300, least_h: 100, buyer_risk: 0.1, vendor_risk: 0.1, counts: vendor}
"""

import math
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path
from kappa.core.ground.figures import counted, figure
from kappa.core.ground.order_statistics import Interval, Statistic
from reports.acceptance.campaign.seal import Proof
from reports.acceptance.kinds.clause import Clause, ClausePlan, ClauseVerdict, Contract, Evidence, Planning
from reports.acceptance.kinds.outage_verdict import (
    OutageFigures,
    document_of,
    facts_of,
    interrupts_table,
    judge_outages,
    prove_log,
    timeline,
)
from reports.acceptance.kinds.pages import (
    BLUE,
    BOTTOM,
    HEIGHT,
    INK,
    LEFT,
    TOP,
    WIDTH,
    Axis,
    Chart,
    Label,
    Mark,
    Section,
    Stroke,
)
from reports.acceptance.outages.account import Downtime, Place
from reports.acceptance.outages.statistics import (
    CONFIDENCE,
    DemonstrationTest,
    acceptance,
    demonstration_test,
    fixed_length,
    promise_kept,
)

_DAY_H = 24
_MONTH_H = 30 * _DAY_H
_Hours = Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]
_Risk = Annotated[float, Meta(gt=0, lt=0.5, description="a risk above 0 and below 0.5")]


class ReliabilityTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A test of the MTBF of the system, or of nodes in node-hours.

    ``promised_h``: a machine this good is rejected with at most ``vendor_risk``. ``least_h``: a machine this bad is
    accepted with at most ``buyer_risk``. ``counts``: interrupts attributed to the vendor, or of any attribution.
    """

    of: Place
    promised_h: _Hours
    least_h: _Hours
    buyer_risk: _Risk
    vendor_risk: _Risk
    counts: Literal["vendor", "any"] = "vendor"

    def __post_init__(self) -> None:
        if self.promised_h < 1.05 * self.least_h:
            raise ValueError("expected promised_h of at least 1.05 x least_h: a test of nearer values takes too long")


class Reliability(Clause, frozen=True, kw_only=True, tag="reliability"):
    """A clause about the MTBF."""

    reliability: ReliabilityTerms

    @property
    def statistic(self) -> Statistic:
        return Statistic(f"test of the MTBF of the {self.reliability.of}")

    @property
    def threshold(self) -> float:
        return self.reliability.least_h

    @property
    def unit(self) -> str:
        return "h" if self.reliability.of == "system" else "node-h"

    @property
    def required(self) -> str:
        return f"{self.limit}, promised {figure(self.reliability.promised_h)} {self.unit}"

    @property
    def evidence(self) -> str:
        return "outage log"

    @property
    def _test(self) -> DemonstrationTest:
        terms = self.reliability
        return demonstration_test(terms.promised_h, terms.least_h, terms.buyer_risk, terms.vendor_risk)

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        if contract.observation is None:
            yield (), f"{self.id} is about outages: expected contract.observation"

    def plan(self, planning: Planning) -> ClausePlan:
        test, unit, observation = self._test, self.unit, planning.contract.observation
        nodes = len(observation.node_names) if observation and self.reliability.of == "nodes" else 1
        hours = test.length / nodes
        length = f"{figure(test.length)} {unit}" + (
            f" = {figure(hours)} h of {counted(nodes, 'node')}" if nodes > 1 else ""
        )
        lines = (
            f"uptime to observe: {length}, {figure(hours / _DAY_H, 3)} days; outages and exclusions extend it",
            f"interrupts allowed: {test.allowed}; one more ends the test, and no test is accepted early",
            f"risks: a machine of {figure(test.least)} {unit} is accepted in {_percent(test.buyer_risk)}, "
            f"one of {figure(test.promised)} {unit} is rejected in {_percent(test.vendor_risk)}",
            self._of_a_month(hours, _MONTH_H * nodes),
        )
        document = {"unit": unit, "length": test.length, "hours": hours, **_figures_of(test)}
        return ClausePlan(lines, document)

    def _of_a_month(self, hours: float, length: float) -> str:
        terms = self.reliability
        if hours <= _MONTH_H:
            return f"30 days are enough: the test takes {figure(hours / _DAY_H, 3)}"
        test = fixed_length(length, terms.promised_h, terms.least_h, terms.buyer_risk)
        if test is None:
            return f"30 days are too short: even no interrupt exceeds the buyer's risk of {_percent(terms.buyer_risk)}"
        return (
            f"30 days cannot keep both risks: {counted(test.allowed, 'interrupt')} would give the buyer "
            f"{_percent(test.buyer_risk)}, the vendor {_percent(test.vendor_risk)}; agree on "
            f"{math.ceil(hours / _DAY_H)} days, a promise of {math.ceil(promise_kept(test, terms.vendor_risk))} "
            f"{self.unit}, or larger risks"
        )

    def judge(self, evidence: Evidence) -> ClauseVerdict:
        terms = self.reliability
        verdict = judge_outages(self, evidence, terms.of, terms.counts, self._figures)
        if verdict.detail is None:
            return verdict
        mean = verdict.detail.mtbf
        method = f"{100 * CONFIDENCE:g} % confidence, chi-square, test ended by time"
        if mean.high is None:
            method = f"no interrupt: MTBF ≥ {figure(mean.low)} h with 90 % confidence"
        interval = Interval(None if mean.high is None else mean.low, mean.high, method)
        return replace(verdict, value=mean.value, interval=interval)

    def _figures(self, down: Downtime) -> OutageFigures:
        """Return the figures at the end of the test: at its length, or at one interrupt more than it allows."""
        test, uptime = self._test, down.uptime
        reached = uptime.reaches(test.length)
        end = down.period.end if reached is None else reached
        interrupts = tuple(one for one in down.interrupts() if one.start < end)
        failed = len(interrupts) > test.allowed
        if failed:
            interrupts = interrupts[: test.allowed + 1]
            end = interrupts[-1].start
        done = f"{figure(uptime.total)} of {figure(test.length)} {self.unit} of the test are done"
        return OutageFigures(
            False if failed else None if reached is None else True,
            f"{done}, with {counted(len(interrupts), 'interrupt')}",
            end,
            down.account(max(end, down.period.begin + 1)),
            interrupts,
        )

    def prove(self, dossier: pathlib.Path, keys: Sequence[str]) -> Proof:
        return prove_log(dossier)

    def measured(self, verdict: ClauseVerdict) -> str:
        if verdict.detail is None:
            return super().measured(verdict)
        figures = verdict.detail.figures
        mtbf = f", MTBF {figure(verdict.value)} {self.unit}" if verdict.value is not None else ""
        return f"{counted(len(figures.interrupts), 'interrupt')} in {figure(figures.account.up)} {self.unit}{mtbf}"

    def section(self, verdict: ClauseVerdict) -> Section:
        if (detail := verdict.detail) is None:
            return Section()
        test = self._test
        length = f"{figure(test.length)} {self.unit} of uptime, at most {counted(test.allowed, 'interrupt')}"
        risks = f"risks: buyer {_percent(test.buyer_risk)}, vendor {_percent(test.vendor_risk)}"
        facts = (("Test", f"{length}; {risks}"), *facts_of(detail, self.unit))
        return Section(facts, (self._characteristic(), timeline(self, detail)), (interrupts_table(detail),))

    def _characteristic(self) -> Chart:
        test = self._test
        reach, right = test.promised / test.least, WIDTH - 20
        steps = [test.least * reach ** (step / 25 - 1) for step in range(76)]
        x, y = Axis(steps, LEFT, right, logarithmic=True), Axis((0, 1), HEIGHT - BOTTOM, TOP)
        named = [(test.least, "least", test.buyer_risk), (test.promised, "promised", 1 - test.vendor_risk)]
        curve = tuple((x.at(mtbf), y.at(acceptance(test.allowed, test.length, mtbf))) for mtbf in steps)
        marks = [Mark(x.at(mtbf), y.at(chance), INK, title=name) for mtbf, name, chance in named]
        labels = [
            Label(x.at(mtbf) + 8, y.at(chance) + 12, f"{name}: {_percent(chance)}") for mtbf, name, chance in named
        ]
        return Chart(
            f"{self.text} (operating characteristic)",
            ", ".join(f"accepts {_percent(chance)} at {figure(mtbf)} {self.unit}" for mtbf, _, chance in named),
            "Line: the probability that the test accepts a machine of this MTBF.",
            (Stroke(curve, BLUE, width=2), *marks, *labels),
            [(x.at(mtbf), figure(mtbf)) for mtbf, _, _ in named],
            y.ticks,
            f"MTBF ({self.unit})",
            "accepted",
            right,
        )

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        test = self._test
        return document_of(verdict.detail, {"length": test.length, **_figures_of(test)}) if verdict.detail else {}


def _figures_of(test: DemonstrationTest) -> dict[str, float]:
    return {"allowed": test.allowed, "buyer_risk": test.buyer_risk, "vendor_risk": test.vendor_risk}


def _percent(share: float) -> str:
    return f"{figure(100 * share, 3)} %"
