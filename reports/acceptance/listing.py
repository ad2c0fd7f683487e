"""Plan and verdict of an acceptance for a terminal."""

from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import NOTHING, counted, duration
from kappa.core.sites.contract import Contract
from reports.acceptance.judge import Outcome, Verdict
from reports.acceptance.plan import Item, Plan


def show_plan(contract: Contract, planned: Plan) -> None:
    """Print the series with repeats, nodes and time, and the clauses that nothing is run for."""
    series = counted(len(planned.items), "series", "series")
    say(f"{contract.title}: {counted(len(contract.clauses), 'clause')}, {series}")
    if str(planned.families):
        say(f"it {planned.families}")
    for item in planned.items:
        nodes = NOTHING if item.nodes is None else counted(item.nodes, "node")
        say(f"  {item.series}\n      clauses {', '.join(item.clauses)}; {item.repeats} x {_time(item)} on {nodes}")
    for clause, why in planned.unresolved.items():
        say(f"  {clause} INCOMPLETE: {why}")
    known = [item.estimate.seconds * item.repeats for item in planned.items if item.estimate]
    bound = any(item.estimate and item.estimate.at_most for item in planned.items)
    unknown = len(planned.items) - len(known)
    say(
        f"{sum(item.repeats for item in planned.items)} sessions, one at a time; "
        f"{'at most' if bound else 'about'} {duration(sum(known))}"
        + (f" and {counted(unknown, 'series', 'series')} without a time limit" if unknown else "")
    )


def _time(item: Item) -> str:
    if item.estimate is None:
        return "unknown time"
    return f"{duration(item.estimate.seconds)} ({item.estimate.origin})"


def show_verdict(verdict: Verdict) -> None:
    """Print the verdict and the outcome of each clause."""
    from reports.acceptance.dossier_page import headline, measured  # noqa: PLC0415 (loads Bokeh's helpers)

    say(f"{verdict.acceptance.symbol} {verdict.acceptance.word}. {headline(verdict)}")
    for clause in verdict.clauses:
        why = "; ".join(clause.problems[:2]) if clause.without_waiver is Outcome.INCOMPLETE else ""
        asked = f"{measured(clause)}, asked {clause.clause.requirement} ({clause.clause.statistic})"
        say(f"  {clause.outcome.symbol} {clause.outcome.word:<10} {clause.clause.id:<8} {why or asked}")


def say(line: str) -> None:
    print(clean(line), flush=True)
