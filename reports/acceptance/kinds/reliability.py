"""A clause about the mean time between failures (MTBF) of the system or of its nodes, as a test of both parties' risks.

::

    reliability: {of: system, promised_h: 300, least_h: 100, buyer_risk: 0.1, vendor_risk: 0.1, counts: vendor}
"""

from dataclasses import replace
from typing import Annotated, Literal

from msgspec import Meta

from kappa.core.ground.figures import counted, figure
from kappa.core.ground.order_statistics import Interval, Statistic
from reports.acceptance.kinds import outage_clause, pages
from reports.acceptance.kinds.clause import ClausePlan, ClauseVerdict, Planning
from reports.acceptance.outages.account import Downtime
from reports.acceptance.outages.interrupt_statistics import (
    CONFIDENCE,
    DemonstrationTest,
    acceptance,
    demonstration_test,
    fixed_length,
    promise_kept,
)

_MONTH_H = 30 * 24
_Hours = Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]
_Risk = Annotated[float, Meta(gt=0, lt=0.5, description="a risk above 0 and below 0.5")]


class ReliabilityTerms(outage_clause.OutageBlock, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A test of the MTBF of the system, or of nodes in node-hours.

    ``promised_h``: a machine this good is rejected with at most ``vendor_risk``. ``least_h``: a machine this bad is
    accepted with at most ``buyer_risk``.
    """

    promised_h: _Hours
    least_h: _Hours
    buyer_risk: _Risk
    vendor_risk: _Risk
    counts: Literal["vendor", "any"] = "vendor"

    def __post_init__(self) -> None:
        if self.promised_h < 1.05 * self.least_h:
            raise ValueError("expected promised_h of at least 1.05 x least_h: a test of nearer values takes too long")
        self.test  # noqa: B018 (refuses risks that no test keeps)

    @property
    def test(self) -> DemonstrationTest:
        return demonstration_test(self.promised_h, self.least_h, self.buyer_risk, self.vendor_risk)


class Reliability(outage_clause.OutageClause, frozen=True, kw_only=True, tag="reliability"):
    """A clause about the MTBF."""

    reliability: ReliabilityTerms

    @property
    def block(self) -> ReliabilityTerms:
        return self.reliability

    @property
    def statistic(self) -> Statistic:
        return Statistic(f"test of the MTBF of the {self.block.of}")

    @property
    def threshold(self) -> float:
        return self.block.least_h

    @property
    def unit(self) -> str:
        return self.block.unit

    @property
    def required(self) -> str:
        return f"{self.limit}, promised {figure(self.block.promised_h)} {self.unit}"

    def plan(self, planning: Planning) -> ClausePlan:
        block, unit, observation = self.block, self.unit, planning.contract.observation
        test = block.test
        nodes = len(observation.node_names) if observation and block.of == "nodes" else 1
        hours = test.length / nodes
        of_nodes = f" = {figure(hours)} h of {counted(nodes, 'node')}" if block.of == "nodes" else ""
        month = fixed_length(_MONTH_H * nodes, block.promised_h, block.least_h, block.buyer_risk)
        promise = f"{_percent(block.vendor_risk)} with a promise of {figure(promise_kept(month, block.vendor_risk))}"
        lines = (
            f"uptime to observe: {figure(test.length)} {unit}{of_nodes}, {figure(hours / 24, 3)} days; outages and "
            "exclusions extend it",
            f"interrupts allowed: {test.allowed}; one more ends the test, and no test is accepted early",
            f"risks: {self._risks(test)}",
            f"30 days allow {counted(month.allowed, 'interrupt')}: {self._risks(month)}, or {promise} {unit}",
        )
        return ClausePlan(lines, {"unit": unit, "hours": hours, **test.document})

    def _risks(self, test: DemonstrationTest) -> str:
        return (
            f"a machine of {figure(test.least)} {self.unit} is accepted in {_percent(test.buyer_risk)}, "
            f"one of {figure(test.promised)} {self.unit} is rejected in {_percent(test.vendor_risk)}"
        )

    def figures(self, down: Downtime) -> outage_clause.OutageFigures:
        """Return the figures at the end of the test: at its length, or at one interrupt more than it allows."""
        test = self.block.test
        reached = down.reaches(test.length)
        end, met = (down.period.end, None) if reached is None else (reached, True)
        interrupts = [interrupt for interrupt in down.interrupts if interrupt.start < end]
        if len(interrupts) > test.allowed:
            interrupts = interrupts[: test.allowed + 1]
            end, met = interrupts[-1].start, False
        done = f"{figure(down.uptime[-1])} of {figure(test.length)} {self.unit} of the test are done"
        lacking = f"{done}, with {counted(len(interrupts), 'interrupt')}"
        account = down.account(max(end, down.period.begin + 1))
        return outage_clause.OutageFigures(met, lacking, end, account, interrupts, test)

    def value_of(self, detail: outage_clause.OutageDetail) -> tuple[float | None, Interval]:
        mean = detail.mtbf
        if mean.high is None:
            return None, Interval(None, None, f"no interrupt: MTBF ≥ {figure(mean.low)} h with 90 % confidence")
        method = f"{100 * CONFIDENCE:g} % confidence, chi-square, test ended by time"
        return mean.value, Interval(mean.low, mean.high, method)

    def measured(self, verdict: ClauseVerdict) -> str:
        if verdict.detail is None:
            return super().measured(verdict)
        figures = verdict.detail.figures
        mtbf = f", MTBF {figure(verdict.value)} {self.unit}" if verdict.value is not None else ""
        return f"{counted(len(figures.interrupts), 'interrupt')} in {figure(figures.account.up)} {self.unit}{mtbf}"

    def section(self, verdict: ClauseVerdict) -> pages.Section:
        section, test = super().section(verdict), self.block.test
        length = f"{figure(test.length)} {self.unit} of uptime, at most {counted(test.allowed, 'interrupt')}"
        facts = (("Test", f"{length}; {self._risks(test)}"), *section.facts)
        return replace(section, facts=facts, charts=(self._characteristic(), *section.charts))

    def _characteristic(self) -> pages.Chart:
        """Return a chart of the probability of acceptance over the MTBF."""
        test, right = self.block.test, pages.WIDTH - 20
        steps = [test.least * (test.promised / test.least) ** (step / 25 - 1) for step in range(76)]
        x = pages.Axis(steps, pages.LEFT, right, logarithmic=True)
        y = pages.Axis((0, 1), pages.HEIGHT - pages.BOTTOM, pages.TOP)
        named = [("least", test.least, test.buyer_risk), ("promised", test.promised, 1 - test.vendor_risk)]
        curve = tuple((x.at(mtbf), y.at(acceptance(test.allowed, test.length, mtbf))) for mtbf in steps)
        labels = [
            pages.ChartLabel(x.at(mtbf) + 8, y.at(chance) + 12, f"{name}: {_percent(chance)}")
            for name, mtbf, chance in named
        ]
        return pages.Chart(
            f"{self.text} (operating characteristic)",
            ", ".join(f"accepts {_percent(chance)} at {figure(mtbf)} {self.unit}" for _, mtbf, chance in named),
            "Line: the probability that the test accepts a machine of this MTBF.",
            (pages.Stroke(curve, pages.BLUE, width=2), *labels),
            [(x.at(mtbf), figure(mtbf)) for _, mtbf, _ in named],
            y.ticks,
            f"MTBF ({self.unit})",
            "accepted",
            right,
        )


def _percent(share: float) -> str:
    return f"{figure(100 * share, 3)} %"
