"""Verdict on a clause about outages: a pure function of the contract and of the outage log."""

from dataclasses import dataclass

from kappa.core.ground.figures import counted, figure
from reports.acceptance.kinds.clause import Clause, Contract
from reports.acceptance.outages.account import (
    HOUR_S,
    REMOVED,
    Counts,
    Downtime,
    Favour,
    Interrupt,
    Period,
    Row,
    TimeAccount,
    attributions,
    disputed,
    observed_of,
    outages_of,
    period_of,
)
from reports.acceptance.outages.intervals import Intervals
from reports.acceptance.outages.log import OUTAGES, OutageLog
from reports.acceptance.outages.statistics import (
    DemonstrationTest,
    Mean,
    RateTrend,
    availability_interval,
    demonstration_test,
    laplace_trend,
    mean_time,
)
from reports.acceptance.outages.terms import Availability, OutageTerms, Reliability

# A larger share of the period without observation leaves the clause incomplete.
MOST_NOT_OBSERVED = 0.01
INTERRUPTS_SHOWN = 60
_LISTED = 8


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
    outages: int
    """Interrupts with downtime."""


@dataclass(frozen=True)
class OutageVerdict:
    """``figures`` are those with all that is disputed counted, ``for_vendor`` those without, where it matters.

    ``mtbf`` is over the interrupts that count, ``mtti`` over all, whoever's they are.
    """

    period: Period
    figures: OutageFigures
    for_vendor: OutageFigures
    disputed: tuple[int, ...]
    test: DemonstrationTest | None
    mtbf: Mean
    mtti: Mean
    interval: tuple[float, float] | None
    """Interval of the availability, in per cent."""
    trend: RateTrend | None
    rows: tuple[Row, ...]
    nodes_of: dict[int, tuple[str, ...]]
    """The nodes of the entries that the first ``INTERRUPTS_SHOWN`` interrupts begin with."""
    by_attribution: dict[str, int]
    exclusions: dict[str, float]
    """Hours of outage by the reason of the exclusion, as the log has them; those of a node are node-hours."""

    @property
    def value(self) -> float | None:
        """MTBF in hours or node-hours, or availability in per cent."""
        return self.mtbf.value if self.test else self.figures.account.availability


@dataclass(frozen=True)
class OutageJudgement:
    """``met`` is ``None`` where ``problems`` leave it open."""

    met: bool | None
    found: OutageVerdict | None
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def judge_outages(clause: Clause, contract: Contract, log: OutageLog) -> OutageJudgement:
    """Judge one clause by the log; judge disputed entries both ways."""
    terms, block = contract.observation, clause.outages
    assert terms and block
    parties = list(contract.parties)
    observed = observed_of(log, parties)
    period, why = period_of(log, contract, terms, observed)
    remarks = [*log.remarks, *_odd_entries(log, terms)]
    if period is None:
        return OutageJudgement(None, None, (why,), tuple(remarks))

    def down(counts: Counts, favour: Favour) -> Downtime:
        return Downtime(outages_of(log, contract, terms, counts, favour), terms, period, observed)

    open_ids = tuple(entry.number for entry in disputed(log, contract, block.counts))
    for_buyer = down(block.counts, "buyer")
    for_vendor = down(block.counts, "vendor") if open_ids else for_buyer
    judge = _reliability if isinstance(block, Reliability) else _availability
    test = None
    if isinstance(block, Reliability):
        test = demonstration_test(block.promised_h, block.least_h, block.buyer_risk, block.vendor_risk)
    worst = judge(block, for_buyer, test)
    best = judge(block, for_vendor, test) if open_ids else worst
    # Where nothing was taken out, whoever's it is, the interrupts that count are all.
    of_all = down("all", "buyer") if any(one.kind == REMOVED for one in for_buyer.outages) else for_buyer
    found = _verdict(block, period, worst, best, open_ids, test, for_buyer, of_all, terms)
    problems = []
    if worst.met is None:
        problems.append(worst.lacking)
    elif worst.met is not best.met:
        ids = ", ".join(map(str, open_ids[:_LISTED])) + ("" if len(open_ids) <= _LISTED else ", …")
        entries = f"{counted(len(open_ids), 'entry', 'entries')} that not all parties agreed to ({ids})"
        problems.append(f"{entries} decide: not met with, {'met' if best.met else best.lacking} without")
    share = worst.account.not_observed_share
    if share > MOST_NOT_OBSERVED:
        problems.append(f"{figure(100 * share, 3)} % of the period was not observed; at most 1 % is allowed")
    if found.trend and found.trend.significant:
        way = "ever faster" if found.trend.score > 0 else "ever slower"
        score = figure(found.trend.score, 3)
        remarks.append(f"interrupts come {way} (Laplace {score}): the test assumes a steady rate")
    if open_ids and not problems:
        how_many = counted(len(open_ids), "disputed entry", "disputed entries")
        remarks.append(f"{how_many}: the verdict is the same without")
    return OutageJudgement(None if problems else worst.met, found, tuple(problems), tuple(remarks))


def _odd_entries(log: OutageLog, terms: OutageTerms) -> list[str]:
    """Remarks on entries that are not what they say."""
    names, strange, not_listed, late, future = frozenset(terms.node_names), [], [], [], []
    for entry in log.latest.values():
        if not names.issuperset(entry.nodes):
            strange.append(entry.number)
        if entry.exclusion is not None and entry.exclusion not in terms.exclusions:
            not_listed.append(entry.number)
        if entry.what in OUTAGES and not entry.scheduled and entry.start > entry.recorded:
            future.append(entry.number)
        if entry.scheduled and all(v.recorded > v.start - terms.notice_h * HOUR_S for v in log.versions(entry)):
            late.append(entry.number)
    words = {
        "name nodes that the contract does not have": strange,
        "claim an exclusion that the contract does not list: it does not count": not_listed,
        "begin after they were recorded: a clock was wrong": future,
        "say scheduled with less notice than the contract asks for: they are unscheduled": late,
    }
    return [
        f"{counted(len(ids), 'entry', 'entries')} {why} ({', '.join(map(str, ids[:_LISTED]))})"
        for why, ids in words.items()
        if ids
    ]


def _reliability(block: Reliability | Availability, down: Downtime, test: DemonstrationTest | None) -> OutageFigures:
    """The test ends when its length is reached, or with one interrupt more than it allows."""
    assert test
    exposure = down.exposure(block.of)
    reached = exposure.reaches(test.length)
    end = down.period.end if reached is None else reached
    interrupts = tuple(one for one in down.interrupts(block.of) if one.start < end)
    failed = len(interrupts) > test.allowed
    if failed:
        interrupts = interrupts[: test.allowed + 1]
        end = interrupts[-1].start
    done = f"{figure(exposure.total)} of {figure(test.length)} {block.unit} of the test are done"
    lacking = f"{done}, with {counted(len(interrupts), 'interrupt')}"
    return OutageFigures(
        met=False if failed else True if reached is not None else None,
        lacking="" if failed or reached is not None else lacking,
        end=end,
        account=down.account(block.of, max(end, down.period.begin + 1)),
        interrupts=interrupts,
        outages=sum(one.end > one.start for one in interrupts),
    )


def _availability(block: Reliability | Availability, down: Downtime, test: DemonstrationTest | None) -> OutageFigures:
    assert isinstance(block, Availability)
    end = down.period.begin + round(block.period_h * HOUR_S)
    over = end <= down.period.end
    end = min(end, down.period.end)
    account = down.account(block.of, end)
    interrupts = tuple(one for one in down.interrupts(block.of) if one.start < end)
    found = account.availability
    lacking = f"{figure((end - down.period.begin) / HOUR_S)} of {figure(block.period_h)} h are observed"
    if over and found is None:
        lacking = "no time of the period counts"
    decided = over and found is not None
    return OutageFigures(
        met=found >= block.least if decided and found is not None else None,
        lacking="" if decided else lacking,
        end=end,
        account=account,
        interrupts=interrupts,
        outages=sum(one.end > one.start for one in interrupts),
    )


def _verdict(
    block: Reliability | Availability,
    period: Period,
    worst: OutageFigures,
    best: OutageFigures,
    open_ids: tuple[int, ...],
    test: DemonstrationTest | None,
    down: Downtime,
    of_all: Downtime,
    terms: OutageTerms,
) -> OutageVerdict:
    account, end = worst.account, worst.end
    interval = availability_interval(account.up, account.unscheduled, worst.outages)
    every = [one for one in of_all.interrupts(block.of) if one.start <= end]
    inside = [one for one in down.outages if one.start < end and one.end > period.begin]
    first = {one.entries[0] for one in worst.interrupts[:INTERRUPTS_SHOWN] if one.entries}
    exclusions: dict[str, float] = {}
    for one in inside:
        if one.entry.exclusion in terms.exclusions:
            span = Intervals.one(max(one.start, period.begin), min(one.end, end)).total
            name = str(one.entry.exclusion)
            exclusions[name] = exclusions.get(name, 0.0) + span / HOUR_S * max(1, len(one.entry.nodes))
    return OutageVerdict(
        period=period,
        figures=worst,
        for_vendor=best,
        disputed=open_ids,
        test=test,
        mtbf=mean_time(account.up, len(worst.interrupts)),
        mtti=mean_time(account.up, len(every)),
        interval=(100 * interval[0], 100 * interval[1]) if interval else None,
        trend=laplace_trend(down.exposure(block.of).before(worst.interrupts), account.up),
        rows=down.rows(),
        nodes_of={one.entry.number: one.entry.nodes for one in down.outages if one.entry.number in first},
        by_attribution=dict(sorted(attributions(inside).items())),
        exclusions=dict(sorted(exclusions.items())),
    )
