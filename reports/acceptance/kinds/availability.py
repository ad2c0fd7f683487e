"""A clause about the share of a period without unscheduled downtime, of the system or of its nodes.

::

    availability: {of: nodes, least: 98, period_h: 720, counts: any}
"""

import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path
from kappa.core.ground.figures import duration, figure
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
from reports.acceptance.kinds.pages import Section
from reports.acceptance.outages.account import HOUR_S, Downtime, Place
from reports.acceptance.outages.statistics import CONFIDENCE, availability_interval


class AvailabilityTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The share of ``period_h``, less scheduled outages and exclusions, without unscheduled downtime.

    ``least`` in per cent. ``counts``: outages attributed to the vendor, or of any attribution.
    """

    of: Place
    least: Annotated[float, Meta(gt=0, le=100, description="per cent, above 0 and at most 100")]
    period_h: Annotated[float, Meta(gt=0, le=10_000_000, description="hours above 0")]
    counts: Literal["vendor", "any"] = "any"


class Availability(Clause, frozen=True, kw_only=True, tag="availability"):
    """A clause about the availability."""

    availability: AvailabilityTerms

    @property
    def statistic(self) -> Statistic:
        return Statistic(f"availability of the {self.availability.of}")

    @property
    def threshold(self) -> float:
        return self.availability.least

    @property
    def unit(self) -> str:
        return "%"

    @property
    def required(self) -> str:
        return f"{self.limit} of {figure(self.availability.period_h)} h"

    @property
    def evidence(self) -> str:
        return "outage log"

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        if contract.observation is None:
            yield (), f"{self.id} is about outages: expected contract.observation"

    def plan(self, planning: Planning) -> ClausePlan:
        terms = self.availability
        down = duration(HOUR_S * terms.period_h * (1 - terms.least / 100))
        on_average = " on average over the nodes" if terms.of == "nodes" else ""
        days = f"{figure(terms.period_h / 24, 3)} days"
        return ClausePlan((f"{days}: at most {down} of unscheduled downtime{on_average}",), {})

    def judge(self, evidence: Evidence) -> ClauseVerdict:
        terms = self.availability
        verdict = judge_outages(self, evidence, terms.of, terms.counts, self._figures)
        if verdict.detail is None:
            return verdict
        figures = verdict.detail.figures
        outages = sum(one.end > one.start for one in figures.interrupts)
        bounds = availability_interval(figures.account.up, figures.account.unscheduled, outages)
        interval = Interval(None, None, "without downtime there is no interval")
        if bounds:
            method = f"{100 * CONFIDENCE:g} % confidence, F with 2n and 2n degrees of freedom"
            interval = Interval(100 * bounds[0], 100 * bounds[1], method)
        return replace(verdict, value=figures.account.availability, interval=interval)

    def _figures(self, down: Downtime) -> OutageFigures:
        terms, begin = self.availability, down.period.begin
        last = begin + round(terms.period_h * HOUR_S)
        end = min(last, down.period.end)
        account = down.account(end)
        value = account.availability
        lacking = f"{figure((end - begin) / HOUR_S)} of {figure(terms.period_h)} h are observed"
        if last <= down.period.end and value is None:
            lacking = "no time of the period counts"
        met = None if last > down.period.end or value is None else self.holds(value)
        return OutageFigures(met, lacking, end, account, tuple(one for one in down.interrupts() if one.start < end))

    def prove(self, dossier: pathlib.Path, keys: Sequence[str]) -> Proof:
        return prove_log(dossier)

    def section(self, verdict: ClauseVerdict) -> Section:
        if (detail := verdict.detail) is None:
            return Section()
        unit = "h" if self.availability.of == "system" else "node-h"
        return Section(tuple(facts_of(detail, unit)), (timeline(self, detail),), (interrupts_table(detail),))

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        return document_of(verdict.detail, None) if verdict.detail else {}
