"""Print plan and verdict of an acceptance on a terminal, and write the verdict as strict JSON."""

import json
import math
from dataclasses import asdict
from typing import Any

from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import NOTHING, counted, duration
from kappa.core.sites.contract import Clause, Contract
from reports.acceptance import duration_figures, mix_figures
from reports.acceptance.index_verdict import IndexVerdict
from reports.acceptance.judge import ClauseOutcome, ClauseVerdict, ContractVerdict
from reports.acceptance.outage_page import planned_availability, planned_tests
from reports.acceptance.outage_verdict import OutageVerdict
from reports.acceptance.plan import AcceptancePlan, PlannedSeries
from reports.acceptance.retained import RetainedVerdict

_HOURS = ("period", "up", "unscheduled", "scheduled", "removed", "not_observed")
# Keys with explanations only: a later version of the suite may change their wording.
_PROSE = ("statistic", "method", "problems", "remarks", "families")


def show_plan(contract: Contract, planned: AcceptancePlan) -> None:
    """Print the series with repeats, nodes and time, and the clauses without a series."""
    series = counted(len(planned.items), "series", "series")
    say(f"{contract.title}: {counted(len(contract.clauses), 'clause')}, {series}")
    if str(planned.families):
        say(f"the contract {planned.families}")
    for item in planned.items:
        nodes = NOTHING if item.nodes is None else counted(item.nodes, "node")
        say(f"  {item.series}\n      clauses {', '.join(item.clauses)}; {item.repeats} x {_time(item)} on {nodes}")
    for clause, why in planned.unresolved.items():
        say(f"  {clause} INCOMPLETE: {why}")
    for test in planned_tests(contract):
        say("\n".join(f"  {line}" for line in (f"{test.clause.id} {test.clause.statistic}", *test.lines, *test.plot)))
    for one in contract.clauses:
        if one.availability:
            say(f"  {one.id} {one.statistic}: {planned_availability(one.availability)}")
        lines = _operation_lines(one)
        if lines:
            say("\n".join(f"  {line}" for line in (f"{one.id} {one.statistic} {one.requirement}", *lines)))
    for rerun in planned.reruns:
        say("\n".join(f"  {line}" for line in rerun.lines))
    known = [item.estimate.seconds * item.repeats for item in planned.items if item.estimate]
    bound = any(item.estimate and item.estimate.at_most for item in planned.items)
    unknown = len(planned.items) - len(known)
    say(
        f"{sum(item.repeats for item in planned.items)} sessions, one at a time; "
        f"{'at most' if bound else 'about'} {duration(sum(known))}"
        + (f" and {counted(unknown, 'series', 'series')} without a time limit" if unknown else "")
    )


def _operation_lines(clause: Clause) -> list[str]:
    if clause.mix:
        return mix_figures.plan_lines(clause.mix)
    return duration_figures.plan_lines(clause.duration, clause.id) if clause.duration else []


def _time(item: PlannedSeries) -> str:
    if item.estimate is None:
        return "unknown time"
    return f"{duration(item.estimate.seconds)} ({item.estimate.origin})"


def show_verdict(verdict: ContractVerdict) -> None:
    """Print the verdict and the outcome of each clause."""
    from reports.acceptance.dossier_page import headline, measured  # noqa: PLC0415 (loads Jinja)

    say(f"{verdict.acceptance.symbol} {verdict.acceptance.word}. {headline(verdict)}")
    for clause in verdict.clauses:
        why = "; ".join(clause.problems[:2]) if clause.without_waiver is ClauseOutcome.INCOMPLETE else ""
        asked = f"{measured(clause)}, required {clause.clause.requirement} ({clause.clause.statistic})"
        doubt = "".join(f"; ◍ {one}" for one in clause.doubts)
        say(f"  {clause.outcome.symbol} {clause.outcome.word:<10} {clause.clause.id:<8} {why or asked}{doubt}")


def say(line: str) -> None:
    print(clean(line), flush=True)


def to_json(verdict: ContractVerdict) -> str:
    """Return the verdict as JSON; values are in the clause's ``unit``."""
    document = {
        "verdict": verdict.acceptance.word,
        "exit_status": verdict.acceptance.exit_status,
        "title": verdict.contract.title,
        "system": verdict.contract.system,
        "families": {"expected": verdict.families.expected, "offered": verdict.families.offered},
        "clauses": [_clause(clause) for clause in verdict.clauses],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def without_prose(document: str) -> str:
    """Return a document of ``to_json`` with only its verdicts and values, all pairs in order, also repeated ones.

    :raises ValueError: the document is not JSON.
    :raises RecursionError: the document is nested too deeply.
    """
    return json.dumps(
        json.loads(document, object_pairs_hook=lambda pairs: [one for one in pairs if one[0] not in _PROSE])
    )


def _clause(verdict: ClauseVerdict) -> dict[str, Any]:
    clause, interval = verdict.clause, verdict.interval
    return {
        "id": clause.id,
        "outcome": verdict.outcome.word,
        "without_waiver": verdict.without_waiver.word,
        "mandatory": clause.mandatory,
        "statistic": str(clause.statistic),
        "comparison": clause.comparison,
        "threshold": clause.threshold,
        "unit": clause.unit,
        "value": verdict.value,
        "interval": {"low": interval.low, "high": interval.high, "method": interval.method} if interval else None,
        "samples": [
            {"repeat": sample.repeat, "value": sample.value, "nodes": sample.nodes, "attempt": sample.attempt,
             **({"energy": asdict(sample.energy)} if sample.energy else {})}
            for sample in verdict.samples
        ],
        **({"energy": {"source": clause.energy.source, "declared": clause.energy.declared}} if clause.energy else {}),
        **({"outages": _outages(verdict.outages)} if verdict.outages else {}),
        **({"retained": _retained(verdict.retained)} if verdict.retained else {}),
        **({"index": _index(verdict.index)} if verdict.index else {}),
        **({"operations": [{"repeat": one.repeat, **one.figures} for one in verdict.operations]}
           if verdict.operations else {}),
        "problems": verdict.problems,
        "remarks": verdict.remarks,
    }


def _retained(found: RetainedVerdict) -> dict[str, Any]:
    """Return each figure in the unit of its clause; ``committed`` is the accepted contract's threshold."""
    return {
        "accepted_on": str(found.accepted_on),
        "next_due": found.next_due and str(found.next_due),
        "figures": [
            {
                "committed": one.accepted.clause.threshold,
                "accepted": one.accepted.value,
                "share": one.share,
                "met": one.met,
                "changes": [change.name for change in one.changes],
                "rerun": _clause(one.now),
            }
            for one in found.figures
        ],
    }


def _index(found: IndexVerdict) -> list[dict[str, Any]]:
    return [
        {"clause": one.verdict.clause.id, "reference": one.reference, "weight": one.weight, "rate": one.rate}
        for one in found.pieces
    ]


def _outages(found: OutageVerdict) -> dict[str, Any]:
    """Times in hours, of a clause about nodes in node-hours; a bound that is infinite is ``null``."""
    account, test = found.figures.account, found.test
    means = {"mtbf": found.mtbf, "mtti": found.mtti}
    return {
        "begin": found.period.begin,
        "end": found.figures.end,
        "test": {"length": test.length, "allowed": test.allowed, "buyer_risk": test.buyer_risk,
                 "vendor_risk": test.vendor_risk} if test else None,
        "interrupts": len(found.figures.interrupts),
        "hours": {name: getattr(account, name) for name in _HOURS},
        **{
            name: {"value": mean.value, "low": mean.low, "high": mean.high if math.isfinite(mean.high) else None}
            for name, mean in means.items()
        },
        "trend": found.trend.score if found.trend else None,
        "disputed": [str(number) for number in found.disputed],
    }  # fmt: skip
