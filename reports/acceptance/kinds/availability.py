"""A clause about the share of a period without unscheduled downtime, of the system or of its nodes.

::

    availability: {of: nodes, least: 98, period_h: 720, counts: any}
"""

from typing import Annotated

from msgspec import Meta

from kappa.core.ground.figures import duration, figure
from kappa.core.ground.order_statistics import Interval, Statistic
from reports.acceptance.kinds import outage_clause
from reports.acceptance.kinds.clause import ClausePlan, Planning
from reports.acceptance.outages.account import HOUR_S, Downtime
from reports.acceptance.outages.interrupt_statistics import CONFIDENCE, availability_interval


class AvailabilityTerms(outage_clause.OutageBlock, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The share of ``period_h``, less scheduled outages and exclusions, without unscheduled downtime, in per cent."""

    least: Annotated[float, Meta(gt=0, le=100, description="per cent, above 0 and at most 100")]
    period_h: Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]


class Availability(outage_clause.OutageClause, frozen=True, kw_only=True, tag="availability"):
    """A clause about the availability."""

    availability: AvailabilityTerms

    @property
    def block(self) -> AvailabilityTerms:
        return self.availability

    @property
    def statistic(self) -> Statistic:
        return Statistic(f"availability of the {self.block.of}")

    @property
    def threshold(self) -> float:
        return self.block.least

    @property
    def unit(self) -> str:
        return "%"

    @property
    def required(self) -> str:
        return f"{self.limit} of {figure(self.block.period_h)} h"

    def plan(self, planning: Planning) -> ClausePlan:
        down = duration(HOUR_S * self.block.period_h * (1 - self.block.least / 100))
        on_average = " on average over the nodes" if self.block.of == "nodes" else ""
        days = f"{figure(self.block.period_h / 24, 3)} days"
        return ClausePlan((f"{days}: at most {down} of unscheduled downtime{on_average}",), {})

    def figures(self, down: Downtime) -> outage_clause.OutageFigures:
        begin, last = down.period.begin, down.period.end
        due = begin + round(self.block.period_h * HOUR_S)
        end = min(due, last)
        account = down.account(end)
        value, met = account.availability, None
        lacking = "no time of the period counts"
        if due > last:
            lacking = f"{figure((last - begin) / HOUR_S)} of {figure(self.block.period_h)} h are observed"
        elif value is not None:
            met = self.holds(value)
        interrupts = [interrupt for interrupt in down.interrupts if interrupt.start < end]
        return outage_clause.OutageFigures(met, lacking, end, account, interrupts)

    def value_of(self, detail: outage_clause.OutageDetail) -> tuple[float | None, Interval]:
        account = detail.figures.account
        outages = sum(interrupt.end > interrupt.start for interrupt in detail.figures.interrupts)
        bounds = availability_interval(account.up, account.unscheduled, outages)
        if bounds is None:
            return account.availability, Interval(None, None, "without downtime there is no interval")
        method = f"{100 * CONFIDENCE:g} % confidence, F with 2n and 2n degrees of freedom"
        return account.availability, Interval(100 * bounds[0], 100 * bounds[1], method)
