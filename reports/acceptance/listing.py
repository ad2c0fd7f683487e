"""Print plan and verdict of an acceptance on a terminal, and write the verdict as strict JSON."""

import json

from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import counted, duration, figure
from reports.acceptance.kinds.clause import ClauseOutcome, Contract, ContractVerdict
from reports.acceptance.plan import AcceptancePlan

# Keys with explanations only: a later version of the suite may change their wording.
_PROSE = ("statistic", "method", "problems", "remarks", "families")


def show_plan(contract: Contract, planned: AcceptancePlan) -> None:
    """Print the series with repeats, nodes and time, and the clauses without a series."""
    series = counted(len(planned.items), "series", "series")
    say(f"{contract.title}: {counted(len(contract.clauses), 'clause')}, {series}")
    if str(planned.families):
        say(f"the contract {planned.families}")
    for item in planned.items:
        each = f"{duration(item.seconds)} ({item.offer.planned.origin})"
        nodes = counted(item.offer.planned.case.nodes, "node")
        say(f"  {item.series}\n      clauses {', '.join(item.clauses)}; {item.repeats} x {each} on {nodes}")
    for name, why in planned.unresolved.items():
        say(f"  {name} INCOMPLETE: {why}")
    for clause, plan in planned.clauses:
        say("\n".join(f"  {line}" for line in (f"{clause.id} {clause.statistic} {clause.required}", *plan.lines)))
    sessions = sum(item.repeats for item in planned.items)
    seconds = sum(item.repeats * item.seconds for item in planned.items)
    node_hours = sum(item.repeats * item.offer.planned.node_hours for item in planned.items)
    say(f"{sessions} sessions, one at a time; about {duration(seconds)}, {figure(node_hours)} node-hours")


def show_verdict(verdict: ContractVerdict) -> None:
    """Print the verdict and the outcome of each clause."""
    say(f"{verdict.acceptance.symbol} {verdict.acceptance.word}. {headline(verdict)}")
    for judged in verdict.clauses:
        clause = judged.clause
        why = "; ".join(judged.problems[:2]) if judged.without_waiver is ClauseOutcome.INCOMPLETE else ""
        values = f"{clause.measured(judged)}, required {clause.required} ({clause.statistic})"
        doubts = "".join(f"; ◍ {doubt}" for doubt in judged.doubts)
        say(f"  {judged.outcome.symbol} {judged.outcome.word:<10} {clause.id:<8} {why or values}{doubts}")


def headline(verdict: ContractVerdict) -> str:
    """Return the verdict in one sentence."""
    counts = [(count_mandatory(verdict, outcome), outcome.word) for outcome in ClauseOutcome]
    outcomes = ", ".join(f"{number} {word}" for number, word in counts if number)
    total = sum(number for number, _ in counts)
    optional = len(verdict.clauses) - total
    besides = f" {counted(optional, 'optional clause')} without effect on the verdict." if optional else ""
    less = f" The contract {verdict.families}." if str(verdict.families) else ""
    return f"{counted(total, 'mandatory clause')}: {outcomes or 'none'}.{besides}{less}"


def count_mandatory(verdict: ContractVerdict, outcome: ClauseOutcome) -> int:
    return sum(judged.outcome is outcome for judged in verdict.clauses if judged.clause.mandatory)


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
        "clauses": [judged.document for judged in verdict.clauses],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def without_prose(document: str) -> str:
    """Return a document of ``to_json`` with only its verdicts and values, all pairs in order, also repeated ones.

    :raises ValueError: the document is not JSON.
    :raises RecursionError: the document is nested too deeply.
    """
    return json.dumps(
        json.loads(document, object_pairs_hook=lambda pairs: [pair for pair in pairs if pair[0] not in _PROSE])
    )
